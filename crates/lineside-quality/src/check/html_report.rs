//! Renders a report as a page that needs no other file: to archive, mail, or attach to a build.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_validate::Severity;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    CheckReport, SourceRow, UNREAD, describe_unread_file, find_cause_and_fix,
    format_with_thin_spaces, place_map, render_findings_table, text_report,
};

/// Number of findings of one kind on the page.
const FINDINGS_SHOWN_MAX: usize = 50;

/// Styles for light and dark, wide and narrow screens, without external resources.
const STYLE: &str = "
:root { color-scheme: light dark; --line: #8886; --error: #b3261e; --warning: #8a5300; --info: #00639b }
@media (prefers-color-scheme: dark) { :root { --error: #ff897d; --warning: #ffb951; --info: #7cd0ff } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; overflow-wrap: anywhere }
details { border-top: 1px solid var(--line); padding: .5rem 0 }
summary { cursor: pointer; overflow-wrap: anywhere }
.error { color: var(--error) } .warning { color: var(--warning) } .info { color: var(--info) }
.scroll, pre { overflow-x: auto }
table { border-collapse: collapse; font-size: .875rem }
figure { margin: 0 0 1rem; max-width: 20rem } figcaption { font-size: .875rem; overflow-wrap: anywhere }
.report-map svg { width: 100%; height: auto; border: 1px solid var(--line) }
.report-map .stops { fill: none; stroke: currentColor; stroke-width: 3; stroke-linecap: round; opacity: .35 }
.report-map .wide { stroke-width: 9; opacity: .8 }
.report-map .bar { fill: none; stroke: currentColor } .report-map text { fill: currentColor; font-size: 13px }
.report-map circle { fill: var(--error); stroke: Canvas; stroke-width: 1.5 }
td, th { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top; border-bottom: 1px solid var(--line) }
";

pub(super) fn render_html(checked: &CheckReport) -> String {
    let plan = &checked.plan;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Report: " (plan.input) }
                style { (PreEscaped(STYLE)) }
            }
            body { main {
                h1 { (plan.input) }
                p {
                    (checked.format.display_name()) ", checked " (render_timestamp(&plan.at)) " by Lineside " (env!("CARGO_PKG_VERSION"))
                    ", as of " (format_date_for_people(&plan.today.to_string())) "."
                }
                p { strong { (text_report::summarize_findings_and_ignored(checked)) } }
                p { (text_report::describe_counts(checked).join(", ")) }
                @if !checked.unread.is_empty() {
                    p { (UNREAD) }
                    ul { @for file in &checked.unread { li { (describe_unread_file(file)) } } }
                }
                (render_findings(checked))
                @for error in &checked.errors {
                    p { (text_report::describe_rule_failure(error)) }
                }
            } }
        }
    };
    page.into_string()
}

/// Renders a paragraph of a rule's page: text in backticks is code.
pub fn render_text_with_code(text: &str) -> Markup {
    html! {
        @for (at, piece) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

/// Renders an RFC 3339 time for people and machines; other text stays as it is.
fn render_timestamp(at: &str) -> Markup {
    let shown =
        at.parse::<Timestamp>().map(|at| at.strftime("%-d %b %Y, %H:%M:%S UTC").to_string());
    html! { time datetime=(at) { (shown.unwrap_or_else(|_| at.to_owned())) } }
}

/// Formats a day such as `2026-06-15` for people; other text stays as it is.
pub fn format_date_for_people(day: &str) -> String {
    day.parse::<Date>().map_or_else(|_| day.to_owned(), |day| day.strftime("%-d %b %Y").to_string())
}

/// Renders each kind with its first rows; errors are expanded.
fn render_findings(checked: &CheckReport) -> Markup {
    html! {
        @for finding in &checked.findings {
            @let name = finding.severity.severity_report_name().to_lowercase();
            details open[finding.severity == Severity::Error] {
                summary { strong class=(name) { (finding.severity.severity_report_name()) } " " (finding.code_with_count()) }
                p { (render_text_with_code(finding.summary)) }
                @if let Some(remedy) = find_cause_and_fix(&finding.code, finding.summary) { p { strong { "How to fix: " } (render_text_with_code(remedy)) } }
                (place_map::render_place_map(&finding.places, &finding.samples, &checked.outline))
                (render_samples(finding))
                @for row in checked.rows.iter().filter(|row| row.code == finding.code) { (render_source_row(row)) }
            }
        }
    }
}

/// Renders a row or record as it is in the data.
fn render_source_row(row: &SourceRow) -> Markup {
    html! {
        p { (row.file) @if row.line > 0 { ", line " (format_with_thin_spaces(row.line)) } }
        pre { @if !row.header.is_empty() { (row.header) "\n" } (row.text) }
    }
}

fn render_samples(finding: &super::CheckFinding) -> Markup {
    let n_samples = finding.samples.len();
    let shown = &finding.samples[..n_samples.min(FINDINGS_SHOWN_MAX)];
    let more = finding.total.saturating_sub(shown.len() as u64);
    html! {
        (render_findings_table(&finding.code, finding.summary, shown, &TimeZone::UTC))
        @if more > 0 && !shown.is_empty() {
            p {
                (format_with_thin_spaces(more)) " more are not shown here."
                @if n_samples > FINDINGS_SHOWN_MAX { " The first " (format_with_thin_spaces(n_samples as u64)) " are in " code { "report.json" } ", which " code { "--output" } " and " code { "--format json" } " write." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_dates_are_shown_in_readable_form() {
        let moment = render_timestamp("2026-11-22T23:08:41.233Z").into_string();
        assert!(moment.ends_with(">22 Nov 2026, 23:08:41 UTC</time>"), "{moment}");
        assert_eq!(format_date_for_people("2026-06-05"), "5 Jun 2026");
        assert_eq!(
            (
                render_timestamp("then").into_string().contains(">then<"),
                format_date_for_people("soon")
            ),
            (true, "soon".to_owned())
        );
    }

    #[test]
    fn text_in_backticks_is_rendered_as_code() {
        assert_eq!(
            render_text_with_code("See `a.txt` <b>").into_string(),
            "See <code>a.txt</code> &lt;b&gt;"
        );
    }
}
