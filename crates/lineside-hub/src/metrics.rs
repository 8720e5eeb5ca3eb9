//! What the hub has done and holds: plain atomics, read by the program.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Figures at one moment; each is exact, together they are not of one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Open sessions.
    pub sessions: usize,
    /// Living rooms.
    pub rooms: usize,
    /// Subscriptions of all open sessions.
    pub subscriptions: usize,
    /// Bytes in all rings, frames not counted.
    pub ring_bytes: usize,
    /// Bytes in the rooms' encoded states.
    pub state_bytes: usize,
    /// Publications appended to rooms: one for each room it went to.
    pub publications_total: u64,
    /// State parts and publications handed to sessions.
    pub deliveries_total: u64,
    /// States read from the source.
    pub states_encoded_total: u64,
    /// States begun for subscribers: fresh, restated or after a gap.
    pub states_begun_total: u64,
    /// Subscriptions that continued where they had been.
    pub resumed_total: u64,
    /// Gaps because the position asked for was no longer, or never, covered.
    pub gaps_resume_total: u64,
    /// Gaps because the ring had overtaken the reader.
    pub gaps_slow_total: u64,
    /// Gaps because the sequence began a new life.
    pub gaps_epoch_total: u64,
    /// Subscriptions ended for too many gaps in a row.
    pub ended_slow_total: u64,
    /// Subscriptions refused because of too many rooms.
    pub refused_rooms_total: u64,
    /// Publications taken from rings early because of the node's byte limit.
    pub shrunk_total: u64,
}

/// The same, counting.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sessions: AtomicUsize,
    pub(crate) rooms: AtomicUsize,
    pub(crate) subscriptions: AtomicUsize,
    pub(crate) ring_bytes: AtomicUsize,
    pub(crate) state_bytes: AtomicUsize,
    pub(crate) publications: AtomicU64,
    pub(crate) deliveries: AtomicU64,
    pub(crate) states_encoded: AtomicU64,
    pub(crate) states_begun: AtomicU64,
    pub(crate) resumed: AtomicU64,
    pub(crate) gaps_resume: AtomicU64,
    pub(crate) gaps_slow: AtomicU64,
    pub(crate) gaps_epoch: AtomicU64,
    pub(crate) ended_slow: AtomicU64,
    pub(crate) refused_rooms: AtomicU64,
    pub(crate) shrunk: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn read(&self) -> Metrics {
        let size = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let total = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Metrics {
            sessions: size(&self.sessions),
            rooms: size(&self.rooms),
            subscriptions: size(&self.subscriptions),
            ring_bytes: size(&self.ring_bytes),
            state_bytes: size(&self.state_bytes),
            publications_total: total(&self.publications),
            deliveries_total: total(&self.deliveries),
            states_encoded_total: total(&self.states_encoded),
            states_begun_total: total(&self.states_begun),
            resumed_total: total(&self.resumed),
            gaps_resume_total: total(&self.gaps_resume),
            gaps_slow_total: total(&self.gaps_slow),
            gaps_epoch_total: total(&self.gaps_epoch),
            ended_slow_total: total(&self.ended_slow),
            refused_rooms_total: total(&self.refused_rooms),
            shrunk_total: total(&self.shrunk),
        }
    }
}
