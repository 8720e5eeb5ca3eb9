//! Notifications to operators: a feed is in trouble or has recovered, its timetable expires, or it has new errors.
//!
//! Once a second `feed_watcher` compares each feed with the last announcement to each target (`announcements` decides),
//! and queues news in the target's `outbox`. The outbox sends pending notifications together, by `webhook` or `mail`,
//! and retries until they are accepted. Announcements and pending notifications are in the store if there is one, so
//! that a restart neither repeats nor loses a notification.
//!
//! Any news with a feed, a kind and a reason can be announced this way.

mod mail;
mod notification;
mod outbox;
mod announcements;
mod feed_watcher;
mod webhook;

pub(crate) use feed_watcher::watch_feeds_for_notifications;
