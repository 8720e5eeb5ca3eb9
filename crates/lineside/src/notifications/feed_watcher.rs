//! Checks all feeds once a second for news to announce.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_ingest::{Feed, FeedId, FeedState};
use lineside_store::NotificationRow;
use lineside_sync::UnixMillis;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::announcements::{self, AnnouncedState, AnnouncementDelays, ExpiryStage};
use super::notification::{ErrorCount, Notification, NotificationKind, NotifiedFeed};
use super::outbox::{self, DeliveryMethod, Outbox};
use crate::app::App;
use crate::config::{AlertConfig, Config};
use crate::reports::{ReportSubject, ValidationReport};

/// Interval between two checks.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A target, with all alerts that name it: it receives each announcement once.
struct NotificationTarget {
    alerts: Vec<AlertConfig>,
    outbox: Arc<Outbox>,
    /// Ends the delivery task on drop; `None` before it has started.
    sending: Option<DropGuard>,
    /// The announced states.
    states: HashMap<FeedId, AnnouncedState>,
    /// The announced ends of service.
    ends: HashMap<FeedId, ExpiryStage>,
    /// The versions whose errors were announced.
    found: HashMap<FeedId, String>,
}

/// The trouble of a feed across several states.
struct TroubleState {
    is_trouble: bool,
    /// Start of the trouble, or of its absence; a paused feed counts as free of trouble.
    since: UnixMillis,
}

struct FeedWatcher {
    app: App,
    /// The configuration that the targets were created from.
    config: Arc<Config>,
    targets: Vec<NotificationTarget>,
    courses: HashMap<FeedId, TroubleState>,
}

/// Announces changes of feeds to the configured targets, until the server stops.
pub(crate) async fn watch_feeds(app: App) {
    let mut watch = FeedWatcher::new(app.clone());
    watch.update_targets();
    watch.restore_new_targets().await;
    watch.start_outboxes();
    while !app.shutdown().is_draining() {
        tokio::select! {
            () = app.clock().sleep(LOOK_INTERVAL) => {}
            () = app.shutdown().wait_until_draining() => return,
        }
        let config = app.config();
        if config.alerts != watch.config.alerts || config.smtp != watch.config.smtp {
            watch.update_targets();
            watch.restore_new_targets().await;
            watch.start_outboxes();
        }
        // With many feeds and alerts a check takes long, so it runs on a blocking thread.
        let look = move || {
            watch.check_feeds();
            watch
        };
        watch = match tokio::task::spawn_blocking(look).await {
            Ok(watch) => watch,
            Err(error) => {
                tracing::error!(%error, "notifications have stopped until the next start: a check crashed");
                return;
            }
        };
    }
}

fn restore_announcement(targets: &mut [NotificationTarget], row: NotificationRow) {
    let Some(kind) = NotificationKind::ALL.into_iter().find(|kind| kind.as_str() == row.kind)
    else {
        return;
    };
    let is_it = |target: &&mut NotificationTarget| {
        target.is_new_target() && target.outbox.target_key() == row.target
    };
    let Some(target) = targets.iter_mut().find(is_it) else { return };
    match kind {
        NotificationKind::State => {
            let state = FeedState::parse(&row.word).unwrap_or_default();
            target.states.insert(row.feed.clone(), AnnouncedState { state, at: row.at });
        }
        NotificationKind::Expiry => {
            target.ends.insert(row.feed.clone(), ExpiryStage::parse_stored(&row.word));
        }
        NotificationKind::Findings => {
            target.found.insert(row.feed.clone(), row.word.clone());
        }
    }
    target.outbox.restore_pending(kind, row);
}

impl NotificationTarget {
    /// Returns true if its delivery has not started in this process.
    fn is_new_target(&self) -> bool {
        self.sending.is_none()
    }
}

impl FeedWatcher {
    fn new(app: App) -> Self {
        Self { config: app.config(), app, targets: Vec::new(), courses: HashMap::new() }
    }

    /// Updates the targets to the configuration. An existing target keeps its announcements and pending notifications,
    /// even if its transport changes.
    fn update_targets(&mut self) {
        let config = self.app.config();
        let mut before = std::mem::take(&mut self.targets);
        for (number, alert) in config.alerts.iter().enumerate() {
            self.warn_unknown_feeds(number, alert);
            let key = outbox::storage_key(&alert.target);
            let is_it = |target: &NotificationTarget| target.outbox.target_key() == key;
            if let Some(target) = self.targets.iter_mut().find(|target| is_it(target)) {
                target.alerts.push(alert.clone());
                continue;
            }
            let known = before.iter().position(is_it).map(|known| before.swap_remove(known));
            let user_agent = &config.server.user_agent;
            let way = DeliveryMethod::new(&alert.target, number, config.smtp.as_ref(), user_agent);
            let target = match (known, way) {
                (known, Err(error)) => {
                    tracing::error!("alert[{number}]: the target cannot be set up: {error:#}");
                    known
                }
                (Some(known), Ok(way)) => {
                    known.outbox.set_delivery_method(way);
                    Some(known)
                }
                (None, Ok(way)) => Some(self.create_target(key, way)),
            };
            self.targets.extend(
                target.map(|known| NotificationTarget { alerts: vec![alert.clone()], ..known }),
            );
        }
        self.config = config;
    }

    fn create_target(&self, key: String, way: DeliveryMethod) -> NotificationTarget {
        let parts = (self.app.clock(), self.app.store(), self.app.notification_counts());
        NotificationTarget {
            alerts: Vec::new(),
            outbox: Arc::new(Outbox::new(key, way, parts)),
            sending: None,
            states: HashMap::new(),
            ends: HashMap::new(),
            found: HashMap::new(),
        }
    }

    /// Warns of misspelt feed ids, which no announcement would match. They are not errors, because admins and the
    /// command line add feeds too.
    fn warn_unknown_feeds(&self, number: usize, alert: &AlertConfig) {
        for id in alert.unknown_feed_ids(|id| self.app.ingest().find_feed(id).is_some()) {
            tracing::warn!("alert[{number}].feeds: feed {id:?} does not exist");
        }
    }

    /// Restores the stored announcements of new targets.
    async fn restore_new_targets(&mut self) {
        let has_new = self.targets.iter().any(NotificationTarget::is_new_target);
        let Some(store) = self.app.store().filter(|_| has_new).cloned() else { return };
        match tokio::task::spawn_blocking(move || store.list_notifications()).await {
            Ok(Ok(rows)) => {
                rows.into_iter().for_each(|row| restore_announcement(&mut self.targets, row))
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "stored notifications cannot be read, and may be sent again")
            }
            Err(error) => tracing::error!(%error, "reading stored notifications crashed"),
        }
    }

    /// Starts the delivery of new targets.
    fn start_outboxes(&mut self) {
        for target in self.targets.iter_mut().filter(|target| target.is_new_target()) {
            let stop = self.app.shutdown().clone();
            let ended = CancellationToken::new();
            let sending = Arc::clone(&target.outbox).run_delivery(stop);
            tokio::spawn(ended.clone().run_until_cancelled_owned(sending));
            target.sending = Some(ended.drop_guard());
        }
    }

    fn check_feeds(&mut self) {
        let now = self.app.now();
        let feeds = self.app.ingest().feeds();
        if self.courses.len() > feeds.len() {
            self.courses.retain(|id, _| feeds.iter().any(|feed| feed.id() == id));
        }
        for feed in &feeds {
            self.check_state(feed, now);
            if feed.is_schedule() && !feed.config().paused {
                self.check_expiry(feed, now);
            }
            self.check_findings(feed, now);
        }
    }

    fn check_state(&mut self, feed: &Feed, now: UnixMillis) {
        let status = feed.status();
        if feed.config().paused {
            let paused = TroubleState { is_trouble: false, since: now };
            self.courses.insert(feed.id().clone(), paused);
            return;
        }
        // A feed that was just resumed stays paused until its next evaluation.
        if matches!(status.state, FeedState::Unknown | FeedState::Paused) {
            return;
        }
        // The end of a timetable has its own kind of notification.
        let state = if status.state == FeedState::Expired { FeedState::Ok } else { status.state };
        let is_trouble = state.is_trouble();
        let begin = |least: UnixMillis| TroubleState { is_trouble, since: status.since.max(least) };
        let courses = self.courses.entry(feed.id().clone());
        let course = courses.or_insert_with(|| begin(UnixMillis::default()));
        if course.is_trouble != is_trouble {
            *course = begin(course.since);
        }
        let since = course.since;
        for target in &mut self.targets {
            let said = target.states.get(feed.id()).copied();
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_state);
            let is_due = alerts.any(|alert| {
                let patience = AnnouncementDelays { after: alert.after, quiet: alert.quiet };
                announcements::is_state_due(said, state, since, now, patience)
                    && alert.covers_feed(feed.id().as_str())
            });
            if !is_due {
                continue;
            }
            let previous = said.map_or(FeedState::Ok, |said| said.state);
            let notification = Notification::for_state_change(
                notified_feed(&self.app, feed),
                &status,
                previous,
                now,
            );
            target.outbox.enqueue_notification(
                feed.id(),
                NotificationKind::State,
                state.to_string(),
                notification,
            );
            target.states.insert(feed.id().clone(), AnnouncedState { state, at: now });
        }
    }

    /// Announces new errors in new data, once. Reports from before the start of this server were announced by an
    /// earlier process, or had no target. Unreadable data is announced as the feed's state.
    fn check_findings(&mut self, feed: &Feed, now: UnixMillis) {
        let Some(reports) = self.app.reports().feed_reports(feed.id().as_str()) else { return };
        if let Some(report) = &reports.realtime {
            self.check_messages(feed, report, now);
        }
        let Some(report) = reports.dataset.clone() else { return };
        let Some(version) = report.subject.version() else { return };
        // Rejected data is announced as the feed's state.
        let is_refused = report.subject.is_rejected();
        if report.at < self.app.started_at() || !report.is_complete() || is_refused {
            return;
        }
        for target in &mut self.targets {
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_findings);
            let is_said = target.found.get(feed.id()).is_some_and(|said| said == version);
            if is_said || !alerts.any(|it| it.covers_feed(feed.id().as_str())) {
                continue;
            }
            // Versions without new errors are recorded too, so that they are checked only once.
            target.found.insert(feed.id().clone(), version.to_owned());
            let address =
                format!("{}{}", self.app.config().server.base_url(), report.report_path());
            // Pending errors that are resolved meanwhile are dropped.
            target.outbox.revise_pending(feed.id(), NotificationKind::Findings, |it| {
                it.refresh_errors(|error| report.total_for_code(&error.code), &address)
            });
            let about = notified_feed(&self.app, feed);
            let notification = Notification::for_findings(about, &report, address, now);
            if let Some(notification) = notification {
                target.outbox.enqueue_notification(
                    feed.id(),
                    NotificationKind::Findings,
                    version.to_owned(),
                    notification,
                );
            }
        }
    }

    /// Announces errors that messages have persistently, each once until it is resolved.
    fn check_messages(&mut self, feed: &Feed, report: &ValidationReport, now: UnixMillis) {
        let ReportSubject::Realtime { news } = &report.subject else { return };
        if report.at < self.app.started_at() || !report.is_conclusive() {
            return;
        }
        let word = news.join(",");
        for target in &mut self.targets {
            let said = target.found.get(feed.id()).map_or("", String::as_str);
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_findings);
            if said == word || !alerts.any(|it| it.covers_feed(feed.id().as_str())) {
                continue;
            }
            let is_new = |code: &&String| !said.split(',').any(|said| said == code.as_str());
            let new: Vec<&str> = news.iter().filter(is_new).map(String::as_str).collect();
            let address =
                format!("{}{}", self.app.config().server.base_url(), report.report_path());
            let stands = |error: &ErrorCount| {
                let is_there = news.contains(&error.code);
                if is_there { report.total_for_code(&error.code).max(1) } else { 0 }
            };
            target.outbox.revise_pending(feed.id(), NotificationKind::Findings, |it| {
                it.refresh_errors(stands, &address)
            });
            let about = notified_feed(&self.app, feed);
            let notification = Notification::for_messages(about, report, &new, address, now);
            // Resolved errors are not announced, but may be announced again when they return.
            target.found.insert(feed.id().clone(), word.clone());
            if let Some(notification) = notification {
                target.outbox.enqueue_notification(
                    feed.id(),
                    NotificationKind::Findings,
                    word.clone(),
                    notification,
                );
            }
        }
    }

    fn check_expiry(&mut self, feed: &Feed, now: UnixMillis) {
        let Some(window) = feed.service_window() else { return };
        let Some(days_left) = window.days_left(feed.network().data_now()) else { return };
        let last = window.end;
        let version = feed.current().map_or(0, |held| held.snapshot().hash);
        for target in &mut self.targets {
            let said = target.ends.get(feed.id()).copied().unwrap_or(ExpiryStage::Far);
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_expiry);
            if !ExpiryStage::is_announcement_due(said, days_left)
                || !alerts.any(|it| it.covers_feed(feed.id().as_str()))
            {
                continue;
            }
            let end = ExpiryStage::from_days_left(days_left);
            let about = notified_feed(&self.app, feed);
            let end_of = (last, days_left);
            let notification = Notification::for_expiry(about, end_of, version, end > said, now);
            target.outbox.enqueue_notification(
                feed.id(),
                NotificationKind::Expiry,
                end.stored_word(),
                notification,
            );
            target.ends.insert(feed.id().clone(), end);
        }
    }
}

fn notified_feed(app: &App, feed: &Feed) -> NotifiedFeed {
    NotifiedFeed {
        id: feed.id().to_string(),
        name: feed.config().display_name().to_owned(),
        url: format!("{}/feeds/{}", app.config().server.base_url(), feed.id()),
    }
}
