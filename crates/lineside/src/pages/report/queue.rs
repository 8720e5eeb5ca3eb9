//! The text for a feed without a report.

use maud::{Markup, html};

use super::super::feed::render_fold;
use super::super::words;
use crate::job_queue::JobStatus;
use crate::reports::ReportPrerequisite;

/// Renders the card in place of a feed's first report.
pub(in crate::pages) fn render_card(ahead: ReportPrerequisite) -> Markup {
    let (title, said) = match ahead {
        ReportPrerequisite::Version(standing) => {
            ("Report on the schedule", describe_version(standing))
        }
        ReportPrerequisite::Message => (
            "Report on the messages",
            "No message has been checked yet. The next one will be.".to_owned(),
        ),
        ReportPrerequisite::Schedule => (
            "Report on the messages",
            "Messages are checked once their schedule is loaded.".to_owned(),
        ),
        ReportPrerequisite::System => (
            "Report on the system",
            "Its files are checked once each of them was requested.".to_owned(),
        ),
    };
    render_fold(
        "report-ahead",
        title,
        &html! {},
        true,
        &html! { p.card-body.soft data-waits-for-schedule[matches!(ahead, ReportPrerequisite::Schedule)] { (said) } },
    )
}

fn describe_version(standing: JobStatus) -> String {
    match standing {
        JobStatus::Runs => "The first check is running.".to_owned(),
        JobStatus::Waits(0) => "It is next in the queue for validation.".to_owned(),
        JobStatus::Waits(before) => format!(
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
pub(super) fn describe_newer(standing: JobStatus) -> &'static str {
    match standing {
        JobStatus::Runs => "A newer version is being checked.",
        JobStatus::Waits(_) => "A newer version is in the queue for validation.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_the_missing_first_report_is_shown() {
        let said = |ahead| render_card(ahead).into_string();
        let version = |standing| said(ReportPrerequisite::Version(standing));
        assert!(version(JobStatus::Runs).contains("check is running"));
        assert!(version(JobStatus::Waits(0)).contains("is next"));
        assert!(version(JobStatus::Waits(1)).contains("behind 1 other feed."));
        assert!(said(ReportPrerequisite::Message).contains("Report on the messages"));
        assert!(said(ReportPrerequisite::Schedule).contains("once their schedule"));
    }
}
