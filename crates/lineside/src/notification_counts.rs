//! Counters of notifications, for the metrics.

use std::sync::atomic::AtomicU64;

/// The counters of notifications.
#[derive(Debug, Default)]
pub(crate) struct NotificationCounts {
    /// Delivered notifications.
    pub(crate) sent: AtomicU64,
    /// Failed deliveries.
    pub(crate) failed: AtomicU64,
    /// Notifications that were dropped undelivered.
    pub(crate) dropped: AtomicU64,
    /// Pending notifications.
    pub(crate) pending: AtomicU64,
}
