//! The node's own figures.

use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;
use serde::Serialize;

use super::feed_overview::FeedOverview;

/// What does not change from moment to moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct NodeOverview {
    pub(super) version: &'static str,
    /// RFC 3339.
    pub(super) started: Option<String>,
    /// Connections that it takes at once.
    pub(super) connections_max: usize,
    /// How many feeds are in each state.
    pub(super) feeds: FeedStateCounts,
}

/// Feeds by their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FeedStateCounts {
    ok: usize,
    late: usize,
    stale: usize,
    expired: usize,
    failing: usize,
    empty: usize,
    paused: usize,
    unknown: usize,
}

impl FeedStateCounts {
    pub(super) fn from_feeds(feeds: &[FeedOverview]) -> Self {
        let mut states = Self::default();
        for feed in feeds {
            *match feed.state {
                FeedState::Ok => &mut states.ok,
                FeedState::Late => &mut states.late,
                FeedState::Stale => &mut states.stale,
                FeedState::Expired => &mut states.expired,
                FeedState::Failing => &mut states.failing,
                FeedState::Empty => &mut states.empty,
                FeedState::Paused => &mut states.paused,
                FeedState::Unknown => &mut states.unknown,
            } += 1;
        }
        states
    }
}

/// The node at one moment. What is a rate, or a quantile, is of the time since the moment before.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct NodeSample {
    /// In milliseconds since 1970.
    #[serde(serialize_with = "as_millis")]
    pub(super) at: UnixMillis,
    /// Open connections, whatever they are for.
    pub(crate) connections: u64,
    pub(crate) sessions: usize,
    pub(crate) subscriptions: usize,
    pub(crate) rooms: usize,
    /// Publications and parts of states given to sessions, per second.
    pub(crate) deliveries: f64,
    /// HTTP requests answered, per second.
    pub(crate) requests: f64,
    /// Seconds from a publication until a session had it to send; `None` where none was.
    pub(crate) delivery_p50: Option<f64>,
    pub(crate) delivery_p99: Option<f64>,
    /// Bytes that are resident; `None` where the system does not say.
    pub(crate) memory: Option<u64>,
    /// Cores in use: 1.5 is one and a half.
    pub(crate) cpu: Option<f64>,
    /// Connections that wait in the mailboxes of those who will own them.
    pub(crate) mailboxes: u64,
    /// Bytes held ready to be sent, of all feeds.
    pub(crate) cache: usize,
}

/// Gauges of the node whose history is kept.
pub(crate) const GAUGES: usize = 8;

impl NodeSample {
    /// The values of the gauges: connections, subscriptions, deliveries, 99th percentile of the delivery latency, requests,
    /// memory, CPU, and queued connections.
    pub(crate) fn gauge_values(&self) -> [Option<f64>; GAUGES] {
        [
            Some(self.connections as f64),
            Some(self.subscriptions as f64),
            Some(self.deliveries),
            self.delivery_p99,
            Some(self.requests),
            self.memory.map(|bytes| bytes as f64),
            self.cpu,
            Some(self.mailboxes as f64),
        ]
    }
}

fn as_millis<S: serde::Serializer>(at: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.0)
}
