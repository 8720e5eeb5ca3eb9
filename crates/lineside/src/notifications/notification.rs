//! A notification, as webhooks and mails present it.

use jiff::civil::Date;
use lineside_config::times::format_rfc3339;
use lineside_model::{FeedState, FeedStatus};
use lineside_quality::reports::{ChangedCodeCount, FeedValidationReport};
use lineside_sync::UnixMillis;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// Maximum number of codes in a notification: more than any format has.
const ERRORS_MAX: usize = 250;
/// Maximum number of codes that the text names.
const NAMED_MAX: usize = 5;

/// The subject of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NotificationKind {
    /// A change of a feed's state.
    State,
    /// The expiry of a schedule.
    Expiry,
    /// New errors in the data.
    Findings,
}

impl NotificationKind {
    pub(crate) const ALL: [NotificationKind; 3] =
        [NotificationKind::State, NotificationKind::Expiry, NotificationKind::Findings];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            NotificationKind::State => "state",
            NotificationKind::Expiry => "expiry",
            NotificationKind::Findings => "findings",
        }
    }
}

/// The feed of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotificationFeed {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The feed's page.
    pub(crate) url: String,
}

/// A notification. A receiver recognizes a repeated one by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notification {
    pub(crate) id: String,
    pub(crate) kind: NotificationKind,
    /// Time of creation, RFC 3339.
    pub(crate) at: String,
    pub(crate) feed: NotificationFeed,
    /// The new state, if the kind is a state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<String>,
    /// The previously announced state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// Start of the state, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    /// The last day of service, if the kind is an expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_service: Option<String>,
    /// Days until then; negative once it has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) days_left: Option<i64>,
    /// The codes of errors that are new or more frequent, if the kind is findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<NewErrorCount>,
    /// The address of the report, if the kind is findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<String>,
    /// A one-line summary.
    pub(crate) title: String,
    /// The reason, as text.
    pub(crate) reason: String,
}

/// A code with more errors than the version before had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewErrorCount {
    pub(crate) code: String,
    pub(crate) before: u64,
    pub(crate) now: u64,
}

impl Notification {
    /// Creates the notification that a feed's state differs from the announced one.
    pub(super) fn new_state_change(
        feed: NotificationFeed,
        status: &FeedStatus,
        previous: FeedState,
        now: UnixMillis,
    ) -> Notification {
        let state = status.state;
        let title = match state {
            FeedState::Ok => format!("{} has recovered", feed.name),
            _ => format!("{} is {state}", feed.name),
        };
        Notification {
            id: notification_id(
                &feed.id,
                NotificationKind::State,
                &format!("{state} {}", status.since.0),
            ),
            kind: NotificationKind::State,
            at: format_rfc3339(now).unwrap_or_default(),
            state: Some(state.to_string()),
            previous: Some(previous.to_string()),
            since: format_rfc3339(status.since),
            last_service: None,
            days_left: None,
            errors: Vec::new(),
            report: None,
            title,
            reason: status.reason.clone(),
            feed,
        }
    }

    /// Creates the notification that a schedule expires, or that it was extended after that was announced. `version` is
    /// the hash of its version.
    pub(super) fn new_schedule_expiry(
        feed: NotificationFeed,
        (last, days_left): (Date, i64),
        version: u128,
        runs_on: bool,
        now: UnixMillis,
    ) -> Notification {
        let name = &feed.name;
        let (title, reason) = match days_left {
            _ if runs_on => {
                (format!("{name} is extended to {last}"), "a new version was published".to_owned())
            }
            ..0 => (
                format!("{name} has expired"),
                format!("the last day of service was {last}, so there are no more departures"),
            ),
            0 => (format!("{name} expires today"), format!("the last day of service is {last}")),
            1 => (format!("{name} expires tomorrow"), format!("the last day of service is {last}")),
            _ => (
                format!("{name} expires in {days_left} days"),
                format!("the last day of service is {last}"),
            ),
        };
        Notification {
            id: notification_id(
                &feed.id,
                NotificationKind::Expiry,
                &format!("{last} {days_left}@{version:x}"),
            ),
            kind: NotificationKind::Expiry,
            at: format_rfc3339(now).unwrap_or_default(),
            state: None,
            previous: None,
            since: None,
            last_service: Some(last.to_string()),
            days_left: Some(days_left),
            errors: Vec::new(),
            report: None,
            title,
            reason,
            feed,
        }
    }

    /// Creates the notification of errors that the previous version did not have; `address` is that of the report.
    /// Returns `None` if there are none.
    pub(super) fn new_dataset_errors(
        feed: NotificationFeed,
        report: &FeedValidationReport,
        address: String,
        now: UnixMillis,
    ) -> Option<Notification> {
        let version = report.subject.dataset_version()?;
        let changes = report.changes.as_ref()?;
        let count = |it: &ChangedCodeCount| NewErrorCount {
            code: it.code.clone(),
            before: it.before,
            now: it.now,
        };
        let errors = changes.new_errors().map(count).collect();
        // A version may return later, with the same errors.
        let version_key = format!("{version}@{}", report.at.0);
        Self::new_errors_notification(feed, &version_key, errors, address, now)
    }

    /// Creates the notification of new errors that several messages in a row have; `address` is that of the report.
    /// Returns `None` if there are none.
    pub(super) fn new_message_errors(
        feed: NotificationFeed,
        report: &FeedValidationReport,
        codes: &[&str],
        address: String,
        now: UnixMillis,
    ) -> Option<Notification> {
        let count = |code: &&str| NewErrorCount {
            code: (*code).to_owned(),
            before: 0,
            now: report.finding_count_for_code(code),
        };
        let errors = codes.iter().map(count).collect();
        let version_key = format!("{}@{}", codes.join(","), report.at.0);
        Self::new_errors_notification(feed, &version_key, errors, address, now)
    }

    fn new_errors_notification(
        feed: NotificationFeed,
        version_key: &str,
        mut errors: Vec<NewErrorCount>,
        address: String,
        now: UnixMillis,
    ) -> Option<Notification> {
        errors.truncate(ERRORS_MAX);
        (!errors.is_empty()).then(|| Notification {
            id: notification_id(&feed.id, NotificationKind::Findings, version_key),
            kind: NotificationKind::Findings,
            at: format_rfc3339(now).unwrap_or_default(),
            state: None,
            previous: None,
            since: None,
            last_service: None,
            days_left: None,
            reason: summarize_errors(&errors),
            errors,
            report: Some(address),
            title: format!("{} has new errors", feed.name),
            feed,
        })
    }

    /// Adds the errors of an undelivered earlier notification of the same feed and kind. Other kinds announce only the
    /// latest news.
    pub(super) fn add_errors_of_earlier(&mut self, earlier: Notification) {
        if self.kind != NotificationKind::Findings {
            return;
        }
        let newer = std::mem::replace(&mut self.errors, earlier.errors);
        for error in newer {
            match self.errors.iter_mut().find(|it| it.code == error.code) {
                Some(known) => known.now = error.now,
                None => self.errors.push(error),
            }
        }
        self.errors.truncate(ERRORS_MAX);
        self.reason = summarize_errors(&self.errors);
    }

    /// Updates the errors by a newer report with `total` findings of each code, drops those that are resolved, and
    /// links that report. Returns true if anything is left.
    pub(super) fn update_errors_from_report(
        &mut self,
        total: impl Fn(&NewErrorCount) -> u64,
        address: &str,
    ) -> bool {
        if self.kind != NotificationKind::Findings {
            return true;
        }
        self.errors.retain_mut(|it| {
            it.now = total(it);
            it.now > it.before
        });
        self.report = Some(address.to_owned());
        self.reason = summarize_errors(&self.errors);
        !self.errors.is_empty()
    }

    /// Removes the errors that an earlier notification of the same feed and kind has delivered meanwhile. Returns true
    /// if anything is left.
    pub(super) fn remove_delivered_errors(&mut self, delivered: &Notification) -> bool {
        if self.kind != NotificationKind::Findings {
            return true;
        }
        for known in &delivered.errors {
            self.errors.retain(|it| it.code != known.code || it.now > known.now);
            let more = self.errors.iter_mut().find(|it| it.code == known.code);
            more.into_iter().for_each(|it| it.before = known.now);
        }
        self.reason = summarize_errors(&self.errors);
        !self.errors.is_empty()
    }

    pub(super) fn to_plain_text(&self) -> String {
        format!("{}: {}. {}", self.title, self.reason, self.report_or_feed_url())
    }

    /// Returns the address of the report or of the feed's page.
    pub(super) fn report_or_feed_url(&self) -> &str {
        self.report.as_deref().unwrap_or(&self.feed.url)
    }
}

/// Names the first errors and the number of further ones.
fn summarize_errors(errors: &[NewErrorCount]) -> String {
    let count_text = |it: &NewErrorCount| match (it.before, it.now) {
        (0, 0) => it.code.clone(),
        (0, now) => format!("{} ({now})", it.code),
        (before, now) => format!("{} ({before} before, now {now})", it.code),
    };
    let named: Vec<String> = errors.iter().take(NAMED_MAX).map(count_text).collect();
    let rest = errors.len().saturating_sub(named.len());
    let and = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("{}{and}", named.join(", "))
}

/// Returns an id that depends only on the feed, the kind and the news.
fn notification_id(feed: &str, kind: NotificationKind, version_key: &str) -> String {
    format!("{:032x}", xxh3_128(format!("{feed}\n{}\n{version_key}", kind.as_str()).as_bytes()))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn about() -> NotificationFeed {
        NotificationFeed {
            id: "city".into(),
            name: "City".into(),
            url: "http://h/feeds/city".into(),
        }
    }

    #[test]
    fn an_expiry_notification_gives_the_remaining_days() {
        let notification = |days, runs_on| {
            let (last, at) = (date(2026, 12, 1), UnixMillis(0));
            Notification::new_schedule_expiry(about(), (last, days), 1, runs_on, at)
        };
        let title = |days| notification(days, false).title;
        assert_eq!(title(30), "City expires in 30 days");
        assert_eq!(title(1), "City expires tomorrow");
        assert_eq!(title(0), "City expires today");
        assert_eq!(title(-3), "City has expired");
        assert_eq!(notification(20, true).title, "City is extended to 2026-12-01");
    }

    #[test]
    fn only_new_errors_cause_a_notification_with_the_report() {
        use lineside_validate::Severity::{Error, Warning};

        use lineside_quality::reports::{ReportChanges, test_report};
        let before = test_report("a", &[("duplicate_key", Error, 2), ("unused_shape", Warning, 1)]);
        let summarize = |found: &[_]| {
            let mut report = test_report("b", found);
            report.changes = ReportChanges::between_reports(&before, &report);
            let address = "http://h/r".to_owned();
            Notification::new_dataset_errors(about(), &report, address, UnixMillis(0))
        };
        assert_eq!(summarize(&[("duplicate_key", Error, 2), ("unused_shape", Warning, 9)]), None);
        assert_eq!(
            summarize(&[("duplicate_key", Error, 1)]),
            None,
            "the number of errors has decreased"
        );
        let worse =
            summarize(&[("duplicate_key", Error, 5), ("missing_required_file", Error, 1)]).unwrap();
        assert_eq!(
            worse.to_plain_text(),
            "City has new errors: duplicate_key (2 before, now 5), missing_required_file (1). http://h/r"
        );
        let first = test_report("b", &[("duplicate_key", Error, 2)]);
        assert_eq!(
            Notification::new_dataset_errors(about(), &first, String::new(), UnixMillis(0)),
            None
        );
    }

    #[test]
    fn a_notification_survives_storage_unchanged() {
        let status = FeedStatus {
            state: FeedState::Failing,
            reason: "http_500: \"no\"".to_owned(),
            ..FeedStatus::default()
        };
        let notification =
            Notification::new_state_change(about(), &status, FeedState::Ok, UnixMillis(9));
        let stored = serde_json::to_string(&notification).unwrap();
        assert!(!stored.contains("last_service"), "{stored}");
        assert_eq!(serde_json::from_str::<Notification>(&stored).unwrap(), notification);
        assert_eq!(
            notification.to_plain_text(),
            "City is failing: http_500: \"no\". http://h/feeds/city"
        );
        let later = Notification::new_state_change(about(), &status, FeedState::Ok, UnixMillis(99));
        assert_eq!(later.id, notification.id, "the same notification");
    }

    #[test]
    fn repeated_errors_are_another_notification() {
        use lineside_validate::Severity::Error;

        use lineside_quality::reports::{ReportChanges, test_report};
        let mut report = test_report("a", &[("duplicate_key", Error, 2)]);
        report.changes = ReportChanges::between_reports(&test_report("b", &[]), &report);
        let notify = |at: i64, now: i64| {
            let report = FeedValidationReport { at: UnixMillis(at), ..report.clone() };
            let address = "http://h/r".to_owned();
            Notification::new_dataset_errors(about(), &report, address, UnixMillis(now)).unwrap().id
        };
        assert_eq!(notify(1, 2), notify(1, 9), "the same report");
        assert_ne!(notify(1, 2), notify(5, 6), "the version was replaced, and was published again");
        let ends = |version: u128, now: i64| {
            let end = (date(2026, 12, 1), 7);
            Notification::new_schedule_expiry(about(), end, version, false, UnixMillis(now)).id
        };
        assert_eq!(ends(1, 2), ends(1, 9));
        assert_ne!(ends(1, 2), ends(5, 6));
    }
}
