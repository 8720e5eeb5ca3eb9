//! The differences from the previous report.

use lineside_quality::reports::{ChangedCodeCount, FeedValidationReport};
use lineside_validate::Severity;
use maud::{Markup, html};

use super::super::words;
use super::body::severity_name;

/// Codes that are shown; the rest is in the JSON.
const SHOWN: usize = 20;

/// Renders new, removed, increased and decreased codes.
pub(super) fn render_changes(report: &FeedValidationReport) -> Markup {
    let Some(changes) = &report.changes else {
        return html! { p.card-body.soft.small { "This is the first version, so there is nothing to compare it with." } };
    };
    let before = format!("/feeds/{}/versions/{}/report", report.feed, changes.version);
    html! {
        div.card-body.report-changes {
            h3 { "Since " a href=(before) { "the previous version" } }
            @if changes.codes.is_empty() && changes.unsure.is_empty() { p.soft { "No finding is new or gone." } }
            @else {
                ul {
                    @for changed in changes.codes.iter().take(SHOWN) { (render_row(changed)) }
                    @for changed in changes.unsure.iter().take(SHOWN) { (render_uncertain_new_code(changed)) }
                    @if changes.codes.len() > SHOWN { li.soft { "and " (words::format_count(omitted_count(changes.codes.len()), "further code", "further codes")) } }
                }
            }
        }
    }
}

fn omitted_count(all: usize) -> u64 {
    u64::try_from(all.saturating_sub(SHOWN)).unwrap_or(u64::MAX)
}

fn render_row(changed: &ChangedCodeCount) -> Markup {
    html! {
        li data-course=(if changed.now > changed.before { "worse" } else { "better" }) {
            (render_severity_label(changed.severity)) span.mono { (words::render_breakable_code(&changed.code)) } " "
            span.numeric { (describe_count_change(changed)) }
        }
    }
}

/// Renders a new code that may have been in rows that the previous check could not read.
fn render_uncertain_new_code(changed: &ChangedCodeCount) -> Markup {
    html! {
        li data-course="worse" {
            (render_severity_label(changed.severity)) span.mono { (words::render_breakable_code(&changed.code)) } " "
            span.numeric { "new, " (words::format_number(changed.now)) }
            span.soft { " (not checked in the previous version, which had unreadable rows or files)" }
        }
    }
}

fn describe_count_change(changed: &ChangedCodeCount) -> String {
    let (before, now) = (words::format_number(changed.before), words::format_number(changed.now));
    match (changed.before, changed.now) {
        (0, _) => format!("new, {now}"),
        (_, 0) => format!("gone, was {before}"),
        _ => format!("{before} → {now}"),
    }
}

/// Renders the severity's icon and name.
pub(super) fn render_severity_label(severity: Severity) -> Markup {
    let name = severity_name(severity);
    html! { span.severity data-severity=(name) { (name) } " " }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_described_from_its_counts() {
        let format_change = |before, now| {
            let code = "unknown_file".to_owned();
            describe_count_change(&ChangedCodeCount { code, severity: Severity::Info, before, now })
        };
        assert_eq!(format_change(0, 3), "new, 3");
        assert_eq!(format_change(1_200, 0), "gone, was 1\u{202f}200");
        assert_eq!(format_change(4, 2), "4 → 2");
    }
}
