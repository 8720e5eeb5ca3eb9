//! Renders the documentation's Markdown as HTML, with anchors, and with links that work on this server.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::book::{BOOK, RULES_FOLDER};

/// The address in the examples; it is replaced with the server's own address.
const PRINTED_BASE: &str = "http://127.0.0.1:8080";
/// The address of files that are not chapters.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
/// The most characters of a description in search results.
const SUMMARY_CHARS_MAX: usize = 200;

/// A chapter as HTML.
#[derive(Debug, Default)]
pub(super) struct RenderedChapter {
    pub(super) html: String,
    /// The headings below the title, to the third level.
    pub(super) headings: Vec<ChapterHeading>,
    /// The beginning of the first paragraph.
    pub(super) summary: Option<String>,
}

/// A heading with an anchor.
#[derive(Debug)]
pub(super) struct ChapterHeading {
    /// 1 for the title.
    pub(super) level: u8,
    pub(super) anchor: String,
    pub(super) text: String,
}

/// Renders the chapter at `file` in the repository. Examples call the server at `base`.
pub(super) fn render_chapter(file: &str, text: &str, base: &str) -> RenderedChapter {
    let mut rendered = RenderedChapter::default();
    let mut events = Vec::new();
    let mut parser = markdown_parser(text);
    let mut is_code = false;
    while let Some(event) = parser.next() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let inner: Vec<Event<'_>> = parser
                    .by_ref()
                    .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
                    .collect();
                let heading = rendered.add_heading(level as u8, &inner);
                let (level, anchor) = (level as u8, escape_html(&heading));
                events.push(Event::Html(format!("<h{level} id=\"{anchor}\">").into()));
                events.extend(inner.into_iter().map(|event| rewrite_link(file, event)));
                let link = format!(
                    " <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to this section\">#</a></h{level}>\n"
                );
                events.push(Event::Html(link.into()));
            }
            Event::Start(Tag::Table(alignments)) => {
                events.push(Event::Html("<div class=\"scroll\" tabindex=\"0\">".into()));
                events.push(Event::Start(Tag::Table(alignments)));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>".into()));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                is_code = true;
                events.push(Event::Start(Tag::CodeBlock(kind)));
            }
            Event::End(TagEnd::CodeBlock) => {
                is_code = false;
                events.push(Event::End(TagEnd::CodeBlock));
            }
            Event::Text(code) if is_code && code.contains(PRINTED_BASE) => {
                events.push(Event::Text(code.replace(PRINTED_BASE, base).into()));
            }
            // A code such as `expired_calendar` may break after its underscores.
            Event::Code(code) if code.contains('_') && !code.contains(' ') => {
                let code = escape_html(&code).replace('_', "_<wbr>");
                events.push(Event::InlineHtml(format!("<code>{code}</code>").into()));
            }
            // HTML inside a chapter is shown as text.
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            event => events.push(rewrite_link(file, event)),
        }
    }
    rendered.summary = chapter_summary(text);
    html::push_html(&mut rendered.html, events.into_iter());
    rendered
}

/// Renders a line of Markdown without its paragraph, for descriptions of the API.
pub(super) fn render_inline(text: &str) -> String {
    let text = text.replace("\n\n", " ");
    let paragraph = |event: &Event<'_>| {
        matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph))
    };
    let events =
        markdown_parser(&text).filter(|event| !paragraph(event)).map(|event| match event {
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            event => event,
        });
    let mut html = String::new();
    html::push_html(&mut html, events);
    html
}

/// Returns the first heading.
pub(super) fn chapter_title(text: &str) -> Option<String> {
    let mut events = markdown_parser(text)
        .skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })));
    events.next()?;
    let inner: Vec<Event<'_>> =
        events.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_)))).collect();
    Some(plain_text_of_events(&inner))
}

/// Returns the link targets of a chapter, as they are rendered.
#[cfg(test)]
pub(super) fn list_links(file: &str, text: &str) -> Vec<String> {
    let own = |event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(resolve_link(file, &dest_url)),
        _ => None,
    };
    markdown_parser(text).filter_map(own).collect()
}

fn markdown_parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

impl RenderedChapter {
    /// Adds a heading and returns its anchor, in GitHub's style.
    fn add_heading(&mut self, level: u8, inner: &[Event<'_>]) -> String {
        let text = plain_text_of_events(inner);
        let slug = heading_slug(&text);
        let n_before =
            self.headings.iter().filter(|known| is_anchor_of_slug(&known.anchor, &slug)).count();
        let anchor = if n_before == 0 { slug } else { format!("{slug}-{n_before}") };
        if (2..=3).contains(&level) {
            self.headings.push(ChapterHeading { level, anchor: anchor.clone(), text });
        }
        anchor
    }
}

fn is_anchor_of_slug(anchor: &str, slug: &str) -> bool {
    anchor.strip_prefix(slug).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<usize>().is_ok())
    })
}

fn heading_slug(text: &str) -> String {
    let text = text.trim().to_lowercase();
    let slug_chars =
        text.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    slug_chars.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn plain_text_of_events(events: &[Event<'_>]) -> String {
    let text = |event: &Event<'_>| match event {
        Event::Text(text) | Event::Code(text) => text.to_string(),
        Event::SoftBreak => " ".to_owned(),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

/// Returns the beginning of the first paragraph.
fn chapter_summary(text: &str) -> Option<String> {
    let events = markdown_parser(text).skip_while(|event| *event != Event::Start(Tag::Paragraph));
    let inner: Vec<Event<'_>> =
        events.take_while(|event| *event != Event::End(TagEnd::Paragraph)).collect();
    let text = plain_text_of_events(&inner);
    let mut summary: String = text.chars().take(SUMMARY_CHARS_MAX).collect();
    if summary.len() < text.len() {
        let end = summary.rfind(' ').unwrap_or(summary.len());
        summary.truncate(end);
        summary.push('…');
    }
    (!summary.is_empty()).then_some(summary)
}

fn rewrite_link<'a>(file: &str, event: Event<'a>) -> Event<'a> {
    match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = CowStr::from(resolve_link(file, &dest_url));
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        event => event,
    }
}

/// Resolves a link of the chapter at `file`: to a chapter, to a rule, or to the repository.
fn resolve_link(file: &str, link: &str) -> String {
    if link.starts_with('#') || link.starts_with('/') || link.contains(':') {
        return link.to_owned();
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, format!("#{anchor}")),
        None => (link, String::new()),
    };
    let mut folders: Vec<&str> = file.split('/').collect();
    folders.pop();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                folders.pop();
            }
            segment => folders.push(segment),
        }
    }
    let path = folders.join("/");
    if let Some(chapter) = BOOK.find_chapter_by_file(&path) {
        return format!("{}{anchor}", chapter.address);
    }
    let rule = path.strip_prefix(RULES_FOLDER).and_then(|path| path.strip_suffix(".md"));
    match rule.and_then(|path| path.rsplit('/').next()) {
        Some(code) => format!("{}/rules/{code}{anchor}", super::ADDRESS),
        None => format!("{REPOSITORY}{path}{anchor}"),
    }
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "docs/guide/x.md";

    #[test]
    fn links_lead_to_chapters_rules_and_the_repository() {
        for (link, address) in [
            ("checking.md", "/docs/guide/checking"),
            ("../operate/README.md#as-a-service", "/docs/operate#as-a-service"),
            ("../../libs/lineside-validate/src/rules/gtfs/lines/x_y.md", "/docs/rules/x_y"),
            ("#here", "#here"),
            ("https://example.org/", "https://example.org/"),
        ] {
            assert_eq!(resolve_link(FILE, link), address);
        }
        let outside = resolve_link(FILE, "../../ARCHITECTURE.md");
        assert!(
            outside.starts_with("https://") && outside.ends_with("/ARCHITECTURE.md"),
            "{outside}"
        );
    }

    #[test]
    fn headings_have_anchors_and_markup_is_escaped() {
        let text = "# A `b` & c\n\nIntro <b>x</b>.\n\n## Part\n\n## Part\n\n```sh\ncurl http://127.0.0.1:8080/x\n```\n";
        let rendered = render_chapter(FILE, text, "https://own.example");
        assert!(rendered.html.contains("<h1 id=\"a-b--c\">"), "{}", rendered.html);
        let anchors: Vec<&str> = rendered.headings.iter().map(|it| it.anchor.as_str()).collect();
        assert_eq!(anchors, ["part", "part-1"]);
        assert!(rendered.html.contains("&lt;b&gt;") && !rendered.html.contains("<b>"));
        assert!(rendered.html.contains("curl https://own.example/x"), "{}", rendered.html);
        assert_eq!(rendered.summary.as_deref(), Some("Intro x."));
        assert_eq!(chapter_title(text).as_deref(), Some("A b & c"));
    }
}
