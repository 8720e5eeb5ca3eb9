//! The times of a feed's last messages, and of the last message that named trips.

use std::collections::VecDeque;

use lineside_formats::gtfs_rt::proto::FeedMessage;

use super::time::timestamp_unless_zero;

/// The number of messages from which a feed's interval is computed.
const MESSAGES_MAX: usize = 16;

/// The times of the last 16 messages of a feed, from which its usual interval is computed, and the time of the last
/// message that named trips.
#[derive(Clone, Debug, Default)]
pub struct MessageHistory {
    messages: VecDeque<HeaderAndReceiveTime>,
    trips_named_at: Option<i64>,
}

/// The creation time of a message, by its header, and its receive time, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderAndReceiveTime {
    pub(super) header: i64,
    pub(super) received: i64,
}

impl MessageHistory {
    /// Adds a message after it was checked. A message without a header timestamp, or with that of the message before,
    /// is ignored.
    pub fn add_message_times(&mut self, message: &FeedMessage, received: i64) {
        let Some(header) = timestamp_unless_zero(message.header.timestamp) else { return };
        if self.messages.back().is_some_and(|last| last.header == header) {
            return;
        }
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back(HeaderAndReceiveTime { header, received });
    }

    /// Records that a message received at `at`, in seconds since 1970, [named
    /// trips](super::MessageWithContext::references_trips).
    pub fn set_last_time_with_trips(&mut self, at: i64) {
        // The maximum of both would be wrong after the clock was set back.
        self.trips_named_at = Some(at);
    }

    /// Returns the receive time of the last message that named trips, in seconds since 1970.
    pub fn last_time_with_trips(&self) -> Option<i64> {
        self.trips_named_at
    }

    pub(super) fn last_message(&self) -> Option<HeaderAndReceiveTime> {
        self.messages.back().copied()
    }

    /// Returns the median interval between messages in seconds, by their headers. `None` if there are fewer than five
    /// intervals.
    pub(super) fn median_interval(&self) -> Option<i64> {
        let pairs = self.messages.iter().zip(self.messages.iter().skip(1));
        let mut intervals: Vec<i64> =
            pairs.map(|(before, after)| after.header.saturating_sub(before.header)).collect();
        intervals.sort_unstable();
        intervals.get(intervals.len() / 2).copied().filter(|_| intervals.len() >= 5)
    }
}
