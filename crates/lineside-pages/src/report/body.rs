//! The text of a report: its summary, its changes, then the findings by severity.

use std::cmp::Reverse;

use jiff::tz::TimeZone;
use lineside_quality::check::{
    LatLon, UNREAD, describe_unread_file, find_cause_and_fix, place_map, render_findings_table,
    render_text_with_code,
};
use lineside_quality::external_validators::ExternalComparison;
use lineside_quality::job_queue::JobStatus;
use lineside_quality::reports::{
    FeedValidationReport, FindingsOfCode, ReportFindingCounts, ReportOutcome, ValidatedSubject,
};
use lineside_validate::Severity;
use maud::{Markup, html};

use super::super::words;
use super::{changes, external_report, messages, queue};
use crate::layout::render_foldable_section;
use crate::links::{has_rule_page, rule_page_url};

/// Examples of one kind of finding on the page of a feed.
pub(super) const FEW: usize = 5;
/// Displayed digits of a version: enough to distinguish versions.
pub(super) const DIGITS: usize = 12;

/// Kinds of findings on the page of a feed that are shown at once; the others are behind a line with their number.
const KINDS_SHOWN: usize = 6;

/// Severities in the order in which to fix their findings, each with its heading.
const GROUPS: [(Severity, &str, &str); 3] = [
    (Severity::Error, "Errors", "The specification does not allow these."),
    (Severity::Warning, "Warnings", "Against best practice; riders may see wrong information."),
    (Severity::Info, "Infos", "For information; nothing has to be fixed."),
];

/// Renders the section on a feed's page, with the reports of other validators. `newer` is the queue state of a newer
/// version, and `around` are stops or stations of its network, for a report without locations of its own.
pub(crate) fn render_card(
    report: &FeedValidationReport,
    others: &[ExternalComparison],
    newer: Option<JobStatus>,
    around: &[LatLon],
    zone: &TimeZone,
) -> Markup {
    let brief = ReportFindingCounts::from_report(report);
    let note = crate::report_brief::describe_report_summary(&brief);
    let content = html! {
        @if let Some(standing) = newer { p.card-body.soft { (queue::describe_newer_version_check(standing)) } }
        (render_report_body(report, (around, FEW), zone))
        @for other in others { (external_report::render_report(report, other, zone, FEW)) }
        p.card-body.small {
            @if report.subject.dataset_version().is_some() { a href=(report.report_path()) { "Permanent link with more rows" } " · " }
            a href=(format!("/api/v1/feeds/{}/report", report.feed)) { "JSON" }
        }
    };
    let id = format!("report-{}", report.subject.subject_kind_name());
    html! { div.report { (render_foldable_section(&id, report_title(report), &html! { (note) }, false, &content)) } }
}

/// Renders the complete report, for its own page.
pub(super) fn render_complete_report(
    report: &FeedValidationReport,
    others: &[ExternalComparison],
    zone: &TimeZone,
) -> Markup {
    html! {
        section.card.report aria-labelledby="report-title" {
            div.card-head {
                h2 #report-title { (report_title(report)) }
                span.small { a href=(format!("/api/v1/feeds/{}/report?version={}", report.feed, report.subject.dataset_version().unwrap_or_default())) { "JSON" } }
            }
            (render_report_body(report, (&[], usize::MAX), zone))
            @for other in others { (external_report::render_report(report, other, zone, usize::MAX)) }
        }
    }
}

/// Renders the findings in an uploaded file.
pub(crate) fn render_upload_findings(report: &FeedValidationReport) -> Markup {
    html! {
        section.card.report aria-labelledby="report-title" {
            div.card-head { h2 #report-title { "Findings" } }
            div.card-body.report-sum { p { strong { (describe_totals(report)) } } (render_unread(report)) }
            // Faults come before the findings, because with faults the lack of findings may mean nothing.
            @if !report.faults.is_empty() { (render_failed_rules(report)) }
            // The server has no time zone of its own, and an uploaded file may have none.
            (render_findings_by_severity(report, (&[], usize::MAX), &TimeZone::UTC))
        }
    }
}

/// The points around the findings, for a report without an outline of its own, and the number of examples of each kind.
type OutlineAndExampleLimit<'a> = (&'a [LatLon], usize);

fn render_findings_by_severity(
    report: &FeedValidationReport,
    (around, examples): OutlineAndExampleLimit<'_>,
    zone: &TimeZone,
) -> Markup {
    let outline = if report.outline.is_empty() { around } else { &report.outline };
    let n_shown = if examples > FEW { usize::MAX } else { KINDS_SHOWN };
    // The kinds with the most findings come first, so that a page of few kinds shows what matters.
    let mut findings: Vec<&FindingsOfCode> = report.findings.iter().collect();
    findings.sort_by_key(|finding| (severity_order(finding.severity), Reverse(finding.total)));
    let (shown, more) = findings.split_at(findings.len().min(n_shown));
    html! {
        (render_findings_subset(report, shown, (outline, examples), zone))
        @if !more.is_empty() {
            details.more-findings {
                summary { "Show " (words::format_count(u64::try_from(more.len()).unwrap_or(u64::MAX), "more kind of finding", "more kinds of findings")) }
                (render_findings_subset(report, more, (outline, examples), zone))
            }
        }
    }
}

/// Renders some of the findings by severity; they are sorted by it.
fn render_findings_subset(
    report: &FeedValidationReport,
    findings: &[&FindingsOfCode],
    extent: OutlineAndExampleLimit<'_>,
    zone: &TimeZone,
) -> Markup {
    html! {
        @for (severity, title, why) in GROUPS {
            @let group_findings: Vec<&FindingsOfCode> = findings.iter().copied().filter(|it| it.severity == severity).collect();
            @if !group_findings.is_empty() {
                div.report-group data-severity=(severity_name(severity)) {
                    h3 { (title) " " span.soft.small { (words::format_number(report.count_findings(severity))) } }
                    p.soft.small { (why) }
                    ul.problem-list { @for finding in group_findings { (render_finding(report, finding, extent, zone)) } }
                }
            }
        }
    }
}

/// Returns the position of a severity's group.
fn severity_order(severity: Severity) -> usize {
    GROUPS.iter().position(|(it, _, _)| *it == severity).unwrap_or(GROUPS.len())
}

fn report_title(report: &FeedValidationReport) -> &'static str {
    match report.subject {
        ValidatedSubject::Dataset { .. } => "Report on the schedule",
        ValidatedSubject::Realtime { .. } if report.is_for_gbfs_system() => "Report on the system",
        ValidatedSubject::Realtime { .. } => "Report on the messages",
    }
}

fn render_report_body(
    report: &FeedValidationReport,
    extent: OutlineAndExampleLimit<'_>,
    zone: &TimeZone,
) -> Markup {
    html! {
        div.card-body.report-sum {
            @if report.is_validation_finished() { p { strong { (describe_totals(report)) } } }
            (render_incomplete_or_rejected_note(report))
            (render_unread(report))
            p.soft.small {
                "Checked " (words::render_time_with_zone(report.at, zone)) " by Lineside " (report.validator)
                @if let Some(version) = report.subject.dataset_version() {
                    ", version " span.mono title=(format!("SHA-256 {version}")) { (version.get(..DIGITS).unwrap_or(version)) }
                }
                "."
            }
        }
        @match report.subject {
            ValidatedSubject::Dataset { .. } => { @if report.is_validation_finished() { (changes::render_changes(report)) } }
            ValidatedSubject::Realtime { .. } => { (messages::render_schedule_conformance(report, zone)) }
        }
        (render_findings_by_severity(report, extent, zone))
        @if !report.faults.is_empty() { (render_failed_rules(report)) }
    }
}

fn describe_totals(report: &FeedValidationReport) -> String {
    describe_severity_counts(report.findings.is_empty(), |severity| report.count_findings(severity))
}

/// Describes errors, warnings and infos in a sentence.
pub(super) fn describe_severity_counts(
    is_nothing: bool,
    count: impl Fn(Severity) -> u64,
) -> String {
    if is_nothing {
        return "No findings.".to_owned();
    }
    format!(
        "{}, {}, {}.",
        words::format_count(count(Severity::Error), "error", "errors"),
        words::format_count(count(Severity::Warning), "warning", "warnings"),
        words::format_count(count(Severity::Info), "info", "infos"),
    )
}

fn render_incomplete_or_rejected_note(report: &FeedValidationReport) -> Markup {
    html! {
        @match &report.outcome {
            ReportOutcome::Unfinished { words } => p { strong { "Incomplete: " } (words) ". This is a limit of this server and says nothing of the data." },
            ReportOutcome::CutShort {} => p data-outcome="cut_short" { strong { "Incomplete: " } "the time limit was reached, so there may be more findings." },
            ReportOutcome::Whole | ReportOutcome::Unreadable { .. } => {}
        }
        @if report.subject.is_rejected_version() {
            p { "This version is not served because it cannot be read. The last good version is served instead, if there is one." }
        }
    }
}

/// Renders the files of a schedule that rules could not read, so that more findings may appear once they are fixed.
fn render_unread(report: &FeedValidationReport) -> Markup {
    html! {
        @if !report.unread.is_empty() {
            p { (UNREAD) }
            ul { @for file in &report.unread { li { (describe_unread_file(file)) "." } } }
        }
    }
}

fn render_failed_rules(report: &FeedValidationReport) -> Markup {
    html! {
        div.card-body.report-faults {
            h3 { "Errors of Lineside" }
            p.soft { "These rules failed, so there may be more findings. This says nothing of the data." }
            ul { @for fault in &report.faults { li { span.mono { (fault.rule) } ": " (fault.message) } } }
        }
    }
}

fn render_finding(
    report: &FeedValidationReport,
    finding: &FindingsOfCode,
    (outline, examples): OutlineAndExampleLimit<'_>,
    zone: &TimeZone,
) -> Markup {
    let shown = &finding.samples[..finding.samples.len().min(examples)];
    let more = finding.total.saturating_sub(u64::try_from(shown.len()).unwrap_or(u64::MAX));
    let (shown, folded) = shown.split_at(shown.len().min(FEW));
    let render_table = |rows| render_findings_table(&finding.code, &finding.summary, rows, zone);
    let first = first_sentence(&finding.summary);
    let rest = finding.summary.get(first.len()..).unwrap_or_default().trim();
    html! {
        li {
            details open[finding.severity == Severity::Error && examples > FEW] {
                summary {
                    (changes::render_severity_label(finding.severity))
                    span.report-says { (render_text_with_code(first)) }
                    span.mono.small { (words::render_breakable_code(&finding.code)) }
                    span.tag { (words::format_number(finding.total)) }
                }
                div.finding {
                    @if !rest.is_empty() { p { (render_text_with_code(rest)) } }
                    @if let Some(remedy) = find_cause_and_fix(&finding.code, &finding.summary) { p { strong { "Why and how to fix: " } (render_text_with_code(remedy)) } }
                    @if has_rule_page(&finding.code) { p.small { a href=(rule_page_url(&finding.code)) { "About this rule, with examples" } } }
                    (place_map::render_place_map(&finding.places, &finding.samples, outline))
                    (render_table(shown))
                    @if !folded.is_empty() {
                        details.more-rows {
                            summary { "Show " (words::format_count(folded.len() as u64, "more row", "more rows")) }
                            (render_table(folded))
                        }
                    }
                    (render_raw_rows(report, finding))
                    @if more > 0 && !shown.is_empty() { p.soft.small { "and " (words::format_number(more)) " more" } }
                }
            }
        }
    }
}

/// Renders the offending rows as they are in the file.
fn render_raw_rows(report: &FeedValidationReport, finding: &FindingsOfCode) -> Markup {
    let rows: Vec<_> = report.rows.iter().filter(|row| row.code == finding.code).collect();
    html! {
        @if !rows.is_empty() {
            div.raw-rows {
                @for row in rows {
                    p.small.soft { (row.file) @if row.line > 0 { ", line " (words::format_number(row.line)) } }
                    pre.mono.small tabindex="0" { @if !row.header.is_empty() { span.soft { (row.header) "\n" } } (row.text) }
                }
            }
        }
    }
}

/// Renders the first sentence of the most frequent error; nothing without errors.
pub(crate) fn render_main_error(report: &FeedValidationReport) -> Markup {
    let errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
    let main = errors.max_by_key(|finding| finding.total);
    html! {
        @if let Some(main) = main {
            div.soft.small data-main-error=(main.code) { "most often: " (render_text_with_code(first_sentence(&main.summary))) }
        }
    }
}

/// Returns the first sentence of a description.
fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text.get(..end).unwrap_or(text)
}

pub(super) fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

#[cfg(test)]
mod tests {
    use lineside_validate::rules::gtfs::{IncompleteFile, MissingFilePart};
    use serde_json::Value;

    use super::*;
    use lineside_quality::reports::{FailedRule, test_report};

    #[test]
    fn an_upload_report_shows_failed_rules() {
        let mut report = test_report("a", &[]);
        let page = render_upload_findings(&report).into_string();
        assert!(page.contains("No findings.") && !page.contains("Errors of Lineside"), "{page}");
        report.faults.push(FailedRule { rule: "netex".to_owned(), message: "it broke".to_owned() });
        let page = render_upload_findings(&report).into_string();
        assert!(
            page.contains("Errors of Lineside") && page.contains("</span>: it broke"),
            "{page}"
        );
    }

    #[test]
    fn unread_files_are_shown_beside_the_totals() {
        let mut report = test_report("a", &[]);
        report.unread.push(IncompleteFile {
            filename: "agency.txt".to_owned(),
            lack: MissingFilePart::Rows,
            rows: 1,
            rules: 12,
        });
        for page in
            [render_upload_findings(&report), render_card(&report, &[], None, &[], &TimeZone::UTC)]
        {
            let page = page.into_string();
            assert!(page.contains("agency.txt"), "{page}");
        }
    }

    #[test]
    fn every_finding_has_a_description_and_a_link_to_its_rule() {
        let report = test_report(
            "a",
            &[("E003", Severity::Error, 1), ("of_somebody_else", Severity::Error, 1)],
        );
        let page = render_card(&report, &[], None, &[], &TimeZone::UTC).into_string();
        assert_eq!(
            page.matches("<span class=\"report-says\">What is <code>wrong</code>.").count(),
            2
        );
        assert!(page.contains("href=\"/rules/E003\""), "{page}");
        assert!(!page.contains("/rules/of_somebody_else"), "{page}");
        assert_eq!(first_sentence("One `is` so. Two is not."), "One `is` so.");
    }

    #[test]
    fn a_feed_page_shows_some_codes_and_the_number_of_others() {
        let codes: Vec<String> = (0..KINDS_SHOWN + 2).map(|n| format!("code_{n}")).collect();
        let found: Vec<_> = codes.iter().map(|code| (code.as_str(), Severity::Error, 1)).collect();
        let report = test_report("a", &found);
        let page = render_card(&report, &[], None, &[], &TimeZone::UTC).into_string();
        let (shown, more) = page.split_once("more-findings").unwrap();
        assert_eq!(shown.matches("report-says").count(), KINDS_SHOWN);
        assert_eq!(more.matches("report-says").count(), 2);
        assert!(
            !render_complete_report(&report, &[], &TimeZone::UTC)
                .into_string()
                .contains("more-findings")
        );
    }

    #[test]
    fn kinds_with_the_most_findings_come_first_within_their_severity() {
        let found = [
            ("a", Severity::Error, 1),
            ("b", Severity::Warning, 2),
            ("c", Severity::Warning, 287_242),
        ];
        let page = render_card(&test_report("a", &found), &[], None, &[], &TimeZone::UTC);
        let page = page.into_string();
        let position =
            |code: &str| page.find(&format!("<span class=\"mono small\">{code}<")).unwrap();
        assert!(position("a") < position("c") && position("c") < position("b"), "{page}");
    }

    #[test]
    fn the_main_error_is_the_most_frequent_one() {
        let found = [
            ("a", Severity::Error, 1),
            ("b", Severity::Error, 3),
            ("c", Severity::Warning, 287_242),
        ];
        let main = render_main_error(&test_report("a", &found)).into_string();
        assert!(main.contains("data-main-error=\"b\""), "{main}");
        let warnings = test_report("a", &[("c", Severity::Warning, 1)]);
        assert_eq!(render_main_error(&warnings).into_string(), "");
    }

    #[test]
    fn further_rows_are_folded() {
        let mut report = test_report("a", &[("unknown_file", Severity::Error, 8)]);
        let row = |n: usize| [("filename".to_owned(), Value::from(format!("{n}.x")))];
        report.findings[0].samples = (0..8).map(|n| row(n).into_iter().collect()).collect();
        let page = render_upload_findings(&report).into_string();
        let (shown, folded) = page.split_once("class=\"more-rows\"").unwrap();
        assert_eq!((shown.matches(".x<").count(), folded.matches(".x<").count()), (FEW, 3));
    }

    #[test]
    fn the_offending_row_is_shown_as_text() {
        let mut report = test_report("a", &[("invalid_url", Severity::Error, 1)]);
        report.rows.push(lineside_quality::check::SourceRow {
            code: "invalid_url".to_owned(),
            file: "agency.txt".to_owned(),
            line: 2,
            header: "agency_id,agency_url".to_owned(),
            text: "A,<b>no</b>".to_owned(),
        });
        let page = render_card(&report, &[], None, &[], &TimeZone::UTC).into_string();
        assert!(
            page.contains("agency.txt, line 2") && page.contains("A,&lt;b&gt;no&lt;/b&gt;"),
            "{page}"
        );
    }

    #[test]
    fn text_of_a_feed_is_escaped_and_counts_are_complete() {
        let mut report = test_report("a", &[("unknown_file", Severity::Info, 1_200)]);
        let sample = [("filename".to_owned(), Value::from("<b>x</b>.txt"))].into_iter().collect();
        report.findings[0].samples = vec![sample];
        let page = render_card(&report, &[], None, &[], &TimeZone::UTC).into_string();
        assert!(page.contains("&lt;b&gt;x&lt;/b&gt;.txt") && !page.contains("<b>x"), "{page}");
        assert!(page.contains("1\u{202f}200") && page.contains("and 1\u{202f}199 more"), "{page}");
        assert!(page.contains("What is <code>wrong</code>."), "{page}");
    }
}
