//! The statistics of the node.

use lineside_model::FeedState;
use lineside_sync::UnixMillis;
use serde::Serialize;

use super::feed_overview::FeedOverview;

/// The rarely changing statistics of the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NodeOverview {
    pub version: &'static str,
    /// Start of the server, RFC 3339.
    pub started: Option<String>,
    /// Maximum number of open connections.
    pub connections_max: usize,
    /// Number of feeds in each state.
    pub feeds: FeedStateCounts,
}

/// Number of feeds by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FeedStateCounts {
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
    pub fn from_feeds(feeds: &[FeedOverview]) -> Self {
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

/// A sample of the node's statistics. Rates and quantiles cover the time since the previous sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NodeSample {
    /// Time of the sample, in milliseconds since 1970.
    #[serde(serialize_with = "as_millis")]
    pub at: UnixMillis,
    /// Open connections of all kinds.
    pub connections: u64,
    pub sessions: usize,
    pub subscriptions: usize,
    pub rooms: usize,
    /// Publications and parts of states delivered to sessions, per second.
    pub deliveries: f64,
    /// HTTP requests answered, per second.
    pub requests: f64,
    /// Median time from a publication until a session can send it, in seconds; `None` without deliveries.
    pub delivery_p50: Option<f64>,
    pub delivery_p99: Option<f64>,
    /// Resident memory in bytes; `None` if the system does not report it.
    pub memory: Option<u64>,
    /// CPU cores in use: 1.5 means one and a half.
    pub cpu: Option<f64>,
    /// New connections that wait for the partition that will own them.
    pub mailboxes: u64,
    /// Bytes of cached representations, of all feeds.
    pub cache: usize,
}

/// Number of gauges with a history.
pub const GAUGES: usize = 8;

impl NodeSample {
    /// Returns the values of the gauges: connections, subscriptions, deliveries, 99th percentile of the delivery
    /// latency, requests, memory, CPU, and queued connections.
    pub fn gauge_values(&self) -> [Option<f64>; GAUGES] {
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
