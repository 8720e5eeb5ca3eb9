//! The progress of a publisher.

use crate::primitive::atomic::{AtomicU64, Ordering};

/// The position up to which a sequence has been published to all its topics, and the life it is in. A listener that
/// then takes all entries of its topic is up to date to here, even if its topic had no change.
///
/// One writer at a time. Readers never wait, and never pair one life with the offset of another: they read again if a
/// life began meanwhile. Before the first life both values are 0.
#[derive(Debug, Default)]
pub struct PublishedSequencePosition {
    pub(super) generation: AtomicU64,
    pub(super) offset: AtomicU64,
}

impl PublishedSequencePosition {
    /// Creates a position at zero, before the first life.
    pub fn new() -> Self {
        Self { generation: AtomicU64::new(0), offset: AtomicU64::new(0) }
    }

    /// Returns the life and the offset in it.
    pub fn read_position(&self) -> (u64, u64) {
        loop {
            let generation = self.generation.load(Ordering::Acquire);
            let offset = self.offset.load(Ordering::Acquire);
            // An offset of the next life is stored after the life's number, so a reader that saw the offset sees the
            // change here.
            if self.generation.load(Ordering::Acquire) == generation {
                return (generation, offset);
            }
        }
    }

    /// Raises the position; an offset below the one reached in this life changes nothing. A life that has ended never
    /// comes back.
    pub fn advance_position(&self, generation: u64, offset: u64) {
        if self.generation.load(Ordering::Acquire) != generation {
            // The offset is reset first: no reader may pair the old life with the new offset, or the new life with the
            // old offset.
            self.offset.store(0, Ordering::Release);
            self.generation.store(generation, Ordering::Release);
        }
        self.offset.fetch_max(offset, Ordering::AcqRel);
    }
}
