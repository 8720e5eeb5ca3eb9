//! Permits for admission control, granted at once or refused.
//!
//! Admission control needs an answer, not a queue: when all permits are taken, a caller is refused at once and
//! counted, and can be asked to come back later. The limit and the number of permits taken share one atomic word, so
//! the limit is exact at every moment, also while it is being changed.
//!
//! To wait for a permit, use `tokio::sync::Semaphore`.

#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::primitive::atomic::AtomicU64;
use crate::primitive::atomic::Ordering::{Acquire, Relaxed, Release};

/// A bounded number of permits, each granted at once or refused.
///
/// Guarantees:
/// - A permit is granted only while fewer permits than the limit are taken. A refusal means that no permit was left at
///   that moment: there are no spurious refusals.
/// - A permit is returned when it is dropped, also by a panic. Writes made under a permit are visible to the holder of
///   the next one.
/// - Cost: a permit is one load and one compare-and-exchange, repeated while others change the word at the same
///   moment; its return is one atomic subtraction; a refusal writes only the count of refusals, on a separate cache
///   line. Nothing allocates, waits or locks.
///
/// ```
/// use lineside_sync::semaphore::Semaphore;
///
/// let connections = Semaphore::new(1);
/// let first = connections.try_acquire().expect("a permit is left");
/// assert!(connections.try_acquire().is_none(), "refused at once");
/// drop(first);
/// assert!(connections.try_acquire().is_some());
/// assert_eq!(connections.refused_count(), 1);
/// ```
pub struct Semaphore {
    /// The limit in the upper half, the number of permits taken in the lower half.
    word: CachePadded<AtomicU64>,
    refused: CachePadded<AtomicU64>,
    #[cfg(all(test, any(loom, shuttle)))]
    fault: Option<model::SemaphoreFault>,
}

const HALF: u32 = u32::BITS;

const fn unpack_limit(word: u64) -> u32 {
    (word >> HALF) as u32
}

const fn unpack_permits(word: u64) -> u32 {
    word as u32
}

impl Semaphore {
    /// Creates a semaphore that grants at most `limit` permits at a time.
    pub fn new(limit: u32) -> Self {
        Self {
            word: CachePadded::new(AtomicU64::new(u64::from(limit) << HALF)),
            refused: CachePadded::new(AtomicU64::new(0)),
            #[cfg(all(test, any(loom, shuttle)))]
            fault: None,
        }
    }

    /// Returns a permit, if one is left at this moment. It borrows the semaphore, which is the cheapest way.
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.try_take_permit().then(|| Permit { semaphore: self })
    }

    /// Returns a permit that can be moved into a task, if one is left at this moment. Compared to
    /// [`try_acquire`](Self::try_acquire) a granted permit costs one more reference count.
    pub fn try_acquire_owned(self: &Arc<Self>) -> Option<OwnedPermit> {
        self.try_take_permit().then(|| OwnedPermit { semaphore: Arc::clone(self) })
    }

    /// Returns the largest number of permits that may be taken at a time.
    pub fn limit(&self) -> u32 {
        unpack_limit(self.word.load(Relaxed))
    }

    /// Returns the number of permits taken: exact at some moment during the call.
    pub fn permits_held(&self) -> u32 {
        unpack_permits(self.word.load(Relaxed))
    }

    /// Returns the number of refusals since the semaphore was created.
    pub fn refused_count(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Changes the limit immediately. Permits taken beyond a lower limit stay with their holders; no permit is granted
    /// until enough of them are returned.
    pub fn set_limit(&self, limit: u32) {
        let limit = u64::from(limit) << HALF;
        #[cfg(all(test, any(loom, shuttle)))]
        if self.fault == Some(model::SemaphoreFault::LimitIsStored) {
            let held = self.permits_held();
            self.word.store(limit | u64::from(held), Relaxed);
            return;
        }
        let with_limit = |word| Some(limit | u64::from(unpack_permits(word)));
        let changed = self.word.fetch_update(Relaxed, Relaxed, with_limit);
        debug_assert!(changed.is_ok(), "an update without a condition cannot fail");
    }

    fn try_take_permit(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        loop {
            if unpack_permits(word) >= unpack_limit(word) {
                self.refused.fetch_add(1, Relaxed);
                return false;
            }
            #[cfg(all(test, any(loom, shuttle)))]
            if self.fault == Some(model::SemaphoreFault::ChecksThenActs) {
                self.word.fetch_add(1, Acquire);
                return true;
            }
            // The count is below the limit, which is at most `u32::MAX`: the lower half cannot overflow into the
            // upper.
            match self.word.compare_exchange_weak(word, word + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(changed) => word = changed,
            }
        }
    }

    fn return_permit(&self) {
        #[cfg(all(test, any(loom, shuttle)))]
        match self.fault {
            Some(model::SemaphoreFault::ComesBackUnordered) => {
                self.word.fetch_sub(1, Relaxed);
                return;
            }
            Some(model::SemaphoreFault::ComesBackInTwoSteps) => {
                let word = self.word.load(Relaxed);
                self.word.store(word - 1, Release);
                return;
            }
            Some(model::SemaphoreFault::LostByPanic) if std::thread::panicking() => return,
            _ => {}
        }
        self.word.fetch_sub(1, Release);
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Relaxed);
        f.debug_struct("Semaphore")
            .field("limit", &unpack_limit(word))
            .field("held", &unpack_permits(word))
            .field("refused", &self.refused_count())
            .finish()
    }
}

/// A permit of a [`Semaphore`]; returned when dropped.
#[must_use = "dropping the permit releases it"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.semaphore.return_permit();
    }
}

/// A permit of a [`Semaphore`] that keeps the semaphore alive; returned when dropped. One pointer wide.
#[must_use = "dropping the permit releases it"]
pub struct OwnedPermit {
    semaphore: Arc<Semaphore>,
}

impl fmt::Debug for OwnedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}

impl Drop for OwnedPermit {
    fn drop(&mut self) {
        self.semaphore.return_permit();
    }
}
