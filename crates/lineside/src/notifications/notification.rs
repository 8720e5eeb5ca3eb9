//! One notification, as a webhook gets it and as a mail says it.

use jiff::civil::Date;
use lineside_ingest::{FeedState, FeedStatus};
use lineside_sync::UnixMillis;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::http::rfc3339;

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A feed's state.
    State,
    /// How long a schedule still holds.
    Expiry,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::State, Kind::Expiry];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::State => "state",
            Kind::Expiry => "expiry",
        }
    }
}

/// The feed that a notification is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its page.
    pub(crate) url: String,
}

/// One notification. Who gets it twice knows it by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notification {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// When it was made, RFC 3339.
    pub(crate) at: String,
    pub(crate) feed: About,
    /// Of a state: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<String>,
    /// The one that was told before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// Since when it holds, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    /// Of an expiry: the last day of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_service: Option<String>,
    /// Days from now to then; negative when it is past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) days_left: Option<i64>,
    /// All of it, in a line.
    pub(crate) title: String,
    /// Why, in words.
    pub(crate) reason: String,
}

impl Notification {
    /// A feed is in another state than was told.
    pub(super) fn of_state(
        feed: About,
        status: &FeedStatus,
        previous: FeedState,
        now: UnixMillis,
    ) -> Notification {
        let state = status.state;
        let title = match state {
            FeedState::Ok => format!("{} is well again", feed.name),
            _ => format!("{} is {state}", feed.name),
        };
        Notification {
            id: id(&feed.id, Kind::State, &format!("{state} {}", status.since.0)),
            kind: Kind::State,
            at: rfc3339(now).unwrap_or_default(),
            state: Some(state.to_string()),
            previous: Some(previous.to_string()),
            since: rfc3339(status.since),
            last_service: None,
            days_left: None,
            title,
            reason: status.reason.clone(),
            feed,
        }
    }

    /// A schedule runs out, or runs on after that was said.
    pub(super) fn of_expiry(
        feed: About,
        (last, days_left): (Date, i64),
        runs_on: bool,
        now: UnixMillis,
    ) -> Notification {
        let name = &feed.name;
        let (title, reason) = match days_left {
            _ if runs_on => {
                (format!("{name} runs on until {last}"), "a new version has come".to_owned())
            }
            ..0 => (
                format!("{name} has run out"),
                format!("the last day of service was {last}: there are no departures any more"),
            ),
            0 => (format!("{name} runs out today"), format!("{last} is the last day of service")),
            1 => {
                (format!("{name} runs out tomorrow"), format!("the last day of service is {last}"))
            }
            _ => (
                format!("{name} runs out in {days_left} days"),
                format!("the last day of service is {last}"),
            ),
        };
        Notification {
            id: id(&feed.id, Kind::Expiry, &format!("{last} {days_left}")),
            kind: Kind::Expiry,
            at: rfc3339(now).unwrap_or_default(),
            state: None,
            previous: None,
            since: None,
            last_service: Some(last.to_string()),
            days_left: Some(days_left),
            title,
            reason,
            feed,
        }
    }

    /// The notification in plain text.
    pub(super) fn text(&self) -> String {
        format!("{}: {}. {}", self.title, self.reason, self.feed.url)
    }
}

/// The same for the same news, whoever makes it.
fn id(feed: &str, kind: Kind, news: &str) -> String {
    format!("{:032x}", xxh3_128(format!("{feed}\n{}\n{news}", kind.as_str()).as_bytes()))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn about() -> About {
        About { id: "city".into(), name: "City".into(), url: "http://h/feeds/city".into() }
    }

    #[test]
    fn an_expiry_says_how_long_it_is() {
        let notification = |days, runs_on| {
            Notification::of_expiry(about(), (date(2026, 12, 1), days), runs_on, UnixMillis(0))
        };
        let title = |days| notification(days, false).title;
        assert_eq!(title(30), "City runs out in 30 days");
        assert_eq!(title(1), "City runs out tomorrow");
        assert_eq!(title(0), "City runs out today");
        assert_eq!(title(-3), "City has run out");
        assert_eq!(notification(20, true).title, "City runs on until 2026-12-01");
    }

    #[test]
    fn a_notification_is_the_same_after_it_was_kept() {
        let status = FeedStatus {
            state: FeedState::Failing,
            reason: "http_500: \"no\"".to_owned(),
            ..FeedStatus::default()
        };
        let notification = Notification::of_state(about(), &status, FeedState::Ok, UnixMillis(9));
        let kept = serde_json::to_string(&notification).unwrap();
        assert!(!kept.contains("last_service"), "{kept}");
        assert_eq!(serde_json::from_str::<Notification>(&kept).unwrap(), notification);
        assert_eq!(notification.text(), "City is failing: http_500: \"no\". http://h/feeds/city");
        let later = Notification::of_state(about(), &status, FeedState::Ok, UnixMillis(99));
        assert_eq!(later.id, notification.id, "the same news");
    }
}
