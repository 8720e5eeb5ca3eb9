//! What is known of a feed's earlier messages: when each was made and received, and when one last named trips.

use std::collections::VecDeque;

use lineside_formats::gtfs_rt::proto::FeedMessage;

use super::time::parse_timestamp;

/// Messages that a feed's pace is told from.
const MESSAGES_MAX: usize = 16;

/// When the last messages of a feed were made and received, by which its pace is told, and whether it is one that names
/// trips. Keeps 16 of them.
#[derive(Clone, Debug, Default)]
pub struct MessageHistory {
    messages: VecDeque<MessageTimes>,
    trips_named_at: Option<i64>,
}

/// When a message was made, by its header, and when it was received, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageTimes {
    pub(super) header: i64,
    pub(super) received: i64,
}

impl MessageHistory {
    /// Takes a message down once it has been judged. One whose header has no time, or that of the
    /// message before, tells nothing of the pace.
    pub fn add_message(&mut self, message: &FeedMessage, received: i64) {
        let Some(header) = parse_timestamp(message.header.timestamp) else { return };
        if self.messages.back().is_some_and(|last| last.header == header) {
            return;
        }
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back(MessageTimes { header, received });
    }

    /// Takes down that a message received at `at`, in seconds since 1970, has [named trips](super::MessageSubject::names_trips).
    pub fn note_trips(&mut self, at: i64) {
        // Not the later of the two: the clock may have been set back.
        self.trips_named_at = Some(at);
    }

    /// When the last message that named trips was received, in seconds since 1970; none if there was none.
    pub fn last_trips_named(&self) -> Option<i64> {
        self.trips_named_at
    }

    /// The last message.
    pub(super) fn last_message(&self) -> Option<MessageTimes> {
        self.messages.back().copied()
    }

    /// The seconds that mostly lie between two messages, by their headers: the median. None before
    /// there are five intervals.
    pub(super) fn median_interval(&self) -> Option<i64> {
        let pairs = self.messages.iter().zip(self.messages.iter().skip(1));
        let mut intervals: Vec<i64> =
            pairs.map(|(before, after)| after.header.saturating_sub(before.header)).collect();
        intervals.sort_unstable();
        intervals.get(intervals.len() / 2).copied().filter(|_| intervals.len() >= 5)
    }
}
