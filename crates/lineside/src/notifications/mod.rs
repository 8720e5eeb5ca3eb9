//! Notifications: who runs feeds is told when one of them gets into trouble, is well again, runs out of timetable, or has new
//! errors.
//!
//! Once a second the `watch` compares how each feed is with what each target was told of it last (`said` decides), and
//! puts what is new into the target's `outbox`. That sends it, several at once where there are several, by `webhook` or
//! `mail`, and tries again until it is taken. What was said, and what is still to be said, is in the store where there is
//! one: a restart neither repeats nor forgets a notification.
//!
//! Anything that has a feed, a kind and a reason can be said this way.

mod mail;
mod notification;
mod outbox;
mod announcements;
mod feed_watcher;
mod webhook;

use std::sync::atomic::AtomicU64;

pub(crate) use feed_watcher::watch_feeds;

/// What the notifications count.
#[derive(Debug, Default)]
pub(crate) struct NotificationCounts {
    /// Notifications that a target has taken.
    pub(crate) sent: AtomicU64,
    /// Attempts to send that failed.
    pub(crate) failed: AtomicU64,
    /// Notifications that were given up.
    pub(crate) lost: AtomicU64,
    /// Notifications that wait.
    pub(crate) pending: AtomicU64,
}
