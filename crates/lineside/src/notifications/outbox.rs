//! What is to be said to one target, until it has taken it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use lineside_ingest::FeedId;
use lineside_store::{NotificationRow, Store};
use lineside_sync::{Clock, UnixMillis};
use parking_lot::Mutex;
use tokio::sync::Notify;
use xxhash_rust::xxh3::xxh3_64;

use super::Counts;
use super::mail::Mail;
use super::notification::{Kind, Notification};
use super::webhook::Webhook;
use crate::config::{Smtp, Target};
use crate::shutdown::Shutdown;

/// How long a target may take to take a message.
pub(super) const SEND_MAX: Duration = Duration::from_secs(15);
/// What comes within this time goes into one message: where a host fails, all its feeds do.
const GATHER: Duration = Duration::from_secs(5);
/// Notifications of one message.
const BATCH_MAX: usize = 100;
/// How long after the first failure it is tried again; twice as long after each further one.
const RETRY_MIN: Duration = Duration::from_secs(5);
const RETRY_MAX: Duration = Duration::from_secs(600);
/// A notification that nobody took for so long is news no more.
const GIVE_UP: Duration = Duration::from_secs(86_400);

/// How a target is reached.
#[derive(Debug)]
pub(super) struct Way {
    /// What logs call it.
    shown: String,
    by: By,
}

#[derive(Debug)]
enum By {
    Webhook(Box<Webhook>),
    Mail(Box<Mail>),
}

impl Way {
    /// The way to the target of `alert[number]`.
    ///
    /// # Errors
    /// If the target cannot be reached by any means.
    pub(super) fn new(
        target: &Target,
        number: usize,
        smtp: Option<&Smtp>,
        client_name: &str,
    ) -> anyhow::Result<Self> {
        let by = match target {
            Target::Webhook { url, key } => {
                let way = Webhook::new(url.clone(), key.as_ref(), client_name)?;
                By::Webhook(Box::new(way))
            }
            Target::Mail(to) => {
                let smtp = smtp.ok_or_else(|| anyhow::anyhow!("there is no [smtp]"))?;
                By::Mail(Box::new(Mail::new(to.clone(), smtp)?))
            }
        };
        Ok(Self { shown: format!("alert[{number}]"), by })
    }
}

/// By what a target is known in the store, which does not tell where it is.
pub(super) fn key_of(target: &Target) -> String {
    let key = |address: &str| format!("{:016x}", xxh3_64(address.as_bytes()));
    match target {
        Target::Webhook { url, .. } => key(url.reveal()),
        Target::Mail(to) => key(to.email.as_ref()),
    }
}

/// A notification that waits.
#[derive(Debug)]
struct Pending {
    notification: Notification,
    /// Since when.
    at: UnixMillis,
    row: NotificationRow,
}

#[derive(Debug, Default)]
struct State {
    /// At most one of each kind for each feed: what is newer takes the place of what is older.
    pending: BTreeMap<(FeedId, Kind), Pending>,
    failures: u32,
    /// Nothing is sent before.
    not_before: UnixMillis,
}

/// What one target is to be told.
#[derive(Debug)]
pub(super) struct Outbox {
    /// As [`key_of`] has it.
    key: String,
    way: ArcSwap<Way>,
    state: Mutex<State>,
    wake: Notify,
    clock: Arc<dyn Clock>,
    store: Option<Arc<Store>>,
    counts: Arc<Counts>,
}

impl Drop for Outbox {
    /// What a target that is none any more was still to be told waits for nobody.
    fn drop(&mut self) {
        let left = self.state.get_mut().pending.len() as u64;
        self.counts.pending.fetch_sub(left, Ordering::Relaxed);
    }
}

impl Outbox {
    pub(super) fn new(
        key: String,
        way: Way,
        (clock, store, counts): (&Arc<dyn Clock>, Option<&Arc<Store>>, &Arc<Counts>),
    ) -> Self {
        Self {
            key,
            way: ArcSwap::from_pointee(way),
            state: Mutex::default(),
            wake: Notify::new(),
            clock: Arc::clone(clock),
            store: store.cloned(),
            counts: Arc::clone(counts),
        }
    }

    /// The target is reached another way from now on: what was not taken so far is sent at once.
    pub(super) fn reach_by(&self, way: Way) {
        self.way.store(Arc::new(way));
        let mut state = self.state.lock();
        (state.failures, state.not_before) = (0, UnixMillis::default());
        self.wake.notify_one();
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Notes what is said, and that it is still to be sent.
    pub(super) fn put(&self, feed: &FeedId, kind: Kind, word: String, notification: Notification) {
        let at = self.clock.wall();
        let row = NotificationRow {
            target: self.key.clone(),
            feed: feed.clone(),
            kind: kind.as_str().to_owned(),
            word,
            at,
            pending: serde_json::to_string(&notification).ok(),
        };
        self.keep(row.clone());
        self.take(feed.clone(), kind, Pending { notification, at, row });
    }

    /// Takes up what the last start of the server had still to send.
    pub(super) fn restore(&self, kind: Kind, row: NotificationRow) {
        let notification = row.pending.as_deref().and_then(|text| serde_json::from_str(text).ok());
        if let Some(notification) = notification {
            self.take(row.feed.clone(), kind, Pending { notification, at: row.at, row });
        }
    }

    fn take(&self, feed: FeedId, kind: Kind, pending: Pending) {
        if self.state.lock().pending.insert((feed, kind), pending).is_none() {
            self.counts.pending.fetch_add(1, Ordering::Relaxed);
        }
        self.wake.notify_one();
    }

    fn keep(&self, row: NotificationRow) {
        if let Some(store) = &self.store {
            store.keep_notification(row);
        }
    }

    /// Sends what is to be sent until the server stops.
    pub(super) async fn run(self: Arc<Self>, shutdown: Shutdown) {
        loop {
            let Some(until) = self.next() else {
                tokio::select! {
                    () = self.wake.notified() => continue,
                    () = shutdown.draining() => return,
                }
            };
            let wait = until.since(self.clock.wall());
            if !wait.is_zero() {
                tokio::select! {
                    () = self.clock.sleep(wait) => {}
                    () = self.wake.notified() => continue,
                    () = shutdown.draining() => return,
                }
            }
            tokio::select! {
                () = self.send() => {}
                () = shutdown.draining() => return,
            }
        }
    }

    /// When something is to be sent.
    fn next(&self) -> Option<UnixMillis> {
        let state = self.state.lock();
        let first = state.pending.values().map(|pending| pending.at).min()?;
        Some((first + GATHER).max(state.not_before))
    }

    async fn send(&self) {
        let now = self.clock.wall();
        let notifications: Vec<Notification> = {
            let mut state = self.state.lock();
            self.give_up(&mut state, now);
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
        let way = self.way.load_full();
        let sent = match &way.by {
            By::Webhook(webhook) => webhook.send(&notifications, now.seconds()).await,
            By::Mail(mail) => mail.send(&notifications).await,
        };
        match sent {
            Ok(()) => self.sent(&notifications),
            Err(why) => self.failed(&way, &why),
        }
    }

    fn sent(&self, notifications: &[Notification]) {
        let mut state = self.state.lock();
        state.failures = 0;
        // What came meanwhile for the same feed stays.
        let is_sent =
            |pending: &Pending| notifications.iter().any(|it| it.id == pending.notification.id);
        let gone: Vec<_> = state.pending.extract_if(.., |_, pending| is_sent(pending)).collect();
        for (_, pending) in gone {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
            self.counts.sent.fetch_add(1, Ordering::Relaxed);
            self.keep(NotificationRow { pending: None, ..pending.row });
        }
    }

    fn failed(&self, way: &Arc<Way>, why: &str) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        // There is another way meanwhile: this says nothing of it.
        if !Arc::ptr_eq(way, &self.way.load()) {
            return;
        }
        let wait = RETRY_MIN.saturating_mul(1 << state.failures.min(16)).min(RETRY_MAX);
        state.failures = state.failures.saturating_add(1);
        state.not_before = self.clock.wall() + wait;
        tracing::warn!(
            target = way.shown,
            why,
            "notifications were not taken; tried again in {wait:?}"
        );
    }

    fn give_up(&self, state: &mut State, now: UnixMillis) {
        let is_old = |pending: &Pending| now.since(pending.at) > GIVE_UP;
        let old: Vec<_> = state.pending.extract_if(.., |_, pending| is_old(pending)).collect();
        let way = self.way.load();
        for (_, pending) in old {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                target = way.shown,
                notification = pending.notification.title,
                "given up after a day"
            );
            self.keep(NotificationRow { pending: None, ..pending.row });
        }
    }
}
