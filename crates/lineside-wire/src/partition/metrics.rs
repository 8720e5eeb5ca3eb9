//! What the partitions have done, read by the program.

use lineside_sync::counter::{Counter, Gauge};

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CloseReason {
    /// The client went, or its connection broke.
    Client,
    /// The server stops.
    Shutdown,
    /// It took nothing for too long, or missed too much in a row.
    Slow,
    /// It did not answer a ping.
    NoPong,
    /// It broke the protocol.
    Protocol,
    /// It asked for too much at once.
    Flood,
    /// Its token is no longer good, or it never showed one in time.
    Expired,
    /// It was told to go: by the operator's back end, or because it may not be here.
    Disconnected,
    /// A feed that it listened to was removed, or its network was put together anew.
    Changed,
    /// The server made a mistake, and told of it in its log.
    Fault,
}

impl CloseReason {
    /// Each reason once.
    pub const ALL: [Self; 10] = [
        Self::Client,
        Self::Shutdown,
        Self::Slow,
        Self::NoPong,
        Self::Protocol,
        Self::Flood,
        Self::Expired,
        Self::Disconnected,
        Self::Changed,
        Self::Fault,
    ];

    /// As in the label of a metric.
    pub fn metric_label(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Shutdown => "shutdown",
            Self::Slow => "slow",
            Self::NoPong => "no_pong",
            Self::Protocol => "protocol",
            Self::Flood => "flood",
            Self::Expired => "expired",
            Self::Disconnected => "disconnected",
            Self::Changed => "changed",
            Self::Fault => "fault",
        }
    }
}

/// Counters of all partitions.
#[derive(Debug, Default)]
pub struct PartitionMetrics {
    pub(super) rows: Gauge,
    pub(super) closed: [Counter; CloseReason::ALL.len()],
    pub(super) blocked: Counter,
    pub(super) states_waiting: Gauge,
    pub(super) newcomers_waiting: Gauge,
}

impl PartitionMetrics {
    /// Connections that the partitions own.
    pub fn connection_count(&self) -> i64 {
        self.rows.get()
    }

    /// How many ended for this reason.
    pub fn closed_count(&self, why: CloseReason) -> u64 {
        self.closed[why as usize].get()
    }

    /// How often a socket took less than it was given.
    pub fn blocked_count(&self) -> u64 {
        self.blocked.get()
    }

    /// Connections in the partitions' mailboxes.
    pub fn pending_connections(&self) -> i64 {
        self.newcomers_waiting.get()
    }

    /// Connections that wait for a place among those that are given a state.
    pub fn pending_snapshots(&self) -> i64 {
        self.states_waiting.get()
    }
}
