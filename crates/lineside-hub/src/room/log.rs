//! A room's locked content, and the rules by which it changes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::fanout::ListenerSet;
use lineside_sync::ring::{HasRing, Ring, RingBounds};

use super::EncodedState;
use crate::limits::RING_STATES_MAX;
use crate::listener::ListenerHandle;
use crate::publication::Publication;
use crate::{Epoch, HistoryOptions, HubConfig, Position};

#[derive(Debug)]
pub(super) struct RoomLog {
    /// `None` until the first position or publication of the room's network is known.
    pub(super) epoch: Option<Epoch>,
    pub(super) ring: Ring<Publication>,
    /// The last batch that changed the room.
    batch: u64,
    /// The encoded state, cached while the ring covers it.
    pub(super) state: Option<Arc<EncodedState>>,
    /// A discarded state, dropped once the lock is released, because a state can be large.
    pub(super) spent_state: Option<Arc<EncodedState>>,
    pub(super) state_used: Duration,
    /// The size of the state when it was last read, in bytes; the ring's limit follows from it.
    pub(super) state_bytes_last: usize,
    /// True while a reader reads the state.
    pub(super) reading: bool,
    /// The listeners to signal when the read ends, each once.
    pub(super) waiters: ListenerSet<ListenerHandle>,
    /// Bound: the program's limit of sessions.
    pub(super) listeners: ListenerSet<ListenerHandle>,
    /// The time at which the last listener left, or the room was created.
    pub(super) quiet_since: Duration,
    pub(super) closed: bool,
    /// The history limits; with a history, the log stays without listeners too.
    pub(super) history: Option<HistoryOptions>,
}

impl HasRing for RoomLog {
    type Item = Publication;

    fn ring(&self) -> &Ring<Publication> {
        &self.ring
    }

    fn ring_mut(&mut self) -> &mut Ring<Publication> {
        &mut self.ring
    }
}

impl RoomLog {
    pub(super) fn new(
        epoch: Option<Epoch>,
        history: Option<HistoryOptions>,
        now: Duration,
    ) -> Self {
        Self {
            epoch,
            ring: Ring::new(0),
            batch: 0,
            state: None,
            spent_state: None,
            state_used: now,
            state_bytes_last: 0,
            reading: false,
            waiters: ListenerSet::new(),
            listeners: ListenerSet::new(),
            quiet_since: now,
            closed: false,
            history,
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.byte_size())
    }

    /// Returns true on the first call with this batch.
    pub(super) fn start_batch_once(&mut self, batch: u64) -> bool {
        let first = self.batch != batch;
        if first {
            self.batch = batch;
            self.ring.start_batch();
        }
        first
    }

    pub(super) fn append_publication(
        &mut self,
        at: Option<Position>,
        data: Bytes,
        now: Duration,
        config: &HubConfig,
    ) -> bool {
        let offset = match at {
            None => self.ring.newest_offset().saturating_add(1),
            Some(at) => {
                // A publisher is never behind the room, so an unknown epoch is a newer one. The room did not see the
                // publications before this offset, so it covers nothing earlier.
                if self.epoch != Some(at.epoch) {
                    self.start_epoch_at(Position { offset: at.offset.saturating_sub(1), ..at });
                }
                at.offset
            }
        };
        let appended = self.push(offset, Publication::new(offset, data, now), now, config);
        if appended {
            self.drop_state_older_than_ring();
        } else {
            // A state that was read already may be ahead of the publication; a later publication must not be.
            debug_assert!(
                self.ring.newest_entry().is_none_or(|newest| newest.offset < offset),
                "offset {offset} was appended after {:?}",
                self.ring.newest_entry()
            );
        }
        appended
    }

    pub(super) fn require_state_read_at(&mut self, at: Option<Position>) {
        let offset = match at {
            None => self.ring.newest_offset().saturating_add(1),
            Some(at) if self.epoch != Some(at.epoch) => return self.start_epoch_at(at),
            Some(at) => at.offset,
        };
        // A room created after the swap has read the new state already.
        if offset > self.ring.oldest_covered_offset() && offset >= self.ring.newest_offset() {
            self.ring.replace_entries_by_state_at(offset);
            self.drop_state_older_than_ring();
        }
    }

    /// Starts a new epoch at `position`; discards the log of the old one.
    pub(super) fn start_epoch_at(&mut self, position: Position) {
        self.epoch = Some(position.epoch);
        self.ring.restart_sequence_from(position.offset);
        self.drop_cached_state();
    }

    /// Appends to the ring at an offset above its top, and drops entries beyond the limits.
    pub(super) fn push(
        &mut self,
        offset: u64,
        publication: Arc<Publication>,
        now: Duration,
        config: &HubConfig,
    ) -> bool {
        let pushed = self.ring.push(offset, publication, self.ring_bounds(now, config));
        self.trim_ring_to_history(config);
        pushed
    }

    pub(super) fn trim_ring(&mut self, now: Duration, config: &HubConfig) {
        self.ring.trim_to_bounds(self.ring_bounds(now, config));
        self.trim_ring_to_history(config);
        self.drop_state_older_than_ring();
    }

    /// A history is retained whole, up to the limit of any ring. Older entries only help readers that fell behind, and
    /// take no more memory than in other rooms.
    fn trim_ring_to_history(&mut self, config: &HubConfig) {
        let Some(history) = self.history else { return };
        while self.ring.byte_size() > config.ring_bytes_min && self.ring.len() > history.size.max(1)
        {
            let before = self.ring.len();
            self.ring.trim_to_bounds(RingBounds { entries: before - 1, ..RingBounds::NONE });
            if self.ring.len() == before {
                return;
            }
        }
    }

    pub(super) fn drop_state_older_than_ring(&mut self) {
        if self
            .state
            .as_ref()
            .is_some_and(|state| !self.ring.holds_all_entries_after(state.position().offset))
        {
            self.drop_cached_state();
        }
    }

    pub(super) fn drop_cached_state(&mut self) {
        self.spent_state = self.state.take().or(self.spent_state.take());
    }

    pub(super) fn close_log(&mut self) {
        self.closed = true;
        self.ring.restart_sequence_from(self.ring.newest_offset());
        self.drop_cached_state();
    }

    /// Returns true if there is a history that later subscribers may ask for.
    pub(super) fn has_history(&self) -> bool {
        self.history.is_some() && !self.ring.is_empty()
    }

    fn ring_bounds(&self, now: Duration, config: &HubConfig) -> RingBounds {
        if let Some(history) = self.history {
            // Retains at least enough for a reader that falls behind a little.
            return RingBounds {
                entries: config.ring_publications.max(history.size).max(1),
                bytes: config.ring_bytes_max,
                since: now.saturating_sub(history.ttl.max(config.linger)),
            };
        }
        let bytes = self.state_bytes_last.saturating_mul(RING_STATES_MAX);
        RingBounds {
            entries: config.ring_publications.max(1),
            bytes: bytes.max(config.ring_bytes_min).min(config.ring_bytes_max),
            since: now.saturating_sub(config.ring_age),
        }
    }
}
