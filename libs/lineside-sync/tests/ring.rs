//! Tests of the ring: compared with a plain model of all entries ever pushed, and its readers against a fast writer.
#![cfg(not(any(loom, shuttle)))]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lineside_sync::ring::{
    HasRing as _, MissedRingEntries, Ring, RingBounds, RingCursor, RingEntry, RingItem, SLOTS_MIN,
    SharedRing,
};
use proptest::prelude::*;

const READERS: usize = 3;
const ENTRIES: u64 = if cfg!(miri) { 300 } else { 300_000 };

/// An item with a given size, created at the second of its offset.
struct TestItem {
    bytes: usize,
    at: Duration,
}

impl RingItem for TestItem {
    fn byte_size(&self) -> usize {
        self.bytes
    }

    fn created_at(&self) -> Duration {
        self.at
    }
}

fn paper(offset: u64, bytes: usize) -> Arc<TestItem> {
    Arc::new(TestItem { bytes, at: Duration::from_secs(offset) })
}

fn push(ring: &mut Ring<TestItem>, offset: u64, bounds: RingBounds) -> bool {
    ring.push(offset, paper(offset, 10), bounds)
}

fn offsets(ring: &Ring<TestItem>, mut from: u64) -> Vec<u64> {
    std::iter::from_fn(|| {
        let (entry, _) = ring.first_entry_after(from)?;
        from = entry.offset;
        Some(from)
    })
    .collect()
}

#[test]
fn offsets_need_not_be_consecutive_but_must_rise() {
    let mut ring = Ring::new(5);
    assert!(
        !push(&mut ring, 5, RingBounds::NONE),
        "the state already contains the offset of the floor"
    );
    assert!(push(&mut ring, 8, RingBounds::NONE) && push(&mut ring, 20, RingBounds::NONE));
    assert!(!push(&mut ring, 20, RingBounds::NONE));
    assert_eq!(offsets(&ring, 5), [8, 20]);
    assert_eq!(offsets(&ring, 10), [20]);
    assert!(ring.first_entry_after(8).is_some_and(|(entry, last)| entry.offset == 20 && last));
    assert!(ring.first_entry_after(20).is_none());
}

#[test]
fn a_full_ring_overwrites_its_oldest_entry() {
    let mut ring = Ring::new(0);
    for offset in 1..=5 {
        ring.start_batch();
        push(&mut ring, offset, RingBounds { entries: 2, ..RingBounds::NONE });
    }
    assert_eq!(offsets(&ring, 0), [4, 5]);
    assert!(
        ring.holds_all_entries_after(3)
            && !ring.holds_all_entries_after(2)
            && ring.has_reader_lost_entries(2)
    );
}

#[test]
fn a_ring_is_bounded_by_bytes_and_age() {
    let mut ring = Ring::new(0);
    for offset in 1..=5 {
        ring.start_batch();
        push(&mut ring, offset, RingBounds { bytes: 30, ..RingBounds::NONE });
    }
    assert_eq!((offsets(&ring, 0), ring.byte_size()), (vec![3, 4, 5], 30));
    ring.trim_to_bounds(RingBounds { since: Duration::from_secs(5), ..RingBounds::NONE });
    assert_eq!((offsets(&ring, 0), ring.oldest_covered_offset()), (vec![5], 4));
    ring.trim_to_bounds(RingBounds { since: Duration::from_secs(6), ..RingBounds::NONE });
    assert_eq!(
        (ring.len(), ring.byte_size(), ring.oldest_covered_offset()),
        (0, 0, 5),
        "the age bound may drop a whole batch"
    );
}

#[test]
fn the_last_batch_is_retained_completely() {
    let mut ring = Ring::new(0);
    let tight = RingBounds { entries: 2, bytes: 1, ..RingBounds::NONE };
    ring.start_batch();
    for offset in 1..=4 {
        push(&mut ring, offset, tight);
    }
    assert_eq!(offsets(&ring, 0), [1, 2, 3, 4]);
    ring.start_batch();
    push(&mut ring, 9, tight);
    assert_eq!(offsets(&ring, 0), [9]);
    assert_eq!(ring.shrink_to_bytes(0), 1);
    assert!(ring.has_reader_lost_entries(8) && ring.holds_all_entries_after(9));
}

#[test]
fn a_restatement_requires_the_state_but_loses_no_entries() {
    let mut ring = Ring::new(0);
    push(&mut ring, 3, RingBounds::NONE);
    ring.replace_entries_by_state_at(7);
    assert!(
        !ring.holds_all_entries_after(3)
            && !ring.has_reader_lost_entries(3)
            && ring.holds_all_entries_after(7)
    );
    assert_eq!((ring.newest_offset(), ring.byte_size()), (7, 0));
    assert_eq!(
        ring.entries_missed_since(&RingCursor::cursor_at_offset(3)),
        MissedRingEntries::Uncounted
    );
    ring.start_batch();
    push(&mut ring, 8, RingBounds::NONE);
    ring.shrink_to_bytes(0);
    assert!(
        ring.has_reader_lost_entries(3)
            && ring.has_reader_lost_entries(7)
            && !ring.has_reader_lost_entries(8)
    );
    assert_eq!(
        ring.entries_missed_since(&RingCursor::cursor_at_offset(7)),
        MissedRingEntries::Entries(1)
    );
}

#[test]
fn a_restarted_ring_covers_no_earlier_position() {
    let mut ring = Ring::new(0);
    let mut cursor = RingCursor::cursor_at_offset(0);
    push(&mut ring, 3, RingBounds::NONE);
    let _ = ring.take_entries_after(&mut cursor, 1, &mut Vec::new());
    ring.restart_sequence_from(40);
    assert_eq!(
        (ring.len(), ring.byte_size(), ring.newest_offset(), ring.oldest_covered_offset()),
        (0, 0, 40, 40)
    );
    assert_eq!(ring.entries_missed_since(&cursor), MissedRingEntries::Uncounted);
}

#[test]
fn a_reader_may_read_in_parts() {
    let log = SharedRing::new(Ring::new(0));
    for _ in 0..5 {
        log.append_next(Arc::new([0_u8; 1]), RingBounds::NONE);
    }
    let (mut cursor, mut taken) = (RingCursor::cursor_at_offset(1), Vec::new());
    assert_eq!(log.take_entries_after(&mut cursor, 2, &mut taken), MissedRingEntries::Nothing);
    assert!(cursor.offset() == 3 && log.has_unseen_changes(&cursor));
    assert_eq!(log.take_entries_after(&mut cursor, 2, &mut taken), MissedRingEntries::Nothing);
    assert!(cursor.offset() == 5 && !log.has_unseen_changes(&cursor));
    assert_eq!(taken.iter().map(|entry| entry.offset).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

/// Counts its drops, and locks the log in its drop.
struct Tells(Arc<AtomicUsize>, std::sync::Weak<SharedRing<Ring<Tells>>>);

impl RingItem for Tells {
    fn byte_size(&self) -> usize {
        1
    }
}

impl Drop for Tells {
    fn drop(&mut self) {
        if let Some(log) = self.1.upgrade() {
            // Deadlocks if the lock is held.
            let _guard = log.lock();
        }
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn overwritten_entries_are_dropped_once_and_outside_the_lock() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let log: Arc<SharedRing<Ring<Tells>>> = Arc::new(SharedRing::new(Ring::new(0)));
    let item = || Arc::new(Tells(dropped.clone(), Arc::downgrade(&log)));
    let two = RingBounds { entries: 2, ..RingBounds::NONE };
    (0..5).for_each(|_| {
        log.append_next(item(), two);
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    log.lock().ring_mut().replace_entries_by_state_at(9);
    assert_eq!(dropped.load(Ordering::Relaxed), 5);
    log.append_next(item(), two);
    log.lock().restart_sequence_from(0);
    assert_eq!(dropped.load(Ordering::Relaxed), 6);
}

/// A step with a ring.
#[derive(Clone, Debug)]
enum Step {
    /// The distance from the newest offset, the size, and true for a new batch.
    Push(u64, usize, bool),
    Restate(u64),
    Shrink(usize),
    /// The reader's number, and the largest number of entries to take.
    Take(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..4_u64, 1..40_usize, any::<bool>()).prop_map(|(n, bytes, new)| Step::Push(n, bytes, new)),
        1 => (0..4_u64).prop_map(Step::Restate),
        1 => (0..200_usize).prop_map(Step::Shrink),
        5 => (0..READERS, prop_oneof![0..4_usize, Just(usize::MAX)]).prop_map(|(n, most)| Step::Take(n, most)),
    ]
}

/// A model of the ring: a plain queue of all entries that it was given.
#[derive(Default)]
struct Model {
    /// The offset and bytes of each entry.
    entries: VecDeque<(u64, usize)>,
    overwritten: Vec<u64>,
    batch_start: u64,
    restated: u64,
    top: u64,
}

impl Model {
    fn trim(&mut self, bounds: RingBounds) {
        let full = |entries: &VecDeque<(u64, usize)>| {
            entries.len() > bounds.entries
                || entries.iter().map(|entry| entry.1).sum::<usize>() > bounds.bytes
        };
        while full(&self.entries) && self.entries[0].0 < self.batch_start {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        self.overwritten.extend(self.entries.pop_front().map(|entry| entry.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 8 } else { 512 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_receive_retained_entries_and_the_count_of_missed_ones(
        steps in proptest::collection::vec(step(), 1..120),
        entries in 1..12_usize,
        slots in prop_oneof![Just(SLOTS_MIN), 1..40_usize],
    ) {
        let bounds = RingBounds { entries, bytes: 150, ..RingBounds::NONE };
        let mut ring = Ring::with_min_slots(0, slots);
        let mut model = Model::default();
        let mut cursors = [RingCursor::cursor_at_offset(0); READERS];
        for cursor in &mut cursors {
            // From here on the cursors count entries.
            prop_assert_eq!(ring.take_entries_after(cursor, 0, &mut Vec::new()), MissedRingEntries::Nothing);
        }
        for step in steps {
            match step {
                Step::Push(by, bytes, new) => {
                    if new {
                        ring.start_batch();
                        model.batch_start = model.top + 1;
                    }
                    model.top += by;
                    model.entries.push_back((model.top, bytes));
                    model.trim(bounds);
                    prop_assert!(ring.push(model.top, paper(model.top, bytes), bounds));
                }
                Step::Restate(by) => {
                    model.top += by;
                    model.restated = model.top;
                    model.entries.clear();
                    ring.replace_entries_by_state_at(model.top);
                }
                Step::Shrink(bytes) => {
                    let before = model.overwritten.len();
                    while model.entries.iter().map(|entry| entry.1).sum::<usize>() > bytes {
                        model.drop_oldest();
                    }
                    prop_assert_eq!(ring.shrink_to_bytes(bytes), (model.overwritten.len() - before) as u64);
                }
                Step::Take(reader, most) => {
                    let cursor = &mut cursors[reader];
                    let position = cursor.offset();
                    let missed: Vec<u64> =
                        model.overwritten.iter().copied().filter(|offset| *offset > position).collect();
                    let mut taken: Vec<RingEntry<TestItem>> = Vec::new();
                    let missed_by_take = ring.take_entries_after(cursor, most, &mut taken);
                    let expected = if position < model.restated {
                        MissedRingEntries::Uncounted
                    } else if missed.is_empty() {
                        MissedRingEntries::Nothing
                    } else {
                        MissedRingEntries::Entries(missed.len() as u64)
                    };
                    prop_assert_eq!(missed_by_take, expected);
                    let taken_offsets: Vec<u64> = taken.iter().map(|entry| entry.offset).collect();
                    let retained_offsets = model.entries.iter().map(|entry| entry.0).filter(|offset| *offset > position);
                    prop_assert_eq!(taken_offsets, retained_offsets.take(most).collect::<Vec<_>>());
                }
            }
            let retained_offsets: Vec<u64> = model.entries.iter().map(|entry| entry.0).collect();
            prop_assert_eq!(offsets(&ring, 0), retained_offsets);
            prop_assert_eq!(ring.byte_size(), model.entries.iter().map(|entry| entry.1).sum::<usize>());
            prop_assert_eq!(ring.newest_offset(), model.top);
            for position in 0..=model.top {
                prop_assert_eq!(
                    ring.has_reader_lost_entries(position),
                    model.overwritten.last().is_some_and(|last| *last > position)
                );
            }
        }
    }
}

#[test]
fn readers_account_for_every_entry_of_a_fast_writer() {
    let log: SharedRing<Ring<[u64; 1]>> = SharedRing::new(Ring::new(0));
    let is_finished = AtomicBool::new(false);
    let bounds = RingBounds { entries: 64, ..RingBounds::NONE };
    let (log, is_finished) = (&log, &is_finished);
    thread::scope(|scope| {
        for reader in 0..READERS {
            scope.spawn(move || {
                let (mut cursor, mut taken, mut at) =
                    (RingCursor::cursor_at_offset(0), Vec::new(), 0);
                loop {
                    // The load comes first: entries written before the end are still read.
                    let last = is_finished.load(Ordering::Acquire);
                    if log.has_unseen_changes(&cursor) {
                        let max = if reader == 0 { 7 } else { usize::MAX };
                        match log.take_entries_after(&mut cursor, max, &mut taken) {
                            MissedRingEntries::Nothing => {}
                            MissedRingEntries::Entries(entries) => at += entries,
                            MissedRingEntries::Uncounted => {
                                panic!("the ring did not count the dropped entries")
                            }
                        }
                    } else if last {
                        break;
                    }
                    for entry in taken.drain(..) {
                        at += 1;
                        assert_eq!(
                            (entry.offset, entry.item[0]),
                            (at, !at),
                            "an entry was skipped, torn or repeated"
                        );
                    }
                }
                assert_eq!(at, ENTRIES);
            });
        }
        for offset in 1..=ENTRIES {
            assert_eq!(log.append_next(Arc::new([!offset]), bounds), offset);
        }
        is_finished.store(true, Ordering::Release);
    });
}

#[test]
fn a_ring_grows_and_shrinks_with_its_entries() {
    let mut ring: Ring<[u8; 8]> = Ring::new(0);
    assert!(ring.slot_count() <= 2 * SLOTS_MIN, "an empty ring has {} slots", ring.slot_count());
    (0..1_000).for_each(|_| {
        ring.append_next(Arc::default(), RingBounds::NONE);
    });
    assert!(ring.slot_count() >= 1_000);
    ring.shrink_to_bytes(8);
    ring.append_next(Arc::default(), RingBounds { entries: 1, ..RingBounds::NONE });
    assert!(
        ring.slot_count() <= 2 * SLOTS_MIN,
        "a ring of one entry has {} slots",
        ring.slot_count()
    );
}
