//! What is said of a feed before there is a report on it.

use maud::{Markup, html};

use super::super::words;
use crate::queue::Standing;
use crate::reports::Ahead;

/// The card on a feed's page that stands where its first report will.
pub(in crate::pages) fn card(ahead: Ahead) -> Markup {
    let (title, said) = match ahead {
        Ahead::Version(standing) => ("Report on the schedule", of_version(standing)),
        Ahead::Message => (
            "Report on the messages",
            "No message has been looked at yet. The first one that comes is.".to_owned(),
        ),
        Ahead::Schedule => (
            "Report on the messages",
            "Messages are looked at as soon as their schedule is there and prepared for that."
                .to_owned(),
        ),
        Ahead::System => (
            "Report on the system",
            "Its files are looked at together as soon as each of them was asked for.".to_owned(),
        ),
    };
    html! {
        section.card.report #report-ahead aria-labelledby="report-ahead-title" {
            h2 #report-ahead-title { (title) }
            p.card-body.soft { (said) }
        }
    }
}

fn of_version(standing: Standing) -> String {
    match standing {
        Standing::Runs => "It is being looked at for the first time.".to_owned(),
        Standing::Waits(0) => "It waits to be looked at, and is the next.".to_owned(),
        Standing::Waits(before) => format!(
            "It waits to be looked at, behind {}.",
            words::count(u64::try_from(before).unwrap_or(u64::MAX), "other feed", "other feeds")
        ),
    }
}

/// That a newer version than that of a report is about to be looked at.
pub(super) fn newer(standing: Standing) -> &'static str {
    match standing {
        Standing::Runs => "A newer version is being looked at.",
        Standing::Waits(_) => "A newer version waits to be looked at.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_the_first_report_waits_for() {
        let said = |ahead| card(ahead).into_string();
        let version = |standing| said(Ahead::Version(standing));
        assert!(version(Standing::Runs).contains("being looked at for the first time"));
        assert!(version(Standing::Waits(0)).contains("is the next"));
        assert!(version(Standing::Waits(1)).contains("behind 1 other feed."));
        assert!(said(Ahead::Message).contains("Report on the messages"));
        assert!(said(Ahead::Schedule).contains("as soon as their schedule"));
    }
}
