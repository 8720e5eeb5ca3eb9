//! A page taken apart: its headings, and the blocks below each.

/// What stands below a `##` heading.
pub(crate) struct Section {
    pub(crate) heading: String,
    /// The blocks between fences: what the first fence says, and the text.
    pub(crate) blocks: Vec<(String, String)>,
}

pub(crate) fn sections(page: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in page.lines() {
        if let Some((_, text)) = &mut block {
            if line.trim_end() != "```" {
                text.push_str(line);
                text.push('\n');
                continue;
            }
            let section = sections.last_mut().expect("a block stands below the heading of a case");
            section.blocks.extend(block.take());
        } else if let Some(heading) = line.strip_prefix("## ") {
            sections.push(Section { heading: heading.to_owned(), blocks: Vec::new() });
        } else if let Some(info) = line.strip_prefix("```") {
            block = Some((info.trim().to_owned(), String::new()));
        }
    }
    assert!(block.is_none(), "a block does not end");
    sections
}
