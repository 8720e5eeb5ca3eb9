//! How far a publisher is.

use crate::primitive::atomic::{AtomicU64, Ordering};

/// How far a sequence has been published to all its topics, and in which of its lives: whoever has then
/// taken all that its topic holds, holds everything up to here, also where the topic itself saw nothing.
///
/// One writer at a time. Readers never wait, and never pair one life with another's offset; they read again
/// when a life began meanwhile. Before the first life both are 0.
#[derive(Debug, Default)]
pub struct ReachedPosition {
    pub(super) life: AtomicU64,
    pub(super) offset: AtomicU64,
}

impl ReachedPosition {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { life: AtomicU64::new(0), offset: AtomicU64::new(0) }
    }

    /// The life, and how far in it.
    pub fn read_position(&self) -> (u64, u64) {
        loop {
            let life = self.life.load(Ordering::Acquire);
            let offset = self.offset.load(Ordering::Acquire);
            // An offset of the next life is stored after its number, so seeing it shows here.
            if self.life.load(Ordering::Acquire) == life {
                return (life, offset);
            }
        }
    }

    /// Raises it; an offset below what has been reached in this life changes nothing. A life that is over
    /// does not come back.
    pub fn raise_to(&self, life: u64, offset: u64) {
        if self.life.load(Ordering::Acquire) != life {
            // In this order: no reader may pair the old life with the new offset, or the new life with
            // the old offset.
            self.offset.store(0, Ordering::Release);
            self.life.store(life, Ordering::Release);
        }
        self.offset.fetch_max(offset, Ordering::AcqRel);
    }
}
