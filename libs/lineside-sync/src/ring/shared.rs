//! A ring and its related state behind one short lock.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::freed::DeferredDropItems;
use super::{MissedRingEntries, Ring, RingBounds, RingCursor, RingEntry, RingItem, UNSEEN};
use crate::primitive::atomic::{AtomicU64, Ordering};
use crate::primitive::{Mutex, MutexGuard};

/// A value that contains a ring and is guarded by the ring's lock.
pub trait HasRing {
    /// The type of the ring's items.
    type Item: RingItem + ?Sized;

    /// Returns the ring. Must always be the same one.
    fn ring(&self) -> &Ring<Self::Item>;

    /// Returns the ring for changes; the caller must not replace it by another.
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

/// A ring for many threads, alone or with state that must change together with it.
///
/// *Order*: changes happen one after the other; a thread that sees a [version](Self::version) and then locks sees at
/// least the changes that led to it. *Cost*: one lock for a change or a take, one load to check for news. Items that a
/// change removes from the ring are dropped after the lock is released.
pub struct SharedRing<L: HasRing> {
    /// A copy of the ring's version, readable without the lock.
    version: AtomicU64,
    inner: Mutex<L>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fault: super::model::RingFault,
}

impl<L: HasRing> SharedRing<L> {
    /// Puts `inner` behind the lock.
    pub fn new(mut inner: L) -> Self {
        let ring = inner.ring_mut();
        ring.freed = DeferredDropItems::new_deferred();
        Self {
            version: AtomicU64::new(ring.change_version()),
            inner: Mutex::new(inner),
            #[cfg(all(test, any(loom, shuttle)))]
            fault: super::model::RingFault::None,
        }
    }

    /// Locks the ring. Hold the guard as briefly as possible: take no other lock, call no callback, walk no entries.
    pub fn lock(&self) -> RingGuard<'_, L> {
        let inner = self.inner.lock();
        let locked_version = inner.ring().change_version();
        RingGuard {
            version: &self.version,
            locked_version,
            inner,
            freed: DeferredDropItems::AtOnce,
        }
    }

    /// Returns the ring's [version](Ring::version), without the lock.
    pub fn change_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns true if this reader has not seen everything. One load.
    pub fn has_unseen_changes(&self, cursor: &RingCursor) -> bool {
        cursor.version == UNSEEN || self.change_version() != cursor.version
    }

    /// Calls [`Ring::take_entries_after`] under the lock; the caller walks the entries without it. If `into` must grow,
    /// it grows under the lock: reuse it from call to call.
    pub fn take_entries_after(
        &self,
        cursor: &mut RingCursor,
        max: usize,
        into: &mut Vec<RingEntry<L::Item>>,
    ) -> MissedRingEntries {
        let missed = self.lock().ring().take_entries_after(cursor, max, into);
        #[cfg(all(test, any(loom, shuttle)))]
        if self.fault == super::model::RingFault::VersionReadAfterTake {
            cursor.version = self.change_version();
        }
        missed
    }

    /// Calls [`Ring::push`] under the lock.
    pub fn push(&self, offset: u64, item: Arc<L::Item>, bounds: RingBounds) -> bool {
        self.lock().ring_mut().push(offset, item, bounds)
    }

    /// Calls [`Ring::append_next`] under the lock.
    pub fn append_next(&self, item: Arc<L::Item>, bounds: RingBounds) -> u64 {
        self.lock().ring_mut().append_next(item, bounds)
    }
}

impl<L: HasRing> fmt::Debug for SharedRing<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRing")
            .field("version", &self.change_version())
            .finish_non_exhaustive()
    }
}

/// The held lock. Its drop publishes the version, and then drops the overwritten items.
pub struct RingGuard<'a, L: HasRing> {
    version: &'a AtomicU64,
    /// The version when the lock was taken.
    locked_version: u64,
    // The order of the fields matters: the lock is released first, then the freed items are dropped.
    inner: MutexGuard<'a, L>,
    freed: DeferredDropItems<L::Item>,
}

impl<L: HasRing> Deref for RingGuard<'_, L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.inner
    }
}

impl<L: HasRing> DerefMut for RingGuard<'_, L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.inner
    }
}

impl<L: HasRing> Drop for RingGuard<'_, L> {
    fn drop(&mut self) {
        let ring = self.inner.ring_mut();
        // A store that changes nothing would still take the cache line from all readers.
        if self.locked_version != ring.change_version() {
            self.version.store(ring.change_version(), Ordering::Release);
        }
        self.freed = ring.freed.take_deferred_items();
    }
}

impl<L: HasRing> fmt::Debug for RingGuard<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingGuard").field("version", &self.version).finish_non_exhaustive()
    }
}
