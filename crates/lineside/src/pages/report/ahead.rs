//! What is said of a feed before there is a report on it.

use maud::{Markup, html};

use super::super::feed::fold;
use super::super::words;
use crate::queue::Standing;
use crate::reports::Ahead;

/// The card on a feed's page that stands where its first report will.
pub(in crate::pages) fn card(ahead: Ahead) -> Markup {
    let (title, said) = match ahead {
        Ahead::Version(standing) => ("Report on the schedule", of_version(standing)),
        Ahead::Message => (
            "Report on the messages",
            "No message has been checked yet. The next one will be.".to_owned(),
        ),
        Ahead::Schedule => (
            "Report on the messages",
            "Messages are checked once their schedule is loaded.".to_owned(),
        ),
        Ahead::System => (
            "Report on the system",
            "Its files are checked once each of them was requested.".to_owned(),
        ),
    };
    fold(
        "report-ahead",
        title,
        &html! {},
        true,
        &html! { p.card-body.soft data-waits-for-schedule[matches!(ahead, Ahead::Schedule)] { (said) } },
    )
}

fn of_version(standing: Standing) -> String {
    match standing {
        Standing::Runs => "The first check is running.".to_owned(),
        Standing::Waits(0) => "It is next in the queue for validation.".to_owned(),
        Standing::Waits(before) => format!(
            "It is in the queue for validation, behind {}.",
            words::count(u64::try_from(before).unwrap_or(u64::MAX), "other feed", "other feeds")
        ),
    }
}

/// That a newer version than that of a report is about to be looked at.
pub(super) fn newer(standing: Standing) -> &'static str {
    match standing {
        Standing::Runs => "A newer version is being checked.",
        Standing::Waits(_) => "A newer version is in the queue for validation.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_the_first_report_waits_for() {
        let said = |ahead| card(ahead).into_string();
        let version = |standing| said(Ahead::Version(standing));
        assert!(version(Standing::Runs).contains("check is running"));
        assert!(version(Standing::Waits(0)).contains("is next"));
        assert!(version(Standing::Waits(1)).contains("behind 1 other feed."));
        assert!(said(Ahead::Message).contains("Report on the messages"));
        assert!(said(Ahead::Schedule).contains("once their schedule"));
    }
}
