//! The search of the documentation: the chapters that contain every word of a query, those with the words in their
//! titles first.

use maud::{Markup, html};

use super::book::{BOOK, BookChapter};
use crate::words;

/// The most characters of a query that are used.
const QUERY_CHARS_MAX: usize = 100;
/// The most characters of the line that a result shows.
const EXCERPT_CHARS_MAX: usize = 160;

/// Renders the search field, and the results if there is a query.
pub(super) fn render_search(query: &str) -> Markup {
    let query: String = query.chars().take(QUERY_CHARS_MAX).collect();
    let found = find_chapters(&query);
    html! {
        form.search role="search" action=(super::ADDRESS) {
            div.search-line {
                label.visually-hidden for="q" { "Search the documentation" }
                input.input #q name="q" type="search" value=(query) placeholder="Search the documentation" maxlength=(QUERY_CHARS_MAX);
                button.button type="submit" { "Search" }
            }
        }
        @if !query.trim().is_empty() {
            section.card.card-body #found data-found=(found.len()) aria-label="Results" {
                @if found.is_empty() { p.soft { "No page contains “" (query.trim()) "”." } }
                ul.docs-found {
                    @for (chapter, excerpt) in &found {
                        li { a href=(chapter.address) { (chapter.title) } @if !excerpt.is_empty() { p.soft.small { (excerpt) } } }
                    }
                }
                p.small { (words::format_count(found.len() as u64, "page", "pages")) " · " a href=(super::ADDRESS) { "All pages" } }
            }
        }
    }
}

/// Returns the chapters that contain every word of a query, each with the first line that contains one.
fn find_chapters(query: &str) -> Vec<(&'static BookChapter, String)> {
    let query = query.to_lowercase();
    let terms: Vec<&str> = query.split_whitespace().collect();
    if terms.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(bool, &BookChapter, String)> = Vec::new();
    for chapter in BOOK.all_chapters() {
        let (title, text) = (chapter.title.to_lowercase(), chapter.text.to_lowercase());
        if terms.iter().all(|term| text.contains(term)) {
            let is_title = terms.iter().all(|term| title.contains(term));
            found.push((!is_title, chapter, find_excerpt(&chapter.text, &terms)));
        }
    }
    found.sort_by_key(|(is_other, _, _)| *is_other);
    found.into_iter().map(|(_, chapter, excerpt)| (chapter, excerpt)).collect()
}

/// Returns the first line below the title that contains a term, without its Markdown.
fn find_excerpt(text: &str, terms: &[&str]) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with('|'));
    let contains = |line: &&str| {
        let line = line.to_lowercase();
        terms.iter().any(|term| line.contains(term))
    };
    let line = lines.into_iter().find(contains).unwrap_or_default();
    let plain = strip_markup(line.trim_start_matches([' ', '-', '*', '>']));
    match plain.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", plain[..end].trim_end()),
        None => plain,
    }
}

/// Returns the text of a line of Markdown, without marks, link targets and HTML tags.
fn strip_markup(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*', '[', ']', '<']) {
        text.push_str(&rest[..at]);
        let mark = &rest[at..];
        let end = match mark.as_bytes()[0] {
            b']' if mark.starts_with("](") => mark.find(')'),
            b'<' => mark.find('>').or(Some(0)),
            _ => Some(0),
        };
        rest = end.map_or("", |end| &mark[end + 1..]);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_with_all_words_are_found_and_titles_come_first() {
        let addresses = |query| -> Vec<&str> {
            find_chapters(query).iter().map(|(chapter, _)| chapter.address.as_str()).collect()
        };
        assert_eq!(addresses("Polling policy").first(), Some(&"/docs/operate/polling"));
        assert!(addresses("retry-after polling").contains(&"/docs/operate/polling"));
        assert_eq!(addresses("polling xyzzy"), [""; 0]);
        assert_eq!(addresses("  "), [""; 0]);
    }

    #[test]
    fn an_excerpt_has_no_markup() {
        let line = "See [the `token`](../operate/security.md) of <a href=\"x\">**Lineside**</a>.";
        assert_eq!(strip_markup(line), "See the token of Lineside.");
        assert_eq!(strip_markup("a < b [c](d"), "a  b c");
    }

    #[test]
    fn a_query_is_escaped() {
        let page = render_search("<b>").into_string();
        assert!(!page.contains("<b>") && page.contains("data-found"), "{page}");
    }
}
