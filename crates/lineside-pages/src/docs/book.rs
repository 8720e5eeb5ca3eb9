//! The chapters of the documentation, in order.

use std::borrow::Cow;
use std::sync::LazyLock;

use lineside_validate::rules;
use rust_embed::RustEmbed;

use super::markdown;

/// The folders of `docs/` for users, in display order, each with its purpose.
const SECTIONS: [(&str, &str); 4] = [
    ("guide", "Start here: a page for each task, from the first steps to reports on your feeds."),
    ("protocol", "For developers of clients: channels, messages, streams and addresses."),
    ("operate", "For operators: configuration, polling, monitoring, notifications and limits."),
    ("rules", "For producers: what each finding of a report means, and how to fix it."),
];
/// The list of a section's chapters.
const README: &str = "README.md";
/// The folder of the rules' pages in the repository.
pub(super) const RULES_FOLDER: &str = "libs/lineside-validate/src/rules/";

#[derive(RustEmbed)]
#[folder = "../../docs/"]
#[include = "guide/*.md"]
#[include = "protocol/*.md"]
#[include = "operate/*.md"]
#[include = "rules/*.md"]
#[include = "dictionary.md"]
struct DocFiles;

/// The chapters, read once.
pub(super) static BOOK: LazyLock<DocumentationBook> = LazyLock::new(DocumentationBook::read_all);

/// All chapters in order; each section begins with its `README.md`.
#[derive(Debug)]
pub(super) struct DocumentationBook {
    sections: Vec<BookSection>,
    /// Chapters outside of the sections.
    others: Vec<BookChapter>,
}

/// A folder of chapters.
#[derive(Debug)]
pub(super) struct BookSection {
    /// Never empty; the first is the `README.md`.
    chapters: Vec<BookChapter>,
    purpose: &'static str,
}

/// A page of the documentation.
#[derive(Debug)]
pub(super) struct BookChapter {
    /// The path in the repository.
    pub(super) file: String,
    /// The address on this server.
    pub(super) address: String,
    /// The first heading.
    pub(super) title: String,
    /// The text, in Markdown.
    pub(super) text: Cow<'static, str>,
}

impl DocumentationBook {
    fn read_all() -> Self {
        let sections = SECTIONS
            .iter()
            .filter_map(|(folder, purpose)| BookSection::read_section(folder, purpose))
            .collect();
        let others = BookChapter::read_chapter("dictionary.md").into_iter().collect();
        Self { sections, others }
    }

    pub(super) fn sections(&self) -> &[BookSection] {
        &self.sections
    }

    pub(super) fn find_chapter(&self, address: &str) -> Option<&BookChapter> {
        self.all_chapters().chain(&self.others).find(|chapter| chapter.address == address)
    }

    /// Returns the chapter of this file in the repository.
    pub(super) fn find_chapter_by_file(&self, file: &str) -> Option<&BookChapter> {
        self.all_chapters().chain(&self.others).find(|chapter| chapter.file == file)
    }

    /// Returns the chapters before and after the one with this address.
    pub(super) fn previous_and_next_chapter(
        &self,
        address: &str,
    ) -> (Option<&BookChapter>, Option<&BookChapter>) {
        let chapters: Vec<&BookChapter> = self.all_chapters().collect();
        let Some(at) = chapters.iter().position(|chapter| chapter.address == address) else {
            return (None, None);
        };
        let before = at.checked_sub(1).and_then(|before| chapters.get(before));
        (before.copied(), chapters.get(at + 1).copied())
    }

    /// Returns all chapters of the sections, in order.
    pub(super) fn all_chapters(&self) -> impl Iterator<Item = &BookChapter> {
        self.sections.iter().flat_map(|section| &section.chapters)
    }
}

impl BookSection {
    /// Reads a section's chapters in the order of the links in its `README.md`.
    fn read_section(folder: &str, purpose: &'static str) -> Option<Self> {
        let readme = BookChapter::read_chapter(&format!("{folder}/{README}"))?;
        let position_of = |file: &str| {
            let name = file.rsplit('/').next().unwrap_or_default();
            readme.text.find(&format!("]({name}")).unwrap_or(usize::MAX)
        };
        let mut files: Vec<String> = DocFiles::iter()
            .filter(|file| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
            .filter(|file| !file.ends_with(README))
            .map(Cow::into_owned)
            .collect();
        files.sort_by_key(|file| (position_of(file), file.clone()));
        let others: Vec<BookChapter> =
            files.iter().filter_map(|file| BookChapter::read_chapter(file)).collect();
        let chapters = std::iter::once(readme).chain(others).collect();
        Some(Self { chapters, purpose })
    }

    /// Returns the chapter that introduces the section.
    pub(super) fn readme(&self) -> &BookChapter {
        &self.chapters[0]
    }

    /// Returns a sentence on the section's readers and contents.
    pub(super) fn purpose(&self) -> &'static str {
        self.purpose
    }

    /// Returns the chapters without the `README.md`.
    pub(super) fn chapters(&self) -> &[BookChapter] {
        &self.chapters[1..]
    }
}

impl BookChapter {
    /// Reads a chapter; `file` is relative to `docs/`.
    fn read_chapter(file: &str) -> Option<Self> {
        let data = DocFiles::get(file)?.data;
        let text = String::from_utf8(data.into_owned()).ok()?;
        let plain = file.trim_end_matches(".md").trim_end_matches("/README");
        let title = markdown::chapter_title(&text).unwrap_or_else(|| plain.to_owned());
        let (file, address) = (format!("docs/{file}"), format!("{}/{plain}", super::ADDRESS));
        Some(Self { file, address, title, text: text.into() })
    }
}

/// Returns the page of a rule, `/docs/rules/<code>`.
pub(super) fn find_rule_chapter(address: &str) -> Option<BookChapter> {
    let code = address.strip_prefix(super::ADDRESS)?.strip_prefix("/rules/")?;
    let schedules =
        rules::gtfs::schedule_notice_kinds().chain(rules::netex::publication_notice_kinds());
    let realtime = rules::gtfs_rt::realtime_notice_kinds().chain(rules::siri::siri_notice_kinds());
    let mut kinds = schedules.chain(realtime).chain(rules::gbfs::gbfs_notice_kinds());
    let kind = kinds.find(|kind| kind.code == code && !kind.page.is_empty())?;
    Some(BookChapter {
        file: format!("{RULES_FOLDER}{code}.md"),
        address: address.to_owned(),
        title: markdown::chapter_title(kind.page).unwrap_or_else(|| code.to_owned()),
        text: kind.page.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_begins_with_its_introduction_and_lists_every_chapter() {
        let titles: Vec<&str> =
            BOOK.sections().iter().map(|section| section.readme().title.as_str()).collect();
        assert_eq!(titles.len(), SECTIONS.len(), "{titles:?}");
        let first = &BOOK.sections()[0].chapters()[0];
        assert_eq!(first.address, "/docs/guide/first-steps");
        assert!(BOOK.find_chapter("/docs/operate/configuration").is_some());
    }

    #[test]
    fn every_documentation_link_leads_to_a_page_or_the_repository() {
        for chapter in BOOK.all_chapters() {
            for link in markdown::list_links(&chapter.file, &chapter.text) {
                let Some(address) = link.strip_prefix('/') else { continue };
                let address = format!("/{}", address.split('#').next().unwrap_or_default());
                let is_present = BOOK.find_chapter(&address).is_some()
                    || find_rule_chapter(&address).is_some()
                    || address == super::super::API;
                assert!(is_present, "{}: {link}", chapter.file);
            }
        }
    }
}
