//! The search of the documentation: the chapters that contain every word of a query, those first that have the words
//! in their titles, then those that have them most often.

use std::cmp::Reverse;

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
    let mut terms: Vec<&str> = query.split_whitespace().collect();
    // Almost every chapter contains a single letter.
    if terms.iter().any(|term| term.len() > 1) {
        terms.retain(|term| term.len() > 1);
    }
    if terms.is_empty() {
        return Vec::new();
    }
    let chapters = BOOK.all_chapters();
    let mut found: Vec<(Reverse<Relevance>, &BookChapter)> = chapters
        .filter_map(|chapter| Some((Reverse(Relevance::new(chapter, &terms)?), chapter)))
        .collect();
    found.sort_by_key(|(relevance, _)| *relevance);
    found.into_iter().map(|(_, chapter)| (chapter, find_excerpt(&chapter.text, &terms))).collect()
}

/// The relevance of a chapter for a query; a greater one is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Relevance {
    terms_in_title: usize,
    /// The number of terms that begin a row of a table, which describes them.
    terms_in_rows: usize,
    /// The number of times that the chapter has the term that it has least often.
    rarest_term: usize,
    terms_in_headings: usize,
}

impl Relevance {
    /// Returns `None` unless the chapter contains every term.
    fn new(chapter: &BookChapter, terms: &[&str]) -> Option<Self> {
        let text = chapter.text.to_lowercase();
        let rarest_term = terms.iter().map(|term| text.matches(*term).count()).min()?;
        let headings = text.lines().filter(|line| line.starts_with('#'));
        (rarest_term > 0).then(|| Self {
            terms_in_title: count_terms(&chapter.title.to_lowercase(), terms),
            terms_in_rows: terms
                .iter()
                .filter(|term| text.contains(&format!("| `{term}`")))
                .count(),
            rarest_term,
            terms_in_headings: headings.map(|line| count_terms(line, terms)).sum(),
        })
    }
}

/// Returns the number of terms that a text in lowercase contains.
fn count_terms(text: &str, terms: &[&str]) -> usize {
    terms.iter().filter(|term| text.contains(**term)).count()
}

/// Returns the part around the terms of the line that contains most of them, without its Markdown. Sentences are
/// preferred to headings and table rows.
fn find_excerpt(text: &str, terms: &[&str]) -> String {
    let is_sentence = |line: &&str| !line.starts_with(['#', '|']);
    let best_of = |lines: &mut dyn Iterator<Item = &str>| -> Option<String> {
        let plain =
            lines.map(|line| strip_markdown(line.trim_matches([' ', '-', '*', '>', '#', '|'])));
        let counted = plain.map(|line| (count_terms(&line.to_lowercase(), terms), line));
        // Of equal lines the first, not the last as `max_by_key`: a chapter's first lines introduce it.
        let best = counted.reduce(|best, line| if line.0 > best.0 { line } else { best });
        best.filter(|(n_terms, _)| *n_terms > 0).map(|(_, line)| line)
    };
    let line = best_of(&mut text.lines().filter(is_sentence))
        .or_else(|| best_of(&mut text.lines()))
        // The terms are only in the address of a link.
        .or_else(|| {
            text.lines().find(|line| is_sentence(line) && !line.is_empty()).map(strip_markdown)
        });
    cut_around(&line.unwrap_or_default(), terms)
}

/// Cuts a line at spaces, so that its first term stays.
fn cut_around(line: &str, terms: &[&str]) -> String {
    let n_chars = line.chars().count();
    if n_chars <= EXCERPT_CHARS_MAX {
        return line.to_owned();
    }
    let folded: Vec<char> = line.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
    let starts_at = |at: usize, term: &str| {
        term.chars().eq(folded[at..].iter().copied().take(term.chars().count()))
    };
    let first = (0..n_chars).find(|at| terms.iter().any(|term| starts_at(*at, term))).unwrap_or(0);
    let from = first.saturating_sub(EXCERPT_CHARS_MAX / 3).min(n_chars - EXCERPT_CHARS_MAX);
    let cut: String = line.chars().skip(from).take(EXCERPT_CHARS_MAX).collect();
    let start = if from == 0 { 0 } else { cut.find(' ').map_or(0, |at| at + 1) };
    let end = if from + EXCERPT_CHARS_MAX == n_chars {
        cut.len()
    } else {
        cut.rfind(' ').unwrap_or(cut.len())
    };
    let (before, after) =
        (if from == 0 { "" } else { "… " }, if end == cut.len() { "" } else { " …" });
    format!("{before}{}{after}", cut.get(start..end).unwrap_or(&cut))
}

/// Returns the text of a line of Markdown, without marks, link targets and HTML tags. Code keeps its placeholders, such
/// as `<feed>`, and the cells of a table are separated by dots.
fn strip_markdown(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    let mut is_code = false;
    while let Some(at) = rest.find(['`', '*', '[', ']', '<', '|']) {
        text.push_str(&rest[..at]);
        let mark = &rest[at..];
        let end = match mark.as_bytes()[0] {
            b'`' => {
                is_code = !is_code;
                Some(0)
            }
            _ if is_code => {
                text.push_str(&mark[..1]);
                Some(0)
            }
            b'|' => {
                text.push('·');
                Some(0)
            }
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
    fn chapters_about_the_words_come_before_those_that_mention_them() {
        let found = find_chapters("pause a feed");
        assert_eq!(found[0].0.address, "/docs/operate/changing-feeds");
        assert!(found.iter().all(|(_, excerpt)| !excerpt.is_empty()));
    }

    #[test]
    fn the_chapter_that_describes_a_key_comes_first() {
        let found = find_chapters("max_concurrent_requests");
        assert_eq!(found[0].0.address, "/docs/operate/configuration");
    }

    #[test]
    fn an_excerpt_keeps_placeholders_in_code() {
        let line = strip_markdown(
            "It is at `/feeds/<feed>/versions`, see [HTTP](http.md) and <b>more</b>.",
        );
        assert_eq!(line, "It is at /feeds/<feed>/versions, see HTTP and more.");
        assert_eq!(strip_markdown("`a` | b"), "a · b");
    }

    #[test]
    fn a_long_excerpt_is_cut_between_words_and_keeps_the_first_term() {
        let line = format!("{}polling {}", "some words ".repeat(20), "more words ".repeat(20));
        let cut = cut_around(line.trim(), &["polling"]);
        assert!(cut.contains(" polling ") && cut.chars().count() <= EXCERPT_CHARS_MAX + 4, "{cut}");
        let words: Vec<&str> = cut.trim_matches(['…', ' ']).split(' ').collect();
        assert!(
            words.iter().all(|word| ["some", "words", "more", "polling"].contains(word)),
            "{cut}"
        );
        assert_eq!(cut_around("short", &["x"]), "short");
    }

    #[test]
    fn an_excerpt_has_no_markup() {
        let line = "See [the `token`](../operate/security.md) of <a href=\"x\">**Lineside**</a>.";
        assert_eq!(strip_markdown(line), "See the token of Lineside.");
        assert_eq!(strip_markdown("a < b [c](d"), "a  b c");
    }

    #[test]
    fn a_query_is_escaped() {
        let page = render_search("<b>").into_string();
        assert!(!page.contains("<b>") && page.contains("data-found"), "{page}");
    }
}
