//! A report as it reads: what it comes to, what has changed, then the findings by what is to be done.

use jiff::tz::TimeZone;
use lineside_validate::Severity;
use maud::{Markup, html};

use super::super::words;
use super::{ahead, beside, changes, messages};
use crate::check::{Point, UNREAD, picture, prose, table, unread_words};
use crate::queue::Standing;
use crate::reports::{Finding, Outcome, Report, Subject};
use crate::validators::Beside;

/// Examples of one kind of finding on the page of a feed.
pub(super) const FEW: usize = 5;
/// Digits of a version that are shown: enough to tell one from another.
pub(super) const DIGITS: usize = 12;

/// Severities in the order in which something is to be done, with what that is.
const GROUPS: [(Severity, &str, &str); 3] = [
    (
        Severity::Error,
        "To be mended",
        "Against the specification: parts of the data are of no use.",
    ),
    (
        Severity::Warning,
        "Better mended",
        "Against what is recommended: riders may be told something wrong.",
    ),
    (Severity::Info, "Worth knowing", "Nothing need be done."),
];

/// The card on a feed's page, with what other validators say; `newer` is how far it is with a newer version, if there is one, and
/// `around` where stops or stations of its network are, for a report that does not say it.
pub(in crate::pages) fn card(
    report: &Report,
    others: &[Beside],
    newer: Option<Standing>,
    around: &[Point],
    zone: &TimeZone,
) -> Markup {
    let id = format!("report-{}", report.subject.word());
    let title = format!("{id}-title");
    html! {
        section.card.report id=(id) aria-labelledby=(title) {
            div.card-head {
                h2 id=(title) { (title_of(report)) }
                span.small {
                    @if report.subject.version().is_some() { a href=(report.address()) { "Permanent link" } " · " }
                    a href=(format!("/api/v1/feeds/{}/report", report.feed)) { "JSON" }
                }
            }
            @if let Some(standing) = newer { p.card-body.soft { (ahead::newer(standing)) } }
            (parts(report, around, zone, FEW))
            @for other in others { (beside::of(report, other, zone, FEW)) }
        }
    }
}

/// The whole of it, on a page of its own.
pub(super) fn whole(report: &Report, others: &[Beside], zone: &TimeZone) -> Markup {
    html! {
        section.card.report aria-labelledby="report-title" {
            div.card-head {
                h2 #report-title { (title_of(report)) }
                span.small { a href=(format!("/api/v1/feeds/{}/report?version={}", report.feed, report.subject.version().unwrap_or_default())) { "JSON" } }
            }
            (parts(report, &[], zone, usize::MAX))
            @for other in others { (beside::of(report, other, zone, usize::MAX)) }
        }
    }
}

/// What was found in a file of a visitor's, which is no feed's.
pub(in crate::pages) fn of_visitor(report: &Report) -> Markup {
    html! {
        section.card.report aria-labelledby="report-title" {
            div.card-head { h2 #report-title { "Findings" } }
            div.card-body.report-sum { p { strong { (sum(report)) } } (unread(report)) }
            // Before what was found: that nothing was may be no good news.
            @if !report.faults.is_empty() { (faults(report)) }
            (groups(report, &[], usize::MAX))
        }
    }
}

fn groups(report: &Report, around: &[Point], examples: usize) -> Markup {
    let outline = if report.outline.is_empty() { around } else { &report.outline };
    html! {
        @for (severity, title, why) in GROUPS {
            @let findings: Vec<&Finding> = report.findings.iter().filter(|it| it.severity == severity).collect();
            @if !findings.is_empty() {
                div.report-group data-severity=(name_of(severity)) {
                    h3 { (title) " " span.soft.small { (words::count(report.count(severity), one(severity), many(severity))) } }
                    p.soft.small { (why) }
                    ul.problem-list { @for finding in findings { (row(finding, outline, examples)) } }
                }
            }
        }
    }
}

fn title_of(report: &Report) -> &'static str {
    match report.subject {
        Subject::Dataset { .. } => "Report on the schedule",
        Subject::Realtime { .. } if report.is_of_system() => "Report on the system",
        Subject::Realtime { .. } => "Report on the messages",
    }
}

fn parts(report: &Report, around: &[Point], zone: &TimeZone, examples: usize) -> Markup {
    html! {
        div.card-body.report-sum {
            @if report.is_word() { p { strong { (sum(report)) } } }
            (outcome(report))
            (unread(report))
            p.soft.small {
                "Looked at " (words::time_at(report.at, zone)) " by Lineside " (report.validator)
                @if let Some(version) = report.subject.version() {
                    ", version " span.mono title=(format!("SHA-256 {version}")) { (version.get(..DIGITS).unwrap_or(version)) }
                }
                "."
            }
        }
        @match report.subject {
            Subject::Dataset { .. } => { @if report.is_word() { (changes::list(report)) } }
            Subject::Realtime { .. } => { (messages::since(report, zone)) }
        }
        (groups(report, around, examples))
        @if !report.faults.is_empty() { (faults(report)) }
    }
}

fn sum(report: &Report) -> String {
    sum_of(report.findings.is_empty(), |severity| report.count(severity))
}

/// Errors, warnings and infos in a sentence.
pub(super) fn sum_of(is_nothing: bool, count: impl Fn(Severity) -> u64) -> String {
    if is_nothing {
        return "Nothing was found.".to_owned();
    }
    format!(
        "{}, {}, {}.",
        words::count(count(Severity::Error), "error", "errors"),
        words::count(count(Severity::Warning), "warning", "warnings"),
        words::count(count(Severity::Info), "info", "infos"),
    )
}

fn outcome(report: &Report) -> Markup {
    html! {
        @match &report.outcome {
            Outcome::Unfinished { words } => p { strong { "Not looked at to the end: " } (words) ". That is our doing and says nothing of the data." },
            Outcome::CutShort {} => p { strong { "Not looked at to the end: " } "the time did not suffice, and there may be more. That is our doing." },
            Outcome::Whole | Outcome::Unreadable { .. } => {}
        }
        @if report.subject.is_refused() {
            p { "This version is not served: it cannot be read. The last good one is, if there is one." }
        }
    }
}

/// What rules did not see of a schedule, so that more is found once that is mended.
fn unread(report: &Report) -> Markup {
    html! {
        @if !report.unread.is_empty() {
            p { (UNREAD) }
            ul { @for file in &report.unread { li { (unread_words(file)) "." } } }
        }
    }
}

fn faults(report: &Report) -> Markup {
    html! {
        div.card-body.report-faults {
            h3 { "Our own faults" }
            p.soft { "These rules did not look to the end, and there may be more to find. That is our doing and says nothing of the data." }
            ul { @for fault in &report.faults { li { span.mono { (fault.rule) } ": " (fault.message) } } }
        }
    }
}

fn row(finding: &Finding, outline: &[Point], examples: usize) -> Markup {
    let shown = &finding.samples[..finding.samples.len().min(examples)];
    let more = finding.total.saturating_sub(u64::try_from(shown.len()).unwrap_or(u64::MAX));
    html! {
        li {
            details open[finding.severity == Severity::Error && examples > FEW] {
                summary {
                    (changes::sign(finding.severity)) span.mono { (words::code(&finding.code)) }
                    @if !is_word(&finding.code) { span.report-says { (prose(first_sentence(&finding.summary))) } }
                    span.tag { (words::number(finding.total)) }
                }
                div.finding {
                    @if !finding.summary.is_empty() { p { (prose(&finding.summary)) } }
                    (picture::of(&finding.places, &finding.samples, outline))
                    (table(&finding.code, &finding.summary, shown))
                    @if more > 0 && !shown.is_empty() { p.soft.small { "and " (words::number(more)) " more" } }
                }
            }
        }
    }
}

/// Whether a code says in words what it is about; the reference's for real time are a letter and a number.
fn is_word(code: &str) -> bool {
    code.contains(|letter: char| letter.is_ascii_lowercase())
}

/// The first sentence of what is wrong.
fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text.get(..end).unwrap_or(text)
}

pub(super) fn name_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

fn one(severity: Severity) -> &'static str {
    name_of(severity)
}

fn many(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "errors",
        Severity::Warning => "warnings",
        Severity::Info => "infos",
    }
}

#[cfg(test)]
mod tests {
    use lineside_validate::rules::gtfs::{Lack, Unread};
    use serde_json::Value;

    use super::*;
    use crate::reports::{Fault, test_report};

    #[test]
    fn a_visitor_is_told_what_we_did_not_look_at() {
        let mut report = test_report("a", &[]);
        let page = of_visitor(&report).into_string();
        assert!(page.contains("Nothing was found.") && !page.contains("Our own faults"), "{page}");
        report.faults.push(Fault { rule: "netex".to_owned(), message: "it broke".to_owned() });
        let page = of_visitor(&report).into_string();
        assert!(page.contains("Our own faults") && page.contains("</span>: it broke"), "{page}");
    }

    #[test]
    fn what_no_rule_saw_is_told_beside_the_sum() {
        let mut report = test_report("a", &[]);
        report.unread.push(Unread {
            filename: "agency.txt".to_owned(),
            lack: Lack::Rows,
            rows: 1,
            rules: 12,
        });
        for page in [of_visitor(&report), card(&report, &[], None, &[], &TimeZone::UTC)] {
            let page = page.into_string();
            assert!(page.contains("1 row of agency.txt could not be read"), "{page}");
        }
    }

    #[test]
    fn a_code_that_is_no_word_is_said_in_words() {
        let report = test_report(
            "a",
            &[("E003", Severity::Error, 1), ("low_match_rate", Severity::Error, 1)],
        );
        let page = card(&report, &[], None, &[], &TimeZone::UTC).into_string();
        let said = "<span class=\"mono\">E003</span><span class=\"report-says\">What is <code>wrong</code>.</span>";
        assert!(page.contains(said), "{page}");
        assert_eq!(page.matches("report-says").count(), 1, "{page}");
        assert_eq!(first_sentence("One `is` so. Two is not."), "One `is` so.");
    }

    #[test]
    fn what_a_feed_says_stays_text_and_counts_are_whole() {
        let mut report = test_report("a", &[("unknown_file", Severity::Info, 1_200)]);
        let sample = [("filename".to_owned(), Value::from("<b>x</b>.txt"))].into_iter().collect();
        report.findings[0].samples = vec![sample];
        let page = card(&report, &[], None, &[], &TimeZone::UTC).into_string();
        assert!(page.contains("&lt;b&gt;x&lt;/b&gt;.txt") && !page.contains("<b>x"), "{page}");
        assert!(
            page.contains("1\u{202f}200 infos") && page.contains("and 1\u{202f}199 more"),
            "{page}"
        );
        assert!(page.contains("What is <code>wrong</code>."), "{page}");
    }
}
