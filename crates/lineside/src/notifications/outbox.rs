//! The undelivered notifications of one target.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use lineside_config::{AlertTarget, SmtpConfig};
use lineside_model::FeedId;
use lineside_quality::notification_counts::NotificationCounts;
use lineside_quality::shutdown::Shutdown;
use lineside_store::{NotificationRow, Store};
use lineside_sync::{Clock, UnixMillis};
use parking_lot::Mutex;
use tokio::sync::Notify;
use xxhash_rust::xxh3::xxh3_64;

use super::mail::MailSender;
use super::notification::{Notification, NotificationKind};
use super::webhook::WebhookSender;

/// Timeout of a delivery.
pub(super) const SEND_MAX: Duration = Duration::from_secs(15);
/// Notifications within this time share a message: if a host fails, all its feeds do.
const BATCH_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of notifications in a message.
const BATCH_MAX: usize = 100;
/// Delay of the first retry; it doubles with each further failure.
const RETRY_MIN: Duration = Duration::from_secs(5);
const RETRY_MAX: Duration = Duration::from_secs(600);
/// An undelivered notification is dropped after this time.
const EXPIRY: Duration = Duration::from_secs(86_400);

/// The transport of messages to a target.
#[derive(Debug)]
pub(super) struct DeliveryMethod {
    /// The target's name in logs.
    display_name: String,
    transport: DeliveryTransport,
}

#[derive(Debug)]
enum DeliveryTransport {
    Webhook(Box<WebhookSender>),
    Mail(Box<MailSender>),
}

impl DeliveryMethod {
    /// Creates the transport to the target of `alert[number]`.
    ///
    /// # Errors
    /// Returns an error if no transport to the target can be set up.
    pub(super) fn new(
        target: &AlertTarget,
        number: usize,
        smtp: Option<&SmtpConfig>,
        user_agent: &str,
    ) -> anyhow::Result<Self> {
        let transport = match target {
            AlertTarget::Webhook { url, key } => {
                let way = WebhookSender::new(url.clone(), key.as_ref(), user_agent)?;
                DeliveryTransport::Webhook(Box::new(way))
            }
            AlertTarget::Mail(to) => {
                let smtp =
                    smtp.ok_or_else(|| anyhow::anyhow!("the configuration has no [smtp]"))?;
                DeliveryTransport::Mail(Box::new(MailSender::new(to.clone(), smtp)?))
            }
        };
        Ok(Self { display_name: format!("alert[{number}]"), transport })
    }
}

/// Returns the target's key in the store, which does not reveal its address.
pub(super) fn storage_key(target: &AlertTarget) -> String {
    let key = |address: &str| format!("{:016x}", xxh3_64(address.as_bytes()));
    match target {
        AlertTarget::Webhook { url, .. } => key(url.reveal()),
        AlertTarget::Mail(to) => key(to.email.as_ref()),
    }
}

#[derive(Debug)]
struct PendingNotification {
    notification: Notification,
    /// Time at which it was queued.
    at: UnixMillis,
    row: NotificationRow,
}

#[derive(Debug, Default)]
struct OutboxState {
    /// At most one notification of each kind for each feed: a newer one replaces it and takes over its undelivered
    /// errors.
    pending: BTreeMap<(FeedId, NotificationKind), PendingNotification>,
    failures: u32,
    /// Nothing is sent before this time.
    not_before: UnixMillis,
}

/// The pending notifications of one target.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The target's [`storage_key`].
    key: String,
    delivery_method: ArcSwap<DeliveryMethod>,
    state: Mutex<OutboxState>,
    wake: Notify,
    clock: Arc<dyn Clock>,
    store: Option<Arc<Store>>,
    counts: Arc<NotificationCounts>,
}

impl Drop for Outbox {
    /// Subtracts the notifications of a removed target from the pending ones.
    fn drop(&mut self) {
        let left = self.state.get_mut().pending.len() as u64;
        self.counts.pending.fetch_sub(left, Ordering::Relaxed);
    }
}

impl Outbox {
    pub(super) fn new(
        key: String,
        method: DeliveryMethod,
        (clock, store, counts): (&Arc<dyn Clock>, Option<&Arc<Store>>, &Arc<NotificationCounts>),
    ) -> Self {
        Self {
            key,
            delivery_method: ArcSwap::from_pointee(method),
            state: Mutex::default(),
            wake: Notify::new(),
            clock: Arc::clone(clock),
            store: store.cloned(),
            counts: Arc::clone(counts),
        }
    }

    /// Replaces the transport, and retries pending notifications at once.
    pub(super) fn set_delivery_method(&self, method: DeliveryMethod) {
        self.delivery_method.store(Arc::new(method));
        let mut state = self.state.lock();
        (state.failures, state.not_before) = (0, UnixMillis::default());
        self.wake.notify_one();
    }

    pub(super) fn target_key(&self) -> &str {
        &self.key
    }

    /// Stores an announcement and queues its notification.
    pub(super) fn store_and_queue_notification(
        &self,
        feed: &FeedId,
        kind: NotificationKind,
        version_key: String,
        mut notification: Notification,
    ) {
        let mut state = self.state.lock();
        let earlier = state.pending.remove(&(feed.clone(), kind));
        self.counts.pending.fetch_sub(u64::from(earlier.is_some()), Ordering::Relaxed);
        if let Some(earlier) = earlier {
            notification.add_errors_of_earlier(earlier.notification);
        }
        let at = self.clock.wall_time();
        let row = NotificationRow {
            target: self.key.clone(),
            feed: feed.clone(),
            kind: kind.as_str().to_owned(),
            summary: version_key,
            at,
            pending: serde_json::to_string(&notification).ok(),
        };
        self.store_notification_row(row.clone());
        self.queue_pending(
            &mut state,
            (feed.clone(), kind),
            PendingNotification { notification, at, row },
        );
    }

    /// Revises the pending notification of a feed; drops it if `revise` returns false.
    pub(super) fn revise_or_drop_pending(
        &self,
        feed: &FeedId,
        kind: NotificationKind,
        revise: impl FnOnce(&mut Notification) -> bool,
    ) {
        let mut state = self.state.lock();
        let pending_key = (feed.clone(), kind);
        let Some(pending) = state.pending.get_mut(&pending_key) else { return };
        if revise(&mut pending.notification) {
            pending.row.pending = serde_json::to_string(&pending.notification).ok();
            self.store_notification_row(pending.row.clone());
        } else if let Some(pending) = state.pending.remove(&pending_key) {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
            self.store_notification_row(NotificationRow { pending: None, ..pending.row });
        }
    }

    /// Restores a notification that was still pending when the server last stopped.
    pub(super) fn restore_pending_notification(
        &self,
        kind: NotificationKind,
        row: NotificationRow,
    ) {
        let notification = row.pending.as_deref().and_then(|text| serde_json::from_str(text).ok());
        if let Some(notification) = notification {
            let (pending_key, mut state) = ((row.feed.clone(), kind), self.state.lock());
            self.queue_pending(
                &mut state,
                pending_key,
                PendingNotification { notification, at: row.at, row },
            );
        }
    }

    fn queue_pending(
        &self,
        state: &mut OutboxState,
        pending_key: (FeedId, NotificationKind),
        pending: PendingNotification,
    ) {
        if state.pending.insert(pending_key, pending).is_none() {
            self.counts.pending.fetch_add(1, Ordering::Relaxed);
        }
        self.wake.notify_one();
    }

    fn store_notification_row(&self, row: NotificationRow) {
        if let Some(store) = &self.store {
            store.store_notification(row);
        }
    }

    /// Sends pending notifications until the server stops.
    pub(super) async fn deliver_until_shutdown(self: Arc<Self>, shutdown: Shutdown) {
        loop {
            let Some(until) = self.next_delivery_time() else {
                tokio::select! {
                    () = self.wake.notified() => continue,
                    () = shutdown.wait_until_draining() => return,
                }
            };
            let wait = until.duration_since(self.clock.wall_time());
            if !wait.is_zero() {
                tokio::select! {
                    () = self.clock.sleep(wait) => {}
                    () = self.wake.notified() => continue,
                    () = shutdown.wait_until_draining() => return,
                }
            }
            tokio::select! {
                () = self.deliver_pending_batch() => {}
                () = shutdown.wait_until_draining() => return,
            }
        }
    }

    /// Returns the time of the next delivery.
    fn next_delivery_time(&self) -> Option<UnixMillis> {
        let state = self.state.lock();
        let first = state.pending.values().map(|pending| pending.at).min()?;
        Some((first + BATCH_INTERVAL).max(state.not_before))
    }

    async fn deliver_pending_batch(&self) {
        let now = self.clock.wall_time();
        let notifications: Vec<Notification> = {
            let mut state = self.state.lock();
            self.drop_expired_pending(&mut state, now);
            state
                .pending
                .values()
                .take(BATCH_MAX)
                .map(|pending| pending.notification.clone())
                .collect()
        };
        if notifications.is_empty() {
            return;
        }
        let method = self.delivery_method.load_full();
        let sent = match &method.transport {
            DeliveryTransport::Webhook(webhook) => {
                webhook.post_notifications(&notifications, now.unix_seconds()).await
            }
            DeliveryTransport::Mail(mail) => mail.send_as_mail(&notifications).await,
        };
        match sent {
            Ok(()) => self.record_delivered(&notifications),
            Err(why) => self.record_failure_and_delay_retry(&method, &why),
        }
    }

    fn record_delivered(&self, notifications: &[Notification]) {
        let mut state = self.state.lock();
        state.failures = 0;
        let sent_keys = state
            .pending
            .extract_if(.., |_, pending| self.remove_delivered_errors_from(pending, notifications));
        for (_, pending) in sent_keys.collect::<Vec<_>>() {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
            self.counts.sent.fetch_add(1, Ordering::Relaxed);
            self.store_notification_row(NotificationRow { pending: None, ..pending.row });
        }
    }

    /// Returns true if a pending notification is fully delivered. A newer one for the same feed stays, without the
    /// errors that were just sent.
    fn remove_delivered_errors_from(
        &self,
        pending: &mut PendingNotification,
        sent: &[Notification],
    ) -> bool {
        let pending_notification = &mut pending.notification;
        let is_about = |it: &&Notification| {
            it.kind == pending_notification.kind && it.feed.id == pending_notification.feed.id
        };
        let Some(delivered) = sent.iter().find(is_about) else { return false };
        if delivered.id == pending_notification.id
            || !pending_notification.remove_delivered_errors(delivered)
        {
            return true;
        }
        pending.row.pending = serde_json::to_string(pending_notification).ok();
        self.store_notification_row(pending.row.clone());
        false
    }

    fn record_failure_and_delay_retry(&self, method: &Arc<DeliveryMethod>, why: &str) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        // The transport was replaced meanwhile, so the failure does not concern it.
        if !Arc::ptr_eq(method, &self.delivery_method.load()) {
            return;
        }
        let wait = RETRY_MIN.saturating_mul(1 << state.failures.min(16)).min(RETRY_MAX);
        state.failures = state.failures.saturating_add(1);
        state.not_before = self.clock.wall_time() + wait;
        tracing::warn!(
            target = method.display_name,
            why,
            "notifications were not delivered; retrying in {wait:?}"
        );
    }

    fn drop_expired_pending(&self, state: &mut OutboxState, now: UnixMillis) {
        let is_old = |pending: &PendingNotification| now.duration_since(pending.at) > EXPIRY;
        let old: Vec<_> = state.pending.extract_if(.., |_, pending| is_old(pending)).collect();
        let method = self.delivery_method.load();
        for (_, pending) in old {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                target = method.display_name,
                notification = pending.notification.title,
                "a notification is dropped, because it was not delivered within a day"
            );
            self.store_notification_row(NotificationRow { pending: None, ..pending.row });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use lineside_model::Secret;
    use lineside_sync::SimulatedClock;
    use lineside_validate::Severity::Error;
    use serde_json::{Value, json};

    use super::super::notification::{NewErrorCount, NotificationFeed};
    use super::*;
    use lineside_quality::reports::test_report;

    /// A test receiver that accepts messages while it is well, and records them.
    struct Hook {
        is_accepting: Arc<AtomicBool>,
        sent: Arc<Mutex<Vec<Value>>>,
        outbox: Outbox,
        counts: Arc<NotificationCounts>,
    }

    impl Hook {
        async fn new() -> Hook {
            let is_well = Arc::new(AtomicBool::new(false));
            let sent: Arc<Mutex<Vec<Value>>> = Arc::default();
            let (is_accepting, sent_bodies) = (Arc::clone(&is_well), Arc::clone(&sent));
            let take = move |body: String| {
                sent_bodies.lock().push(serde_json::from_str(&body).unwrap_or_default());
                let status = match is_accepting.load(Ordering::Acquire) {
                    true => StatusCode::OK,
                    false => StatusCode::INTERNAL_SERVER_ERROR,
                };
                std::future::ready(status)
            };
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let url = format!("http://{}/hook", listener.local_addr().unwrap());
            let router = Router::new().route("/hook", post(take));
            tokio::spawn(async move { axum::serve(listener, router).await });
            let target = AlertTarget::Webhook { url: Secret::new(url), key: None };
            let method = DeliveryMethod::new(&target, 0, None, "lineside").unwrap();
            let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::new(UnixMillis(9_000)));
            let counts = Arc::default();
            let outbox = Outbox::new(storage_key(&target), method, (&clock, None, &counts));
            Hook { is_accepting: is_well, sent, outbox, counts }
        }

        /// Announces these errors.
        fn put(&self, found: &[(&str, u64)]) {
            let findings: Vec<_> = found.iter().map(|(code, n)| (*code, Error, *n)).collect();
            let codes: Vec<&str> = found.iter().map(|(code, _)| *code).collect();
            let mut report = test_report("a", &findings);
            report.at = UnixMillis(found.iter().map(|(_, n)| *n as i64).sum());
            let feed = NotificationFeed {
                id: "city".into(),
                name: "City".into(),
                url: "http://h/".into(),
            };
            let address = "http://h/r".to_owned();
            let notification =
                Notification::new_message_errors(feed, &report, &codes, address, UnixMillis(0))
                    .unwrap();
            let city = FeedId::new("city").unwrap();
            self.outbox.store_and_queue_notification(
                &city,
                NotificationKind::Findings,
                codes.join(","),
                notification,
            );
        }

        /// Returns the errors and the reason of the latest message.
        async fn send_and_list(&self) -> (Value, Value) {
            self.outbox.deliver_pending_batch().await;
            let sent = self.sent.lock().last().cloned().unwrap_or_default();
            let first = &sent["notifications"][0];
            (first["errors"].clone(), first["reason"].clone())
        }
    }

    fn error(code: &str, now: u64) -> Value {
        json!({"code": code, "before": 0, "now": now})
    }

    #[tokio::test]
    async fn undelivered_errors_are_merged_with_later_ones() {
        let hook = Hook::new().await;
        hook.put(&[("E003", 2)]);
        hook.put(&[("E011", 1)]);
        assert_eq!(hook.send_and_list().await.0, json!([error("E003", 2), error("E011", 1)]));
        hook.put(&[("E004", 7), ("E003", 5)]);
        hook.is_accepting.store(true, Ordering::Release);
        let (errors, reason) = hook.send_and_list().await;
        assert_eq!(errors, json!([error("E003", 5), error("E011", 1), error("E004", 7)]));
        assert_eq!(reason, "E003 (5), E011 (1), E004 (7)");
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let counts = (count(&hook.counts.sent), count(&hook.counts.failed));
        assert_eq!((counts, count(&hook.counts.pending)), ((1, 1), 0));
        // Delivered errors are not repeated.
        hook.put(&[("E016", 1)]);
        assert_eq!(hook.send_and_list().await.0, json!([error("E016", 1)]));
    }

    #[tokio::test]
    async fn errors_fixed_before_delivery_are_not_delivered() {
        let hook = Hook::new().await;
        let city = FeedId::new("city").unwrap();
        let newest = |found: &'static [(&str, u64)]| {
            move |it: &mut Notification| {
                let total = |error: &NewErrorCount| {
                    found.iter().find(|(code, _)| *code == error.code).map_or(0, |(_, n)| *n)
                };
                it.update_errors_from_report(total, "http://h/newest")
            }
        };
        hook.put(&[("E003", 2), ("E011", 1)]);
        hook.outbox.revise_or_drop_pending(
            &city,
            NotificationKind::Findings,
            newest(&[("E003", 1)]),
        );
        assert_eq!(hook.send_and_list().await, (json!([error("E003", 1)]), json!("E003 (1)")));
        let sent = hook.sent.lock().last().cloned().unwrap();
        assert_eq!(sent["notifications"][0]["report"], "http://h/newest");
        hook.outbox.revise_or_drop_pending(&city, NotificationKind::Findings, newest(&[]));
        assert_eq!(hook.counts.pending.load(Ordering::Relaxed), 0);
        assert!(hook.outbox.state.lock().pending.is_empty());
    }

    #[tokio::test]
    async fn errors_added_during_a_delivery_wait_separately() {
        let hook = Hook::new().await;
        hook.put(&[("E003", 2)]);
        let pending = |hook: &Hook| -> Vec<Notification> {
            let state = hook.outbox.state.lock();
            state.pending.values().map(|it| it.notification.clone()).collect()
        };
        let unsent = pending(&hook);
        hook.put(&[("E011", 1)]);
        hook.outbox.record_delivered(&unsent);
        let codes = |hook: &Hook| -> Vec<String> {
            let all = pending(hook).into_iter().flat_map(|it| it.errors);
            all.map(|error| error.code).collect()
        };
        assert_eq!(codes(&hook), ["E011"]);
        assert_eq!(hook.counts.pending.load(Ordering::Relaxed), 1);
        let row = |hook: &Hook| {
            let state = hook.outbox.state.lock();
            state.pending.values().next().and_then(|it| it.row.pending.clone())
        };
        assert!(!row(&hook).unwrap().contains("E003"), "a delivered error is not stored");
    }
}
