//! A spin lock for a few instructions: one atomic exchange to lock, one store to unlock.
//!
//! A general lock must look for sleepers when it is unlocked, which costs a second exchange. This lock guards only an
//! append or a swap. So a thread that finds it locked spins for a microsecond and then yields, because the holder must
//! have been interrupted.

#![expect(unsafe_code, reason = "the lock gives access to the value that it guards")]

use std::{
    cell::UnsafeCell,
    fmt,
    ops::{Deref, DerefMut},
};

use super::fault_injection::{FaultInjection, InjectedMailboxFault};
use crate::primitive::{
    atomic::{AtomicBool, Ordering},
    hint, thread,
};

/// A value that only one thread at a time may access.
pub(super) struct SpinLock<T> {
    is_held: AtomicBool,
    faults: FaultInjection,
    value: UnsafeCell<T>,
}

// SAFETY: a `&SpinLock` hands out the value to one thread at a time, as a `Mutex` does: sending it must be sound.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub(super) fn new(value: T) -> Self {
        let faults = FaultInjection::default();
        Self { is_held: AtomicBool::new(false), faults, value: UnsafeCell::new(value) }
    }

    #[cfg(all(test, loom))]
    pub(super) fn with_fault(value: T, fault: InjectedMailboxFault) -> Self {
        Self { faults: FaultInjection(Some(fault)), ..Self::new(value) }
    }

    /// Locks the value, unless another thread holds the lock.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<SpinLockGuard<'_, T>> {
        // Acquire: sees the writes of the last holder.
        let taken =
            self.is_held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Dropping a guard unlocks, so a failed attempt must not create one.
        if taken.is_ok() { Some(SpinLockGuard(self)) } else { None }
    }

    /// Locks the value; waits until no other thread holds the lock.
    #[inline]
    pub(super) fn lock(&self) -> SpinLockGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.spin_until_locked())
    }

    #[cold]
    fn spin_until_locked(&self) -> SpinLockGuard<'_, T> {
        let mut spin = SpinBackoff::new();
        loop {
            // A load leaves the cache line with the holder, an exchange takes it away. This check is skipped under
            // loom, which may return an old value forever.
            let is_free = cfg!(loom) || !self.is_held.load(Ordering::Relaxed);
            if is_free && let Some(guard) = self.try_lock() {
                return guard;
            }
            spin.back_off_once();
        }
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

/// Access to the value; unlocks when dropped.
pub(super) struct SpinLockGuard<'a, T>(&'a SpinLock<T>);

// SAFETY: a shared guard gives no more than a shared reference to the value.
unsafe impl<T: Sync> Sync for SpinLockGuard<'_, T> {}

impl<T> Deref for SpinLockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held for as long as this guard lives, so no other thread has a reference.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for SpinLockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this guard is borrowed alone.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for SpinLockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: the next holder sees this holder's writes.
        let ordering = match self.0.faults.injects_fault(InjectedMailboxFault::UnlockRelaxed) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.0.is_held.store(false, ordering);
    }
}

/// A backoff for a wait on another thread: spin, then yield, then sleep.
#[derive(Debug)]
pub(super) struct SpinBackoff(u32);

impl SpinBackoff {
    /// The rounds of spinning, of 1, 2, 4 … 32 pauses: a microsecond or two in total.
    const SPINS: u32 = 6;
    /// The number of yields after that.
    #[cfg(not(any(loom, shuttle)))]
    const YIELDS: u32 = 200;

    pub(super) fn new() -> Self {
        Self(0)
    }

    pub(super) fn back_off_once(&mut self) {
        let n = self.0;
        self.0 = n.saturating_add(1);
        if cfg!(any(loom, shuttle)) {
            return thread::yield_now();
        }
        if n < Self::SPINS {
            (0..1_u32 << n).for_each(|_| hint::spin_loop());
            return;
        }
        // A holder of lower priority would never run if a higher-priority waiter only yielded.
        #[cfg(not(any(loom, shuttle)))]
        if n >= Self::SPINS + Self::YIELDS {
            return std::thread::sleep(std::time::Duration::from_micros(100));
        }
        thread::yield_now();
    }
}
