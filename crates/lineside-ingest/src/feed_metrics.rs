//! Metrics of one feed: response times of its source and replies to readers.
//!
//! A reader adds to counter cells of its own thread; only the feed's task writes the durations. Collecting metrics
//! waits for neither.

use std::{collections::VecDeque, time::Duration};

use lineside_sync::counter::Counter;
use parking_lot::Mutex;

use crate::limits::FETCH_TIMES_MAX;

#[derive(Debug, Default)]
pub struct FeedMetrics {
    requests: Counter,
    not_modified: Counter,
    bytes: Counter,
    /// The times of the most recent fetches, oldest first.
    fetch_times: Mutex<VecDeque<Duration>>,
}

impl FeedMetrics {
    /// Counts a reply of `bytes` to a reader, or a `304 Not Modified`.
    pub fn count_http_reply(&self, bytes: u64, is_not_modified: bool) {
        self.requests.increment();
        if is_not_modified {
            self.not_modified.increment();
        } else {
            self.bytes.add(bytes);
        }
    }

    /// Requests answered, whatever the status.
    pub fn request_count(&self) -> u64 {
        self.requests.get()
    }

    /// Requests answered with `304 Not Modified`.
    pub fn not_modified_count(&self) -> u64 {
        self.not_modified.get()
    }

    /// Bytes of all reply bodies.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes.get()
    }

    /// Returns the time of each of the most recent fetches until the complete reply or the failure, oldest first.
    pub fn fetch_durations(&self) -> Vec<Duration> {
        self.fetch_times.lock().iter().copied().collect()
    }

    pub(crate) fn record_fetch_duration(&self, took: Duration) {
        let mut times = self.fetch_times.lock();
        if times.len() >= FETCH_TIMES_MAX {
            times.pop_front();
        }
        times.push_back(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_fetch_durations_are_stored() {
        let metrics = FeedMetrics::default();
        let millis = |n| Duration::from_millis(n as u64);
        (0..FETCH_TIMES_MAX + 3).for_each(|n| metrics.record_fetch_duration(millis(n)));
        let times = metrics.fetch_durations();
        assert_eq!(times.len(), FETCH_TIMES_MAX);
        assert_eq!((times[0], times.last()), (millis(3), Some(&millis(FETCH_TIMES_MAX + 2))));
    }

    #[test]
    fn not_modified_replies_count_no_bytes() {
        let metrics = FeedMetrics::default();
        metrics.count_http_reply(100, false);
        metrics.count_http_reply(0, true);
        metrics.count_http_reply(50, false);
        assert_eq!(
            (metrics.request_count(), metrics.not_modified_count(), metrics.bytes_sent()),
            (3, 1, 150)
        );
    }
}
