//! Models of the shared ring: the guarantees of its lock and its version in every interleaving.

use std::sync::Arc;

use super::{MissedRingEntries, Ring, RingBounds, RingCursor, RingEntry, RingItem, SharedRing};
use crate::model::{explore, finds_a_fault};
use crate::primitive::thread;

/// A fault that the models must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RingFault {
    None,
    /// A reader records the version after its take as seen, not the version that it took.
    VersionReadAfterTake,
    /// A reader asks for missed entries under one lock, and takes entries under another.
    MissedReadBefore,
}

const ENTRIES: u64 = 3;

struct Number(u64);

impl RingItem for Number {
    fn byte_size(&self) -> usize {
        1
    }
}

/// One reader looks twice while a ring of one entry is overwritten, and once more at the end.
fn reading_while_it_is_written(fault: RingFault) {
    let mut log = SharedRing::new(Ring::new(0));
    log.fault = fault;
    let log = Arc::new(log);
    let writer = thread::spawn({
        let log = log.clone();
        move || {
            for number in 1..=ENTRIES {
                let bounds = RingBounds { entries: 1, ..RingBounds::NONE };
                assert_eq!(log.append_next(Arc::new(Number(number)), bounds), number);
            }
        }
    });
    let mut reader = Reader { cursor: RingCursor::cursor_at_offset(0), accounted: 0, fault };
    reader.take_entries(&log);
    reader.take_entries(&log);
    writer.join().expect("no panic");
    reader.take_entries(&log);
    assert_eq!(reader.accounted, ENTRIES, "an entry was neither taken nor reported as missed");
    assert!(!log.has_unseen_changes(&reader.cursor));
}

struct Reader {
    cursor: RingCursor,
    /// The number of entries taken or missed.
    accounted: u64,
    fault: RingFault,
}

impl Reader {
    fn take_entries(&mut self, log: &SharedRing<Ring<Number>>) {
        if !log.has_unseen_changes(&self.cursor) {
            return;
        }
        let asked = log.lock().entries_missed_since(&self.cursor);
        let mut taken: Vec<RingEntry<Number>> = Vec::new();
        let told = log.take_entries_after(&mut self.cursor, usize::MAX, &mut taken);
        let missed = if self.fault == RingFault::MissedReadBefore { asked } else { told };
        match missed {
            MissedRingEntries::Nothing => {}
            MissedRingEntries::Entries(entries) => self.accounted += entries,
            MissedRingEntries::Uncounted => {
                panic!("the ring did not count the dropped entries")
            }
        }
        for entry in taken {
            self.accounted += 1;
            assert_eq!(entry.offset, self.accounted, "an entry was skipped or repeated");
            assert_eq!(entry.item.0, entry.offset, "an entry has the item of another");
        }
    }
}

#[test]
fn every_entry_is_read_or_counted_as_missed() {
    explore(|| reading_while_it_is_written(RingFault::None));
}

#[test]
fn reading_the_version_too_late_is_detected() {
    finds_a_fault(|| reading_while_it_is_written(RingFault::VersionReadAfterTake));
}

#[test]
fn a_count_from_another_read_is_detected() {
    finds_a_fault(|| reading_while_it_is_written(RingFault::MissedReadBefore));
}
