//! The metrics of the partitions.

use lineside_sync::counter::{Counter, Gauge};

use crate::close_reason::ConnectionCloseReason;

/// The counters of all partitions.
#[derive(Debug, Default)]
pub struct PartitionMetrics {
    pub(super) rows: Gauge,
    pub(super) closed: [Counter; ConnectionCloseReason::ALL.len()],
    pub(super) blocked: Counter,
    pub(super) pending_snapshots: Gauge,
    pub(super) pending_connections: Gauge,
}

impl PartitionMetrics {
    /// Returns the number of open connections.
    pub fn connection_count(&self) -> i64 {
        self.rows.get()
    }

    /// Returns the number of connections that ended for this reason.
    pub fn closed_connection_count(&self, why: ConnectionCloseReason) -> u64 {
        self.closed[why as usize].get()
    }

    /// Returns the number of times that a socket did not accept all output.
    pub fn blocked_write_count(&self) -> u64 {
        self.blocked.get()
    }

    /// Returns the number of connections in the partitions' mailboxes.
    pub fn pending_connection_count(&self) -> i64 {
        self.pending_connections.get()
    }

    /// Returns the number of connections that wait for a place to receive a state.
    pub fn waiting_for_state_count(&self) -> i64 {
        self.pending_snapshots.get()
    }
}
