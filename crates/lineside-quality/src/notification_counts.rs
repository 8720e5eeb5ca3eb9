//! Counters of notifications, for the metrics.

use std::sync::atomic::AtomicU64;

/// The counters of notifications.
#[derive(Debug, Default)]
pub struct NotificationCounts {
    /// Delivered notifications.
    pub sent: AtomicU64,
    /// Failed deliveries.
    pub failed: AtomicU64,
    /// Notifications that were dropped undelivered.
    pub dropped: AtomicU64,
    pub pending: AtomicU64,
}
