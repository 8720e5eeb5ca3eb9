//! The text for a feed without a report.

use lineside_quality::job_queue::JobStatus;
use lineside_quality::reports::AwaitedReportPrerequisite;
use maud::{Markup, html};

use super::super::words;
use crate::layout::render_foldable_section;

/// Renders the card in place of a feed's first report.
pub(crate) fn render_pending_report_card(ahead: AwaitedReportPrerequisite) -> Markup {
    let (title, card_text) = match ahead {
        AwaitedReportPrerequisite::Version(status) => {
            ("Report on the schedule", describe_first_check_status(status))
        }
        AwaitedReportPrerequisite::Message => (
            "Report on the messages",
            "No message has been checked yet. The next one will be.".to_owned(),
        ),
        AwaitedReportPrerequisite::Schedule => (
            "Report on the messages",
            "Messages are checked once their schedule is loaded.".to_owned(),
        ),
        AwaitedReportPrerequisite::System => (
            "Report on the system",
            "Its files are checked once each of them was requested.".to_owned(),
        ),
    };
    render_foldable_section(
        "report-ahead",
        title,
        &html! {},
        true,
        &html! { p.card-body.soft data-waits-for-schedule[matches!(ahead, AwaitedReportPrerequisite::Schedule)] { (card_text) } },
    )
}

fn describe_first_check_status(status: JobStatus) -> String {
    match status {
        JobStatus::Running => "The first check is running.".to_owned(),
        JobStatus::Waiting(0) => "It is next in the queue for validation.".to_owned(),
        JobStatus::Waiting(before) => format!(
            "It is in the queue for validation, behind {}.",
            words::format_count(
                u64::try_from(before).unwrap_or(u64::MAX),
                "other feed",
                "other feeds"
            )
        ),
    }
}

/// Describes the queue state of a version that is newer than a report's.
pub(super) fn describe_newer_version_check(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Running => "A newer version is being checked.",
        JobStatus::Waiting(_) => "A newer version is in the queue for validation.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_the_missing_first_report_is_shown() {
        let render = |ahead| render_pending_report_card(ahead).into_string();
        let version = |status| render(AwaitedReportPrerequisite::Version(status));
        assert!(version(JobStatus::Running).contains("check is running"));
        assert!(version(JobStatus::Waiting(0)).contains("is next"));
        assert!(version(JobStatus::Waiting(1)).contains("behind 1 other feed."));
        assert!(render(AwaitedReportPrerequisite::Message).contains("Report on the messages"));
        assert!(render(AwaitedReportPrerequisite::Schedule).contains("once their schedule"));
    }
}
