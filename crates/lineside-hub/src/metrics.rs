//! The metrics of the hub.
//!
//! Counts per delivery are in cells of each thread. Values that are compared with a limit are shared atomics, because
//! they must be exact at any moment.

use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_sync::counter::{Counter, Gauge};
use lineside_sync::histogram::Histogram;

/// The values of the metrics. Each includes everything that happened before the read; together they are not from one
/// instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubMetrics {
    /// Open sessions.
    pub sessions: usize,
    /// Existing rooms.
    pub rooms: usize,
    /// Subscriptions of all open sessions.
    pub subscriptions: usize,
    /// Bytes in all rings, without frames.
    pub ring_bytes: usize,
    /// Bytes in the rooms' encoded states.
    pub state_bytes: usize,
    /// Publications appended to rooms: one for each room.
    pub publications_total: u64,
    /// State parts and publications delivered to sessions.
    pub deliveries_total: u64,
    /// States read from the source.
    pub states_encoded_total: u64,
    /// States begun for subscribers: fresh, restated or after a gap.
    pub states_started_total: u64,
    /// Subscriptions that resumed at their position.
    pub resumed_total: u64,
    /// Gaps because the requested position was not, or no longer, covered.
    pub gaps_resume_total: u64,
    /// Gaps because the ring had overtaken the reader.
    pub gaps_slow_total: u64,
    /// Gaps because the sequence began a new epoch.
    pub gaps_epoch_total: u64,
    /// Subscriptions ended for too many gaps in a row.
    pub ended_slow_total: u64,
    /// Subscriptions refused because of too many rooms.
    pub refused_rooms_total: u64,
    /// Subscriptions to channels without a state that ended because the ring had overtaken the reader.
    pub ended_lost_total: u64,
    /// Subscriptions that ended with their channel's group.
    pub ended_with_group_total: u64,
    /// Subscribers counted as present, in all channels.
    pub present: usize,
    /// Joins and leaves published.
    pub member_changes_total: u64,
    /// Joins and leaves dropped because there were too many.
    pub member_changes_dropped_total: u64,
    /// Subscribers refused because too many are present.
    pub refused_presence_total: u64,
    /// Publications dropped from rings early because of the node's byte limit.
    pub evicted_total: u64,
}

/// The counters behind [`HubMetrics`].
#[derive(Debug, Default)]
pub(crate) struct HubCounters {
    pub(crate) sessions: Gauge,
    pub(crate) rooms: AtomicUsize,
    pub(crate) subscriptions: Gauge,
    pub(crate) ring_bytes: AtomicUsize,
    pub(crate) state_bytes: AtomicUsize,
    pub(crate) publications: Counter,
    pub(crate) deliveries: Counter,
    pub(crate) states_encoded: Counter,
    pub(crate) states_started: Counter,
    pub(crate) resumed: Counter,
    pub(crate) gaps_resume: Counter,
    pub(crate) gaps_slow: Counter,
    pub(crate) gaps_epoch: Counter,
    pub(crate) ended_slow: Counter,
    pub(crate) refused_rooms: Counter,
    pub(crate) ended_lost: Counter,
    pub(crate) ended_with_group: Counter,
    pub(crate) member_changes: Counter,
    pub(crate) member_changes_dropped: Counter,
    pub(crate) refused_presence: Counter,
    pub(crate) evicted: Counter,
    /// The time from a publication's append to its delivery, in nanoseconds.
    pub(crate) delivery_time: Histogram,
}

impl HubCounters {
    /// Reads the metrics; the caller passes `present`, which is counted elsewhere.
    pub(crate) fn read_counter_values(&self, present: usize) -> HubMetrics {
        let size = |bytes: &AtomicUsize| bytes.load(Ordering::Relaxed);
        // While sessions open and close in several threads, the sum may be off by those, and negative.
        let level = |gauge: &Gauge| usize::try_from(gauge.get()).unwrap_or(0);
        HubMetrics {
            sessions: level(&self.sessions),
            rooms: size(&self.rooms),
            subscriptions: level(&self.subscriptions),
            ring_bytes: size(&self.ring_bytes),
            state_bytes: size(&self.state_bytes),
            publications_total: self.publications.get(),
            deliveries_total: self.deliveries.get(),
            states_encoded_total: self.states_encoded.get(),
            states_started_total: self.states_started.get(),
            resumed_total: self.resumed.get(),
            gaps_resume_total: self.gaps_resume.get(),
            gaps_slow_total: self.gaps_slow.get(),
            gaps_epoch_total: self.gaps_epoch.get(),
            ended_slow_total: self.ended_slow.get(),
            refused_rooms_total: self.refused_rooms.get(),
            ended_lost_total: self.ended_lost.get(),
            ended_with_group_total: self.ended_with_group.get(),
            present,
            member_changes_total: self.member_changes.get(),
            member_changes_dropped_total: self.member_changes_dropped.get(),
            refused_presence_total: self.refused_presence.get(),
            evicted_total: self.evicted.get(),
        }
    }
}
