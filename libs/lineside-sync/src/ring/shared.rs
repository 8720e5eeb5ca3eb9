//! A ring, and what belongs to it, behind one short lock.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::freed::FreedItems;
use super::{MissedEntries, Ring, RingBounds, RingCursor, RingEntry, RingItem, UNSEEN};
use crate::primitive::atomic::{AtomicU64, Ordering};
use crate::primitive::{Mutex, MutexGuard};

/// Something with a ring in it, to be guarded by the ring's lock.
pub trait HasRing {
    /// What the ring holds.
    type Item: RingItem + ?Sized;

    /// The ring. Always the same one.
    fn ring(&self) -> &Ring<Self::Item>;

    /// The ring, to be changed, but not replaced by another.
    fn ring_mut(&mut self) -> &mut Ring<Self::Item>;
}

impl<T: RingItem + ?Sized> HasRing for Ring<T> {
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
pub struct SharedRing<L: HasRing> {
    /// The ring's version, readable without its lock.
    version: AtomicU64,
    inside: Mutex<L>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) mistake: super::model::Mistake,
}

impl<L: HasRing> SharedRing<L> {
    /// Puts it behind the lock.
    pub fn new(mut inside: L) -> Self {
        let ring = inside.ring_mut();
        ring.freed = FreedItems::new_deferred();
        Self {
            version: AtomicU64::new(ring.version()),
            inside: Mutex::new(inside),
            #[cfg(all(test, any(loom, shuttle)))]
            mistake: super::model::Mistake::None,
        }
    }

    /// Locks. For as short as can be: no other lock, no callback, no walk over entries.
    pub fn lock(&self) -> RingGuard<'_, L> {
        let inside = self.inside.lock();
        let before = inside.ring().version();
        RingGuard { version: &self.version, before, inside, freed: FreedItems::AtOnce }
    }

    /// The ring's [version](Ring::version), without the lock.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether there is something that this reader has not seen. One load.
    pub fn has_news(&self, cursor: &RingCursor) -> bool {
        cursor.version == UNSEEN || self.version() != cursor.version
    }

    /// [`Ring::take_after`] under the lock; what was taken is walked without it. Where `into` must grow for
    /// what there is, it does so under the lock: keep it from one call to the next.
    pub fn take_after(
        &self,
        cursor: &mut RingCursor,
        most: usize,
        into: &mut Vec<RingEntry<L::Item>>,
    ) -> MissedEntries {
        let missed = self.lock().ring().take_after(cursor, most, into);
        #[cfg(all(test, any(loom, shuttle)))]
        if self.mistake == super::model::Mistake::VersionReadAfterTake {
            cursor.version = self.version();
        }
        missed
    }

    /// [`Ring::push`] under the lock.
    pub fn push(&self, offset: u64, item: Arc<L::Item>, bounds: RingBounds) -> bool {
        self.lock().ring_mut().push(offset, item, bounds)
    }

    /// [`Ring::append_next`] under the lock.
    pub fn append_next(&self, item: Arc<L::Item>, bounds: RingBounds) -> u64 {
        self.lock().ring_mut().append_next(item, bounds)
    }
}

impl<L: HasRing> fmt::Debug for SharedRing<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// The lock, held. Its end makes the version known and then drops what was overwritten.
pub struct RingGuard<'a, L: HasRing> {
    version: &'a AtomicU64,
    /// The version when the lock was taken.
    before: u64,
    // In this order: unlocked first, then the freed items are dropped.
    inside: MutexGuard<'a, L>,
    freed: FreedItems<L::Item>,
}

impl<L: HasRing> Deref for RingGuard<'_, L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.inside
    }
}

impl<L: HasRing> DerefMut for RingGuard<'_, L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.inside
    }
}

impl<L: HasRing> Drop for RingGuard<'_, L> {
    fn drop(&mut self) {
        let ring = self.inside.ring_mut();
        // A store that changes nothing would still take the line from all who read it.
        if self.before != ring.version() {
            self.version.store(ring.version(), Ordering::Release);
        }
        self.freed = ring.freed.take_items();
    }
}

impl<L: HasRing> fmt::Debug for RingGuard<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("version", &self.version).finish_non_exhaustive()
    }
}
