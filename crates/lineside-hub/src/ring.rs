//! A room's log: a bounded run of publications, oldest overwritten first.
//!
//! Offsets rise strictly but need not be consecutive (a route's room sees only some of its network's
//! revisions), so the ring keeps two marks beside its entries: `floor`, after which everything is here,
//! and `lost`, before which a reader has truly missed something. They part when a restatement empties
//! the ring: its readers need the state, but for them nothing is lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::RING_SLOTS_MIN;
use crate::publication::Publication;

/// What a ring may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) publications: usize,
    pub(crate) bytes: usize,
    /// Entries from before are dropped.
    pub(crate) since: Duration,
}

#[derive(Debug)]
pub(crate) struct Ring {
    /// Bound: [`Bounds`], and whatever the last batch brought.
    entries: VecDeque<Arc<Publication>>,
    bytes: usize,
    floor: u64,
    lost: u64,
    top: u64,
    /// Entries from here on are the last batch's and stay: else one large batch would leave an
    /// attentive reader behind before it was even signaled.
    batch_start: u64,
}

impl Ring {
    /// An empty ring that covers everything after `floor`.
    pub(crate) fn new(floor: u64) -> Self {
        let entries = VecDeque::with_capacity(RING_SLOTS_MIN);
        Self {
            entries,
            bytes: 0,
            floor,
            lost: floor,
            top: floor,
            batch_start: floor.saturating_add(1),
        }
    }

    /// The offset of the newest entry, or the floor.
    pub(crate) fn top(&self) -> u64 {
        self.top
    }

    /// The offset of the newest entry itself; 0 without one.
    pub(crate) fn newest(&self) -> u64 {
        self.entries.back().map_or(0, |entry| entry.offset)
    }

    /// The ring holds everything that came after this offset.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether a reader who holds everything up to `offset` can be given all the rest.
    pub(crate) fn covers(&self, offset: u64) -> bool {
        offset >= self.floor
    }

    /// Whether a reader at `offset` has missed an entry for good.
    pub(crate) fn has_lost(&self, offset: u64) -> bool {
        offset < self.lost
    }

    /// The first entry after `offset`, and whether it is the last there is.
    pub(crate) fn after(&self, offset: u64) -> Option<(&Arc<Publication>, bool)> {
        if offset >= self.top {
            return None;
        }
        let index = self.entries.partition_point(|entry| entry.offset <= offset);
        self.entries.get(index).map(|entry| (entry, index + 1 == self.entries.len()))
    }

    /// From now on entries belong to a new batch.
    pub(crate) fn start_batch(&mut self) {
        self.batch_start = self.top.saturating_add(1);
    }

    /// Appends; an offset not above the top is not taken.
    pub(crate) fn push(&mut self, publication: Arc<Publication>, bounds: Bounds) -> bool {
        if publication.offset <= self.top {
            return false;
        }
        self.top = publication.offset;
        self.bytes += publication.cost();
        self.entries.push_back(publication);
        self.trim(bounds);
        true
    }

    /// Drops what is beyond the bounds, but nothing of the last batch that is young enough.
    pub(crate) fn trim(&mut self, bounds: Bounds) {
        while let Some(oldest) = self.entries.front() {
            let full = self.entries.len() > bounds.publications || self.bytes > bounds.bytes;
            let spent = full && oldest.offset < self.batch_start;
            if !spent && oldest.at >= bounds.since {
                break;
            }
            self.drop_oldest();
        }
        if self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(RING_SLOTS_MIN.max(self.entries.len() * 2));
        }
    }

    /// Drops the oldest entries until at most `bytes` are left, the last batch's too; says how many.
    pub(crate) fn shrink(&mut self, bytes: usize) -> u64 {
        let mut dropped = 0;
        while self.bytes > bytes && self.drop_oldest() {
            dropped += 1;
        }
        dropped
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(oldest) = self.entries.pop_front() else { return false };
        self.bytes -= oldest.cost();
        self.floor = oldest.offset;
        self.lost = oldest.offset;
        true
    }

    /// Everything up to `offset` is replaced by the state as of there: nobody misses anything, but
    /// whoever is before it needs the state.
    pub(crate) fn restate(&mut self, offset: u64) {
        self.entries.clear();
        self.bytes = 0;
        self.floor = offset;
        self.top = self.top.max(offset);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::limits::PUBLICATION_OVERHEAD;

    const WIDE: Bounds = Bounds { publications: 1_000, bytes: usize::MAX, since: Duration::ZERO };

    fn entry(offset: u64) -> Arc<Publication> {
        Publication::new(offset, Bytes::from_static(b"0123456789"), Duration::from_secs(offset))
    }

    fn offsets(ring: &Ring, mut from: u64) -> Vec<u64> {
        std::iter::from_fn(|| {
            let (entry, _) = ring.after(from)?;
            from = entry.offset;
            Some(from)
        })
        .collect()
    }

    #[test]
    fn offsets_need_not_be_consecutive_but_must_rise() {
        let mut ring = Ring::new(5);
        assert!(!ring.push(entry(5), WIDE), "the floor's own offset is in the state already");
        assert!(ring.push(entry(8), WIDE) && ring.push(entry(20), WIDE));
        assert!(!ring.push(entry(20), WIDE));
        assert_eq!(offsets(&ring, 5), [8, 20]);
        assert_eq!(offsets(&ring, 10), [20]);
        assert!(ring.after(8).is_some_and(|(entry, last)| entry.offset == 20 && last));
        assert!(ring.after(20).is_none());
    }

    #[test]
    fn a_full_ring_overwrites_its_oldest() {
        let mut ring = Ring::new(0);
        for offset in 1..=5 {
            ring.start_batch();
            ring.push(entry(offset), Bounds { publications: 2, ..WIDE });
        }
        assert_eq!(offsets(&ring, 0), [4, 5]);
        assert!(ring.covers(3) && !ring.covers(2) && ring.has_lost(2));
    }

    #[test]
    fn bytes_and_age_bound_it_too() {
        let cost = 10 + PUBLICATION_OVERHEAD;
        let mut ring = Ring::new(0);
        for offset in 1..=5 {
            ring.start_batch();
            ring.push(entry(offset), Bounds { bytes: 3 * cost, ..WIDE });
        }
        assert_eq!((offsets(&ring, 0), ring.bytes()), (vec![3, 4, 5], 3 * cost));
        ring.trim(Bounds { since: Duration::from_secs(5), ..WIDE });
        assert_eq!((offsets(&ring, 0), ring.floor()), (vec![5], 4));
        ring.trim(Bounds { since: Duration::from_secs(6), ..WIDE });
        assert_eq!((ring.len(), ring.bytes(), ring.floor()), (0, 0, 5), "age spares no batch");
    }

    #[test]
    fn the_last_batch_is_kept_whole() {
        let mut ring = Ring::new(0);
        let tight = Bounds { publications: 2, bytes: 1, since: Duration::ZERO };
        ring.start_batch();
        for offset in 1..=4 {
            ring.push(entry(offset), tight);
        }
        assert_eq!(offsets(&ring, 0), [1, 2, 3, 4]);
        ring.start_batch();
        ring.push(entry(9), tight);
        assert_eq!(offsets(&ring, 0), [9]);
        assert_eq!(ring.shrink(0), 1);
        assert!(ring.has_lost(8) && ring.covers(9));
    }

    #[test]
    fn after_a_restatement_readers_need_the_state_but_have_lost_nothing() {
        let mut ring = Ring::new(0);
        ring.push(entry(3), WIDE);
        ring.restate(7);
        assert!(!ring.covers(3) && !ring.has_lost(3) && ring.covers(7));
        assert_eq!((ring.top(), ring.bytes()), (7, 0));
        ring.start_batch();
        ring.push(entry(8), WIDE);
        ring.shrink(0);
        assert!(ring.has_lost(3) && ring.has_lost(7) && !ring.has_lost(8));
    }

    proptest! {
        /// Against the plainest model: all entries ever pushed.
        #[test]
        fn a_covered_reader_is_given_exactly_what_came_after(
            steps in proptest::collection::vec((1..4u64, 1..40usize, any::<bool>()), 1..80),
            publications in 1..12usize,
            reader in 0..80u64,
        ) {
            let mut ring = Ring::new(0);
            let mut model: Vec<u64> = Vec::new();
            for (step, bytes, starts) in steps {
                if starts {
                    ring.start_batch();
                }
                let offset = model.last().unwrap_or(&0) + step;
                model.push(offset);
                let publication = Publication::new(offset, vec![b'x'; bytes].into(), Duration::ZERO);
                ring.push(publication, Bounds { publications, bytes: 2_000, since: Duration::ZERO });
            }
            let expected: Vec<u64> = model.into_iter().filter(|&offset| offset > reader).collect();
            if ring.covers(reader) {
                prop_assert_eq!(offsets(&ring, reader), expected);
            } else {
                prop_assert!(ring.has_lost(reader) && expected.len() > ring.len());
            }
        }
    }
}
