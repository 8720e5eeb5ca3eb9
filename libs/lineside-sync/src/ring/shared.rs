//! A ring, and what belongs to it, behind one short lock.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::freed::Freed;
use super::{Bounds, Cursor, Entry, Item, Missed, Ring, UNSEEN};
use crate::primitive::atomic::{AtomicU64, Ordering};
use crate::primitive::{Mutex, MutexGuard};

/// Something with a ring in it, to be guarded by the ring's lock.
pub trait HasRing {
    /// What the ring holds.
    type Item: Item + ?Sized;

    /// The ring. Always the same one.
    fn ring(&self) -> &Ring<Self::Item>;

    /// The ring, to be changed, but not replaced by another.
    fn ring_mut(&mut self) -> &mut Ring<Self::Item>;
}

impl<T: Item + ?Sized> HasRing for Ring<T> {
    type Item = T;

    fn ring(&self) -> &Ring<T> {
        self
    }

    fn ring_mut(&mut self) -> &mut Ring<T> {
        self
    }
}

/// A ring for many threads, alone or with what else must change together with it.
///
/// *Order*: changes happen one after the other; whoever sees a [version](Self::version) and then locks sees
/// at least all that led to it. *Cost*: one lock for a change or a take, one load for asking whether
/// there is anything new. What a change takes out of the ring is dropped after the lock is released.
pub struct Shared<L: HasRing> {
    /// The ring's version, readable without its lock.
    version: AtomicU64,
    inside: Mutex<L>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) mistake: super::model::Mistake,
}

impl<L: HasRing> Shared<L> {
    /// Puts it behind the lock.
    pub fn new(mut inside: L) -> Self {
        let ring = inside.ring_mut();
        ring.freed = Freed::later();
        Self {
            version: AtomicU64::new(ring.version()),
            inside: Mutex::new(inside),
            #[cfg(all(test, any(loom, shuttle)))]
            mistake: super::model::Mistake::None,
        }
    }

    /// Locks. For as short as can be: no other lock, no callback, no walk over entries.
    pub fn lock(&self) -> Guard<'_, L> {
        let inside = self.inside.lock();
        let before = inside.ring().version();
        Guard { version: &self.version, before, inside, freed: Freed::AtOnce }
    }

    /// The ring's [version](Ring::version), without the lock.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether there is something that this reader has not seen. One load.
    pub fn has_news(&self, cursor: &Cursor) -> bool {
        cursor.version == UNSEEN || self.version() != cursor.version
    }

    /// [`Ring::take_after`] under the lock; what was taken is walked without it. Where `into` must grow for
    /// what there is, it does so under the lock: keep it from one call to the next.
    pub fn take_after(
        &self,
        cursor: &mut Cursor,
        most: usize,
        into: &mut Vec<Entry<L::Item>>,
    ) -> Missed {
        let missed = self.lock().ring().take_after(cursor, most, into);
        #[cfg(all(test, any(loom, shuttle)))]
        if self.mistake == super::model::Mistake::VersionReadAfterTake {
            cursor.version = self.version();
        }
        missed
    }

    /// [`Ring::push`] under the lock.
    pub fn push(&self, offset: u64, item: Arc<L::Item>, bounds: Bounds) -> bool {
        self.lock().ring_mut().push(offset, item, bounds)
    }

    /// [`Ring::append`] under the lock.
    pub fn append(&self, item: Arc<L::Item>, bounds: Bounds) -> u64 {
        self.lock().ring_mut().append(item, bounds)
    }
}

impl<L: HasRing> fmt::Debug for Shared<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// The lock, held. Its end makes the version known and then drops what was overwritten.
pub struct Guard<'a, L: HasRing> {
    version: &'a AtomicU64,
    /// The version when the lock was taken.
    before: u64,
    // In this order: unlocked first, then the freed items are dropped.
    inside: MutexGuard<'a, L>,
    freed: Freed<L::Item>,
}

impl<L: HasRing> Deref for Guard<'_, L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.inside
    }
}

impl<L: HasRing> DerefMut for Guard<'_, L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.inside
    }
}

impl<L: HasRing> Drop for Guard<'_, L> {
    fn drop(&mut self) {
        let ring = self.inside.ring_mut();
        // A store that changes nothing would still take the line from all who read it.
        if self.before != ring.version() {
            self.version.store(ring.version(), Ordering::Release);
        }
        self.freed = ring.freed.take();
    }
}

impl<L: HasRing> fmt::Debug for Guard<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("version", &self.version).finish_non_exhaustive()
    }
}
