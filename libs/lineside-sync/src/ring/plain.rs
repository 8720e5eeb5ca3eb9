//! The ring itself, for one thread at a time.
//!
//! It has two marks: it holds all entries after `floor`, and a reader before `lost` has truly missed entries. The
//! marks differ after a restatement empties the ring: its readers need the state, but have lost nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::freed::DeferredDropItems;
use super::prefetch::{AHEAD, prefetch_reference_count};
use super::{
    MissedRingEntries, RingBounds, RingCursor, RingEntry, RingItem, SLOTS_MIN, UNCOUNTED, UNSEEN,
};

/// A bounded run of entries that overwrites the oldest first.
///
/// For one thread at a time; see [`SharedRing`](super::SharedRing) for several threads.
#[derive(Debug)]
pub struct Ring<T: ?Sized> {
    /// Bound: [`RingBounds`], plus the last batch.
    entries: VecDeque<RingEntry<T>>,
    bytes: usize,
    floor: u64,
    lost: u64,
    top: u64,
    /// Entries from here on belong to the last batch and stay: otherwise one large batch would overtake an attentive
    /// reader before it was even signaled.
    batch_start: u64,
    version: u64,
    /// The number of entries that the ring ever had before the oldest one here.
    entries_before: u64,
    /// Entries up to here were replaced, not overwritten.
    restated: u64,
    /// From here on every offset has had an entry.
    whole_since: u64,
    slots_min: usize,
    pub(super) freed: DeferredDropItems<T>,
}

impl<T: RingItem + ?Sized> Ring<T> {
    /// Creates an empty ring that covers everything after `floor`, with [`SLOTS_MIN`] slots.
    pub fn new(floor: u64) -> Self {
        Self::with_min_slots(floor, SLOTS_MIN)
    }

    /// Creates an empty ring that never has fewer than `slots` slots, so that it need not grow while it fills up to
    /// them.
    pub fn with_min_slots(floor: u64, slots: usize) -> Self {
        Self {
            entries: VecDeque::with_capacity(slots),
            bytes: 0,
            floor,
            lost: floor,
            top: floor,
            batch_start: floor.saturating_add(1),
            version: 0,
            entries_before: 0,
            restated: floor,
            whole_since: floor,
            slots_min: slots,
            freed: DeferredDropItems::AtOnce,
        }
    }

    /// Returns the offset of the newest entry, or the floor.
    pub fn newest_offset(&self) -> u64 {
        self.top
    }

    /// Returns the newest entry.
    pub fn newest_entry(&self) -> Option<&RingEntry<T>> {
        self.entries.back()
    }

    /// Returns the floor: the ring holds all entries after this offset.
    pub fn oldest_covered_offset(&self) -> u64 {
        self.floor
    }

    /// Returns the bytes of all entries, by [`RingItem::byte_size`].
    pub fn byte_size(&self) -> usize {
        self.bytes
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the ring has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of entries that fit without another allocation.
    pub fn slot_count(&self) -> usize {
        self.entries.capacity()
    }

    /// Returns the version, which rises with every change that concerns readers: an append, a restatement, a new life.
    pub fn change_version(&self) -> u64 {
        self.version
    }

    /// Returns true if a reader that has everything up to `offset` can get all later entries.
    pub fn holds_all_entries_after(&self, offset: u64) -> bool {
        offset >= self.floor
    }

    /// Returns true if a reader at `offset` has missed an entry for good. After a
    /// [restatement](Self::replace_entries_by_state_at) a ring may not cover a reader that has lost nothing.
    pub fn has_reader_lost_entries(&self, offset: u64) -> bool {
        offset < self.lost
    }

    /// Returns the entries after the cursor that a reader can no longer get.
    pub fn entries_missed_since(&self, cursor: &RingCursor) -> MissedRingEntries {
        if self.holds_all_entries_after(cursor.offset) {
            return MissedRingEntries::Nothing;
        }
        if cursor.offset < self.restated {
            MissedRingEntries::Uncounted
        } else if cursor.entry != UNCOUNTED {
            MissedRingEntries::Entries(self.entries_before.saturating_sub(cursor.entry))
        } else if cursor.offset >= self.whole_since {
            MissedRingEntries::Entries(self.floor - cursor.offset)
        } else {
            MissedRingEntries::Uncounted
        }
    }

    /// Returns the first entry after `offset`, and true if it is the newest.
    ///
    /// Cost: a binary search in the slots, which reads no item.
    pub fn first_entry_after(&self, offset: u64) -> Option<(&RingEntry<T>, bool)> {
        if offset >= self.top {
            return None;
        }
        let index = self.entries.partition_point(|entry| entry.offset <= offset);
        self.entries.get(index).map(|entry| (entry, index + 1 == self.entries.len()))
    }

    /// Adds up to `max` of the entries after the cursor, oldest first, to `into`, and moves the cursor past them. A
    /// reader that was overtaken continues at the oldest entry; the result says what it missed. The cursor must belong
    /// to this ring.
    pub fn take_entries_after(
        &self,
        cursor: &mut RingCursor,
        max: usize,
        into: &mut Vec<RingEntry<T>>,
    ) -> MissedRingEntries {
        let missed = self.entries_missed_since(cursor);
        let first = if missed != MissedRingEntries::Nothing {
            cursor.offset = self.floor;
            0
        } else if cursor.entry != UNCOUNTED {
            usize::try_from(cursor.entry.saturating_sub(self.entries_before)).unwrap_or(usize::MAX)
        } else {
            self.entries.partition_point(|entry| entry.offset <= cursor.offset)
        };
        let first = first.min(self.entries.len());
        let end = first.saturating_add(max).min(self.entries.len());
        into.reserve(end - first);
        for index in first..end {
            self.entries.get(index + AHEAD).inspect(|entry| prefetch_reference_count(entry));
            into.extend(self.entries.get(index).cloned());
        }
        cursor.entry = self.entries_before + end as u64;
        if let Some(last) = end.checked_sub(1).and_then(|last| self.entries.get(last)) {
            cursor.offset = cursor.offset.max(last.offset);
        }
        cursor.version = if end == self.entries.len() { self.version } else { UNSEEN };
        missed
    }

    /// Starts a new batch; the entries of earlier batches may be overwritten from now on.
    pub fn start_batch(&mut self) {
        self.batch_start = self.top.saturating_add(1);
    }

    /// Appends an item at `offset`. Returns false, and appends nothing, if the offset is not above the top.
    pub fn push(&mut self, offset: u64, item: Arc<T>, bounds: RingBounds) -> bool {
        if offset <= self.top {
            return false;
        }
        if offset - self.top > 1 {
            self.whole_since = offset - 1;
        }
        self.top = offset;
        self.bytes += item.byte_size();
        self.entries.push_back(RingEntry { offset, item });
        self.version += 1;
        self.trim_to_bounds(bounds);
        true
    }

    /// Appends an item at the next offset, as a separate batch, and returns the offset: for a sequence that is only
    /// counted here.
    pub fn append_next(&mut self, item: Arc<T>, bounds: RingBounds) -> u64 {
        self.start_batch();
        let offset = self.top.saturating_add(1);
        self.push(offset, item, bounds);
        offset
    }

    /// Drops entries beyond the bounds, except those of the last batch that are young enough.
    pub fn trim_to_bounds(&mut self, bounds: RingBounds) {
        while let Some(oldest) = self.entries.front() {
            let full = self.entries.len() > bounds.entries || self.bytes > bounds.bytes;
            let spent = full && oldest.offset < self.batch_start;
            if !spent && oldest.item.created_at() >= bounds.since {
                break;
            }
            self.drop_oldest();
        }
        let capacity = self.entries.capacity();
        if self.entries.len() < capacity / 4 && capacity > self.slots_min {
            self.entries.shrink_to(self.slots_min.max(self.entries.len() * 2));
        }
    }

    /// Drops the oldest entries, also of the last batch, until at most `bytes` are left; returns the number dropped.
    pub fn shrink_to_bytes(&mut self, bytes: usize) -> u64 {
        let mut dropped = 0;
        while self.bytes > bytes && self.drop_oldest() {
            dropped += 1;
        }
        dropped
    }

    /// Replaces everything up to `offset`, or to the top if that is higher, by the state there: no reader loses an
    /// entry, but a reader before it needs the state.
    pub fn replace_entries_by_state_at(&mut self, offset: u64) {
        self.clear();
        self.top = self.top.max(offset);
        self.floor = self.top;
        self.restated = self.top;
        self.whole_since = self.top;
        self.version += 1;
    }

    /// Starts a new life of the sequence, which covers everything after `floor`. The entries here belong to the old
    /// life and are dropped; a reader must know the life of its cursor.
    pub fn restart_sequence_from(&mut self, floor: u64) {
        self.clear();
        self.entries.shrink_to(self.slots_min);
        self.floor = floor;
        self.lost = floor;
        self.top = floor;
        self.restated = floor;
        self.whole_since = floor;
        self.batch_start = floor.saturating_add(1);
        self.version += 1;
    }

    fn clear(&mut self) {
        self.entries_before += self.entries.len() as u64;
        self.bytes = 0;
        self.entries.drain(..).for_each(|entry| self.freed.drop_or_defer_item(entry.item));
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(oldest) = self.entries.pop_front() else { return false };
        self.bytes -= oldest.item.byte_size();
        self.entries_before += 1;
        self.floor = oldest.offset;
        self.lost = oldest.offset;
        self.freed.drop_or_defer_item(oldest.item);
        // A full ring drops again soon, and overtaken readers take from here.
        self.entries.get(AHEAD).inspect(|entry| prefetch_reference_count(entry));
        true
    }
}
