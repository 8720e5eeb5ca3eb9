//! `/rules` and `/rules/<code>`: for each code of a finding its meaning, its importance, its fix, and examples that are
//! right and wrong. The text is that of the rules' own pages, which are embedded in this binary.

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use lineside_formats::Format;
use lineside_http::app::App;
use lineside_quality::check::{
    list_decoder_codes, notice_kinds_of_all_formats, render_text_with_code,
};
use lineside_validate::NoticeKind;
use maud::{Markup, html};

use super::layout::{self, NavSection, PageLayout};
use super::{states, words};
use crate::links::rule_page_url;
use crate::not_found;
use crate::report_style::STYLE;

pub(super) fn router() -> Router<App> {
    Router::new().route("/rules", get(get_rule_list)).route("/rules/{code}", get(get_rule))
}

async fn get_rule_list() -> Response {
    let formats = Format::ALL.into_iter().filter(|format| !format.is_raw());
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs { a href="/docs" { "Documentation" } }
                h1 { "Validation rules" }
                p { "Each finding of a report has one of these codes. Its page says what it means and how to fix it." }
            }
            div.stack {
                @for format in formats {
                    @let kinds: Vec<&NoticeKind> = notice_kinds_of_all_formats().filter(|(it, _)| *it == format).map(|(_, kind)| kind).collect();
                    (render_group(states::format_display_name(Some(format)), kinds.iter().map(|kind| (kind.code, kind.page_summary(), Some(*kind))).collect()))
                }
                (render_group("Decoding, any format", list_decoder_codes().iter().map(|it| (it.code, it.meaning, None)).collect()))
            }
        }
    };
    let mut page = PageLayout::new("Validation rules", NavSection::Documentation);
    page.styles = &[STYLE];
    page.description = Some(
        "Every rule for GTFS, GTFS-Realtime, SIRI, NeTEx and GBFS, with examples and how to fix findings."
            .to_owned(),
    );
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

fn render_group(title: &str, rules: Vec<(&str, &str, Option<&NoticeKind>)>) -> Markup {
    let note = words::format_count(rules.len() as u64, "rule", "rules");
    html! {
        section.card.fold {
            details open {
                summary.card-head { h2 { (title) } span.soft.small { (note) } }
                ul.links.card-body {
                    @for (code, meaning, kind) in &rules {
                        li {
                            span {
                                a.mono href=(rule_page_url(code)) { (words::render_breakable_code(code)) }
                                @if let Some(kind) = kind { " " (render_severity(kind)) }
                            }
                            span.small { (render_text_with_code(meaning)) }
                        }
                    }
                }
            }
        }
    }
}

fn render_severity(kind: &NoticeKind) -> Markup {
    let name = kind.severity.severity_report_name().to_lowercase();
    html! { span.severity data-severity=(name) { (name) } }
}

async fn get_rule(Path(code): Path<String>) -> Response {
    let found: Vec<(Format, &NoticeKind)> =
        notice_kinds_of_all_formats().filter(|(_, kind)| kind.code == code).collect();
    let decoder = list_decoder_codes().iter().find(|known| known.code == code);
    if found.is_empty() && decoder.is_none() {
        return not_found::reply_with_not_found_page("No validation rule has this code.");
    }
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs { a href="/docs" { "Documentation" } " / " a href="/rules" { "Validation rules" } }
                h1.rule-code { (words::render_breakable_code(&code)) }
            }
            div.stack {
                @for (format, kind) in &found { (render_rule(*format, kind)) }
                @if let Some(decoder) = decoder {
                    section.card {
                        h2 { "Decoding, any format" }
                        div.card-body {
                            p { (render_text_with_code(decoder.meaning)) }
                            h3 { "How to fix" }
                            p { (render_text_with_code(decoder.remedy)) }
                        }
                    }
                }
            }
        }
    };
    let title = format!("Rule {code}");
    let mut page = PageLayout::new(&title, NavSection::Documentation);
    page.styles = &[STYLE];
    page.description = Some(format!(
        "What the validation rule {code} checks, why it matters, and how to fix its findings."
    ));
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

fn render_rule(format: Format, kind: &NoticeKind) -> Markup {
    let parts = parse_rule_page(kind.page);
    let (about, cases) = split_off_examples(&parts);
    html! {
        section.card.rule {
            div.card-head { h2 { (states::format_display_name(Some(format))) } (render_severity(kind)) }
            div.card-body.stack {
                @for (at, part) in about.iter().enumerate() {
                    @if at == 1 { h3 { "How to fix" } }
                    (render_page_block(part))
                }
                @if !kind.fields.is_empty() {
                    details {
                        summary { "Fields of a finding" }
                        dl.facts { @for (name, meaning) in kind.fields { dt.mono { (name) } dd { (render_text_with_code(meaning)) } } }
                    }
                }
                @if !cases.is_empty() {
                    details open[cases.len() <= 4] {
                        summary { (words::format_count(cases.len() as u64, "example", "examples")) }
                        div.stack { @for case in &cases { (render_example(case)) } }
                    }
                }
            }
        }
    }
}

/// A piece of a rule's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RulePageBlock<'a> {
    Heading(&'a str),
    Paragraph(&'a str),
    /// A block of code: the info string of its fence, and its text.
    Code(&'a str, &'a str),
}

/// One example: its heading and its content.
#[derive(Debug)]
struct RuleExample<'a> {
    title: &'a str,
    parts: Vec<RulePageBlock<'a>>,
}

impl RuleExample<'_> {
    /// Returns true if the rule has findings in the example: its last block lists them.
    fn has_findings(&self) -> bool {
        self.parts.iter().any(|part| is_findings_block(part))
    }
}

/// Returns true if a part lists the findings of an example, rather than a file of it.
fn is_findings_block(part: &RulePageBlock<'_>) -> bool {
    matches!(part, RulePageBlock::Code("json", _))
}

/// Splits a page without its title into parts.
fn parse_rule_page(page: &str) -> Vec<RulePageBlock<'_>> {
    let mut parts = Vec::new();
    let mut rest = page.trim();
    while !rest.is_empty() {
        let (part, after) = if let Some(code) = rest.strip_prefix("```") {
            let (info, code) = code.split_once('\n').unwrap_or((code, ""));
            let (text, after) = code.split_once("\n```").unwrap_or((code, ""));
            (Some(RulePageBlock::Code(info.trim(), text)), after)
        } else {
            let end = rest.find("\n\n").unwrap_or(rest.len());
            let (text, after) = rest.split_at(end);
            let part = match (text.strip_prefix("## "), text.starts_with("# ")) {
                (Some(title), _) => Some(RulePageBlock::Heading(title)),
                (None, true) => None,
                (None, false) => Some(RulePageBlock::Paragraph(text)),
            };
            (part, after)
        };
        parts.extend(part);
        rest = after.trim_start();
    }
    parts
}

/// Splits parts into the paragraphs before the first heading, and the examples after it.
fn split_off_examples<'p, 'a>(
    parts: &'p [RulePageBlock<'a>],
) -> (&'p [RulePageBlock<'a>], Vec<RuleExample<'a>>) {
    let is_heading = |part: &RulePageBlock<'_>| matches!(part, RulePageBlock::Heading(_));
    let example_start = parts.iter().position(is_heading).unwrap_or(parts.len());
    let (about, rest) = parts.split_at(example_start);
    let mut cases: Vec<RuleExample<'a>> = Vec::new();
    for part in rest {
        match (part, cases.last_mut()) {
            (RulePageBlock::Heading(title), _) => {
                cases.push(RuleExample { title, parts: Vec::new() })
            }
            (part, Some(case)) => case.parts.push(*part),
            (_, None) => {}
        }
    }
    (about, cases)
}

fn render_example(case: &RuleExample<'_>) -> Markup {
    let is_wrong = case.has_findings();
    html! {
        div.rule-example data-example=(if is_wrong { "wrong" } else { "right" }) {
            h3 { (render_text_with_code(case.title)) " " span.tag { (if is_wrong { "has findings" } else { "no findings" }) } }
            @for part in case.parts.iter().filter(|part| !is_findings_block(part)) { (render_page_block(part)) }
            @for part in case.parts.iter().filter(|part| is_findings_block(part)) {
                details { summary.small { "Its findings" } (render_page_block(part)) }
            }
        }
    }
}

fn render_page_block(part: &RulePageBlock<'_>) -> Markup {
    html! {
        @match part {
            RulePageBlock::Heading(text) => h3 { (render_text_with_code(text)) },
            RulePageBlock::Paragraph(text) => p { (render_text_with_code(&strip_links(text))) },
            RulePageBlock::Code(info, text) => {
                @let name = info.split_once(' ').map_or("", |(_, name)| name);
                @if !name.is_empty() { p.small.soft.mono { (name) } }
                pre.mono.small tabindex="0" { (text) }
            }
        }
    }
}

/// Replaces links with their texts: they lead to files of the source.
fn strip_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(label, target)| {
            let (_, behind) = target.split_once(')')?;
            Some((label, behind))
        });
        out.push_str(before);
        match link {
            Some((label, behind)) if !label.contains('[') => {
                out.push_str(label);
                rest = behind;
            }
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::has_rule_page;

    #[test]
    fn a_rule_page_is_split_into_text_and_examples() {
        let page = "# `code`\n\nWhat is wrong.\n\nDo `this`.\n\n## Right\n\n```csv stops.txt\nstop_id\nS\n```\n\n\
                    ## Wrong\n\n```csv stops.txt\nstop_id\n\n```\n\n```json\n[]\n```\n";
        let parts = parse_rule_page(page);
        let (about, cases) = split_off_examples(&parts);
        assert_eq!(
            about,
            [RulePageBlock::Paragraph("What is wrong."), RulePageBlock::Paragraph("Do `this`.")]
        );
        let titles: Vec<_> = cases.iter().map(|case| (case.title, case.has_findings())).collect();
        assert_eq!(titles, [("Right", false), ("Wrong", true)]);
        assert_eq!(cases[0].parts, [RulePageBlock::Code("csv stops.txt", "stop_id\nS")]);
    }

    #[test]
    fn links_to_the_source_are_reduced_to_their_text() {
        assert_eq!(strip_links("a [b c](x.md), [d] e"), "a b c, [d] e");
    }

    #[test]
    fn every_rule_has_a_summary_and_a_page_without_raw_markdown() {
        let mut n = 0;
        for (format, kind) in notice_kinds_of_all_formats() {
            assert!(!kind.page_summary().is_empty(), "{}", kind.code);
            let text = render_rule(format, kind).into_string();
            assert!(!text.contains("```") && !text.contains("<p># "), "{}: {text}", kind.code);
            assert!(has_rule_page(kind.code));
            n += 1;
        }
        assert!(n > 200, "{n}");
        assert!(has_rule_page("unreadable_file") && !has_rule_page("of_somebody_else"));
    }
}
