//! Checks all feeds once a second for news to announce.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_config::{AlertConfig, Config};
use lineside_ingest::Feed;
use lineside_model::{FeedId, FeedState};
use lineside_quality::context::ServerContext;
use lineside_quality::reports::{FeedValidationReport, ValidatedSubject};
use lineside_store::NotificationRow;
use lineside_sync::UnixMillis;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::announcements::{self, AnnouncedState, AnnouncementDelays, ExpiryStage};
use super::notification::{NewErrorCount, Notification, NotificationFeed, NotificationKind};
use super::outbox::{self, DeliveryMethod, Outbox};

/// Interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A target, with all alerts that name it: it receives each announcement once.
struct NotificationTarget {
    alerts: Vec<AlertConfig>,
    outbox: Arc<Outbox>,
    /// Ends the delivery task on drop; `None` before it has started.
    outbox_task: Option<DropGuard>,
    states: HashMap<FeedId, AnnouncedState>,
    /// The announced ends of service.
    expiry_stages: HashMap<FeedId, ExpiryStage>,
    /// The versions whose errors were announced.
    announced_versions: HashMap<FeedId, String>,
}

/// The trouble of a feed across several states.
struct TroubleState {
    is_trouble: bool,
    /// Start of the trouble, or of its absence; a paused feed counts as free of trouble.
    since: UnixMillis,
}

struct FeedWatcher {
    context: ServerContext,
    /// The configuration that the targets were created from.
    config: Arc<Config>,
    targets: Vec<NotificationTarget>,
    trouble_states: HashMap<FeedId, TroubleState>,
}

/// Announces changes of feeds to the configured targets, until the server stops.
pub(crate) async fn watch_feeds_for_notifications(context: ServerContext) {
    let mut watch = FeedWatcher::new(context.clone());
    watch.update_targets_from_config();
    watch.restore_announcements_of_new_targets().await;
    watch.start_delivery_to_new_targets();
    while !context.shutdown().is_draining() {
        tokio::select! {
            () = context.clock().sleep(CHECK_INTERVAL) => {}
            () = context.shutdown().wait_until_draining() => return,
        }
        let config = context.config();
        if config.alerts != watch.config.alerts || config.smtp != watch.config.smtp {
            watch.update_targets_from_config();
            watch.restore_announcements_of_new_targets().await;
            watch.start_delivery_to_new_targets();
        }
        // With many feeds and alerts a check takes long, so it runs on a blocking thread.
        let check_feeds = move || {
            watch.announce_changes_of_feeds();
            watch
        };
        watch = match tokio::task::spawn_blocking(check_feeds).await {
            Ok(watch) => watch,
            Err(error) => {
                tracing::error!(%error, "notifications have stopped until the next start: a check crashed");
                return;
            }
        };
    }
}

fn restore_stored_announcement(targets: &mut [NotificationTarget], row: NotificationRow) {
    let Some(kind) = NotificationKind::ALL.into_iter().find(|kind| kind.as_str() == row.kind)
    else {
        return;
    };
    let is_match = |target: &&mut NotificationTarget| {
        target.is_delivery_not_started() && target.outbox.target_key() == row.target
    };
    let Some(target) = targets.iter_mut().find(is_match) else { return };
    match kind {
        NotificationKind::State => {
            let state = FeedState::parse(&row.summary).unwrap_or_default();
            target.states.insert(row.feed.clone(), AnnouncedState { state, at: row.at });
        }
        NotificationKind::Expiry => {
            target
                .expiry_stages
                .insert(row.feed.clone(), ExpiryStage::parse_stored_text(&row.summary));
        }
        NotificationKind::Findings => {
            target.announced_versions.insert(row.feed.clone(), row.summary.clone());
        }
    }
    target.outbox.restore_pending_notification(kind, row);
}

impl NotificationTarget {
    /// Returns true if its delivery has not started in this process.
    fn is_delivery_not_started(&self) -> bool {
        self.outbox_task.is_none()
    }
}

impl FeedWatcher {
    fn new(context: ServerContext) -> Self {
        Self {
            config: context.config(),
            context,
            targets: Vec::new(),
            trouble_states: HashMap::new(),
        }
    }

    /// Updates the targets to the configuration. An existing target keeps its announcements and pending notifications,
    /// even if its transport changes.
    fn update_targets_from_config(&mut self) {
        let config = self.context.config();
        let mut before = std::mem::take(&mut self.targets);
        for (number, alert) in config.alerts.iter().enumerate() {
            self.warn_of_unknown_feeds(number, alert);
            let key = outbox::storage_key(&alert.target);
            let is_match = |target: &NotificationTarget| target.outbox.target_key() == key;
            if let Some(target) = self.targets.iter_mut().find(|target| is_match(target)) {
                target.alerts.push(alert.clone());
                continue;
            }
            let known = before.iter().position(is_match).map(|known| before.swap_remove(known));
            let user_agent = &config.server.user_agent;
            let way = DeliveryMethod::new(&alert.target, number, config.smtp.as_ref(), user_agent);
            let target = match (known, way) {
                (known, Err(error)) => {
                    tracing::error!("alert[{number}]: the target cannot be set up: {error:#}");
                    known
                }
                (Some(known), Ok(method)) => {
                    known.outbox.set_delivery_method(method);
                    Some(known)
                }
                (None, Ok(method)) => Some(self.new_target(key, method)),
            };
            self.targets.extend(
                target.map(|known| NotificationTarget { alerts: vec![alert.clone()], ..known }),
            );
        }
        self.config = config;
    }

    fn new_target(&self, key: String, method: DeliveryMethod) -> NotificationTarget {
        let parts = (
            self.context.clock(),
            self.context.database_store(),
            self.context.notification_counts(),
        );
        NotificationTarget {
            alerts: Vec::new(),
            outbox: Arc::new(Outbox::new(key, method, parts)),
            outbox_task: None,
            states: HashMap::new(),
            expiry_stages: HashMap::new(),
            announced_versions: HashMap::new(),
        }
    }

    /// Warns of misspelt feed ids, which no announcement would match. They are not errors, because admins and the
    /// command line add feeds too.
    fn warn_of_unknown_feeds(&self, number: usize, alert: &AlertConfig) {
        for id in alert.unknown_feed_ids(|id| self.context.ingest().find_feed(id).is_some()) {
            tracing::warn!("alert[{number}].feeds: feed {id:?} does not exist");
        }
    }

    /// Restores the stored announcements of new targets.
    async fn restore_announcements_of_new_targets(&mut self) {
        let has_new = self.targets.iter().any(NotificationTarget::is_delivery_not_started);
        let Some(store) = self.context.database_store().filter(|_| has_new).cloned() else {
            return;
        };
        match tokio::task::spawn_blocking(move || store.list_notifications()).await {
            Ok(Ok(rows)) => {
                rows.into_iter().for_each(|row| restore_stored_announcement(&mut self.targets, row))
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "stored notifications cannot be read, and may be sent again")
            }
            Err(error) => tracing::error!(%error, "reading stored notifications crashed"),
        }
    }

    /// Starts the delivery of new targets.
    fn start_delivery_to_new_targets(&mut self) {
        for target in self.targets.iter_mut().filter(|target| target.is_delivery_not_started()) {
            let stop = self.context.shutdown().clone();
            let ended = CancellationToken::new();
            let sending = Arc::clone(&target.outbox).deliver_until_shutdown(stop);
            tokio::spawn(ended.clone().run_until_cancelled_owned(sending));
            target.outbox_task = Some(ended.drop_guard());
        }
    }

    fn announce_changes_of_feeds(&mut self) {
        let now = self.context.wall_time_now();
        let feeds = self.context.ingest().feeds();
        if self.trouble_states.len() > feeds.len() {
            self.trouble_states.retain(|id, _| feeds.iter().any(|feed| feed.id() == id));
        }
        for feed in &feeds {
            self.announce_state_if_due(feed, now);
            if feed.is_schedule() && !feed.config().paused {
                self.announce_expiry_if_due(feed, now);
            }
            self.announce_new_dataset_errors(feed, now);
        }
    }

    fn announce_state_if_due(&mut self, feed: &Feed, now: UnixMillis) {
        let status = feed.status();
        if feed.config().paused {
            let paused = TroubleState { is_trouble: false, since: now };
            self.trouble_states.insert(feed.id().clone(), paused);
            return;
        }
        // A feed that was just resumed stays paused until its next evaluation.
        if matches!(status.state, FeedState::Unknown | FeedState::Paused) {
            return;
        }
        // The end of a timetable has its own kind of notification.
        let state = if status.state == FeedState::Expired { FeedState::Ok } else { status.state };
        let is_trouble = state.is_problem_state();
        let start_state =
            |since_min: UnixMillis| TroubleState { is_trouble, since: status.since.max(since_min) };
        let trouble_entry = self.trouble_states.entry(feed.id().clone());
        let trouble_state = trouble_entry.or_insert_with(|| start_state(UnixMillis::default()));
        if trouble_state.is_trouble != is_trouble {
            *trouble_state = start_state(trouble_state.since);
        }
        let since = trouble_state.since;
        for target in &mut self.targets {
            let announced_state = target.states.get(feed.id()).copied();
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_state);
            let is_due = alerts.any(|alert| {
                let delays =
                    AnnouncementDelays { state_min: alert.after, quiet_period: alert.quiet };
                announcements::is_state_announcement_due(announced_state, state, since, now, delays)
                    && alert.covers_feed(feed.id().as_str())
            });
            if !is_due {
                continue;
            }
            let previous =
                announced_state.map_or(FeedState::Ok, |announced_state| announced_state.state);
            let notification = Notification::new_state_change(
                to_notified_feed(&self.context, feed),
                &status,
                previous,
                now,
            );
            target.outbox.store_and_queue_notification(
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
    fn announce_new_dataset_errors(&mut self, feed: &Feed, now: UnixMillis) {
        let Some(reports) =
            self.context.latest_validation_reports().latest_reports_of_feed(feed.id().as_str())
        else {
            return;
        };
        if let Some(report) = &reports.realtime {
            self.announce_new_message_errors(feed, report, now);
        }
        let Some(report) = reports.dataset.clone() else { return };
        let Some(version) = report.subject.dataset_version() else { return };
        // Rejected data is announced as the feed's state.
        let is_refused = report.subject.is_rejected_version();
        if report.at < self.context.started_at() || !report.is_all_data_validated() || is_refused {
            return;
        }
        for target in &mut self.targets {
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_findings);
            let is_announced = target
                .announced_versions
                .get(feed.id())
                .is_some_and(|announced_version| announced_version == version);
            if is_announced || !alerts.any(|it| it.covers_feed(feed.id().as_str())) {
                continue;
            }
            // Versions without new errors are recorded too, so that they are checked only once.
            target.announced_versions.insert(feed.id().clone(), version.to_owned());
            let address =
                format!("{}{}", self.context.config().server.base_url(), report.report_path());
            // Pending errors that are resolved meanwhile are dropped.
            target.outbox.revise_or_drop_pending(feed.id(), NotificationKind::Findings, |it| {
                it.update_errors_from_report(
                    |error| report.finding_count_for_code(&error.code),
                    &address,
                )
            });
            let about = to_notified_feed(&self.context, feed);
            let notification = Notification::new_dataset_errors(about, &report, address, now);
            if let Some(notification) = notification {
                target.outbox.store_and_queue_notification(
                    feed.id(),
                    NotificationKind::Findings,
                    version.to_owned(),
                    notification,
                );
            }
        }
    }

    /// Announces errors that messages have persistently, each once until it is resolved.
    fn announce_new_message_errors(
        &mut self,
        feed: &Feed,
        report: &FeedValidationReport,
        now: UnixMillis,
    ) {
        let ValidatedSubject::Realtime { news: new_codes } = &report.subject else { return };
        if report.at < self.context.started_at() || !report.is_validation_finished() {
            return;
        }
        let codes_text = new_codes.join(",");
        for target in &mut self.targets {
            let announced_codes =
                target.announced_versions.get(feed.id()).map_or("", String::as_str);
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_findings);
            if announced_codes == codes_text || !alerts.any(|it| it.covers_feed(feed.id().as_str()))
            {
                continue;
            }
            let is_new = |code: &&String| {
                !announced_codes.split(',').any(|announced_code| announced_code == code.as_str())
            };
            let new: Vec<&str> = new_codes.iter().filter(is_new).map(String::as_str).collect();
            let address =
                format!("{}{}", self.context.config().server.base_url(), report.report_path());
            let is_active = |error: &NewErrorCount| {
                let is_present = new_codes.contains(&error.code);
                if is_present { report.finding_count_for_code(&error.code).max(1) } else { 0 }
            };
            target.outbox.revise_or_drop_pending(feed.id(), NotificationKind::Findings, |it| {
                it.update_errors_from_report(is_active, &address)
            });
            let about = to_notified_feed(&self.context, feed);
            let notification = Notification::new_message_errors(about, report, &new, address, now);
            // Resolved errors are not announced, but may be announced again when they return.
            target.announced_versions.insert(feed.id().clone(), codes_text.clone());
            if let Some(notification) = notification {
                target.outbox.store_and_queue_notification(
                    feed.id(),
                    NotificationKind::Findings,
                    codes_text.clone(),
                    notification,
                );
            }
        }
    }

    fn announce_expiry_if_due(&mut self, feed: &Feed, now: UnixMillis) {
        let Some(window) = feed.service_date_range() else { return };
        let Some(days_left) = window.days_until_end(feed.network().data_time_now()) else { return };
        let last = window.end;
        let version = feed.served_snapshot().map_or(0, |served| served.snapshot().hash);
        for target in &mut self.targets {
            let announced_stage =
                target.expiry_stages.get(feed.id()).copied().unwrap_or(ExpiryStage::Far);
            let mut alerts = target.alerts.iter().filter(|alert| alert.on_expiry);
            if !ExpiryStage::is_expiry_announcement_due(announced_stage, days_left)
                || !alerts.any(|it| it.covers_feed(feed.id().as_str()))
            {
                continue;
            }
            let end = ExpiryStage::from_days_left(days_left);
            let about = to_notified_feed(&self.context, feed);
            let service_end = (last, days_left);
            let notification = Notification::new_schedule_expiry(
                about,
                service_end,
                version,
                end > announced_stage,
                now,
            );
            target.outbox.store_and_queue_notification(
                feed.id(),
                NotificationKind::Expiry,
                end.to_stored_text(),
                notification,
            );
            target.expiry_stages.insert(feed.id().clone(), end);
        }
    }
}

fn to_notified_feed(context: &ServerContext, feed: &Feed) -> NotificationFeed {
    NotificationFeed {
        id: feed.id().to_string(),
        name: feed.config().display_name().to_owned(),
        url: format!("{}/feeds/{}", context.config().server.base_url(), feed.id()),
    }
}
