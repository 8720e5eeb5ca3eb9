//! Counters of the HTTP server.

mod endpoint_families;

use std::time::Duration;

use http::StatusCode;
use lineside_sync::counter;
use lineside_sync::histogram::Histogram;
use lineside_wire::partition::ConnectionCloseReason;

pub use self::endpoint_families::EndpointFamily;

/// Label values of status classes: five instead of sixty statuses.
pub const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Counters of the HTTP server.
#[derive(Debug, Default)]
pub struct HttpMetrics {
    /// Requests by [`STATUS_CLASSES`].
    pub requests: [counter::Counter; STATUS_CLASSES.len()],
    /// Durations by [`EndpointFamily::ALL`], until the head of the reply: the client's speed determines the body's.
    pub request_times: [Histogram; EndpointFamily::ALL.len()],
    /// Ended HTTP/2 streams by [`ConnectionCloseReason::ALL`]. The partitions count their own.
    pub closed: [counter::Counter; ConnectionCloseReason::ALL.len()],
}

impl HttpMetrics {
    pub fn count_request(&self, family: EndpointFamily, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, STATUS_CLASSES.len());
        self.requests[class - 1].increment();
        self.request_times[family as usize].record_duration(took);
    }

    /// Returns the number of answered requests, of any status.
    pub fn request_count(&self) -> u64 {
        self.requests.iter().map(counter::Counter::get).sum()
    }

    /// Counts an ended stream by its reason.
    pub fn count_closed_stream(&self, why: ConnectionCloseReason) {
        self.closed[why as usize].increment();
    }
}
