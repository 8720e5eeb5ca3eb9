//! What lies behind a room's lock, and the rules by which it changes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::fanout::Listeners;
use lineside_sync::ring::{Bounds, HasRing, Ring};

use super::EncodedState;
use crate::limits::RING_STATES_MAX;
use crate::listener::Ear;
use crate::publication::Publication;
use crate::{Epoch, HistoryOptions, HubConfig, Position};

#[derive(Debug)]
pub(super) struct Log {
    /// `None` until the first position or publication of its network is known.
    pub(super) epoch: Option<Epoch>,
    pub(super) ring: Ring<Publication>,
    /// The batch that was here last.
    batch: u64,
    /// Kept while the ring covers it.
    pub(super) state: Option<Arc<EncodedState>>,
    /// Given up, and to be dropped once the lock is released: a state can be large.
    pub(super) spent_state: Option<Arc<EncodedState>>,
    pub(super) state_used: Duration,
    /// How large the state was when last read: the measure for the ring.
    pub(super) state_bytes_last: usize,
    /// Somebody reads the state.
    pub(super) reading: bool,
    /// Who is to be told when the read ends, each once.
    pub(super) waiters: Listeners<Ear>,
    /// Bound: the program's limit of sessions.
    pub(super) listeners: Listeners<Ear>,
    /// When the last listener left, or the room was made.
    pub(super) quiet_since: Duration,
    pub(super) closed: bool,
    /// What is kept without listeners too.
    pub(super) keeps: Option<HistoryOptions>,
}

impl HasRing for Log {
    type Item = Publication;

    fn ring(&self) -> &Ring<Publication> {
        &self.ring
    }

    fn ring_mut(&mut self) -> &mut Ring<Publication> {
        &mut self.ring
    }
}

impl Log {
    pub(super) fn new(epoch: Option<Epoch>, keeps: Option<HistoryOptions>, now: Duration) -> Self {
        Self {
            epoch,
            ring: Ring::new(0),
            batch: 0,
            state: None,
            spent_state: None,
            state_used: now,
            state_bytes_last: 0,
            reading: false,
            waiters: Listeners::new(),
            listeners: Listeners::new(),
            quiet_since: now,
            closed: false,
            keeps,
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.bytes())
    }

    /// True for the first call with this batch.
    pub(super) fn enter_batch(&mut self, batch: u64) -> bool {
        let first = self.batch != batch;
        if first {
            self.batch = batch;
            self.ring.start_batch();
        }
        first
    }

    pub(super) fn append(
        &mut self,
        at: Option<Position>,
        data: Bytes,
        now: Duration,
        config: &HubConfig,
    ) -> bool {
        let offset = match at {
            None => self.ring.top().saturating_add(1),
            Some(at) => {
                // Whoever appends is never behind the room: an unknown epoch is a newer one. What
                // came before this offset was not appended here, so nothing earlier is covered.
                if self.epoch != Some(at.epoch) {
                    self.renew(Position { offset: at.offset.saturating_sub(1), ..at });
                }
                at.offset
            }
        };
        let appended = self.push(offset, Publication::new(offset, data, now), now, config);
        if appended {
            self.forget_uncovered_state();
        } else {
            // A state that was read already is a reason not to take it; a later publication is none.
            debug_assert!(
                self.ring.newest().is_none_or(|newest| newest.offset < offset),
                "offset {offset} came after {:?}",
                self.ring.newest()
            );
        }
        appended
    }

    pub(super) fn restate(&mut self, at: Option<Position>) {
        let offset = match at {
            None => self.ring.top().saturating_add(1),
            Some(at) if self.epoch != Some(at.epoch) => return self.renew(at),
            Some(at) => at.offset,
        };
        // A room made after the swap has read the new state already.
        if offset > self.ring.floor() && offset >= self.ring.top() {
            self.ring.restate(offset);
            self.forget_uncovered_state();
        }
    }

    /// Begins a new life at `position`; what is there belongs to the old one.
    pub(super) fn renew(&mut self, position: Position) {
        self.epoch = Some(position.epoch);
        self.ring.renew(position.offset);
        self.give_up_state();
    }

    /// Adds to the ring at an offset above its top, and drops what is then too much.
    pub(super) fn push(
        &mut self,
        offset: u64,
        publication: Arc<Publication>,
        now: Duration,
        config: &HubConfig,
    ) -> bool {
        let pushed = self.ring.push(offset, publication, self.bounds(now, config));
        self.trim_to_history(config);
        pushed
    }

    pub(super) fn trim(&mut self, now: Duration, config: &HubConfig) {
        self.ring.trim(self.bounds(now, config));
        self.trim_to_history(config);
        self.forget_uncovered_state();
    }

    /// A history is kept whole, as far as any ring may grow. What lies before it only helps readers who fell behind, and
    /// takes no more than it would in any other room.
    fn trim_to_history(&mut self, config: &HubConfig) {
        let Some(keeps) = self.keeps else { return };
        while self.ring.bytes() > config.ring_bytes_min && self.ring.len() > keeps.size.max(1) {
            let before = self.ring.len();
            self.ring.trim(Bounds { entries: before - 1, ..Bounds::NONE });
            if self.ring.len() == before {
                return;
            }
        }
    }

    pub(super) fn forget_uncovered_state(&mut self) {
        if self.state.as_ref().is_some_and(|state| !self.ring.covers(state.position().offset)) {
            self.give_up_state();
        }
    }

    pub(super) fn give_up_state(&mut self) {
        self.spent_state = self.state.take().or(self.spent_state.take());
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        self.ring.renew(self.ring.top());
        self.give_up_state();
    }

    /// Whether there is something that who comes later may ask for.
    pub(super) fn keeps_history(&self) -> bool {
        self.keeps.is_some() && !self.ring.is_empty()
    }

    fn bounds(&self, now: Duration, config: &HubConfig) -> Bounds {
        if let Some(keeps) = self.keeps {
            // At least what lets a reader fall behind a little.
            return Bounds {
                entries: config.ring_publications.max(keeps.size).max(1),
                bytes: config.ring_bytes_max,
                since: now.saturating_sub(keeps.ttl.max(config.linger)),
            };
        }
        let bytes = self.state_bytes_last.saturating_mul(RING_STATES_MAX);
        Bounds {
            entries: config.ring_publications.max(1),
            bytes: bytes.max(config.ring_bytes_min).min(config.ring_bytes_max),
            since: now.saturating_sub(config.ring_age),
        }
    }
}
