//! A lock for a few instructions: one atomic exchange to take, one store to give back.
//!
//! A general lock must look for sleepers when it is given back, which costs a second exchange. What is done under this
//! one is an append or a swap, so who finds it taken spins a microsecond and then yields, because the holder must have
//! been interrupted.

#![expect(unsafe_code, reason = "a lock hands out what it guards")]

use std::{
    cell::UnsafeCell,
    fmt,
    ops::{Deref, DerefMut},
};

use super::fault_injection::{FaultInjection, MailboxFault};
use crate::primitive::{
    atomic::{AtomicBool, Ordering},
    hint, thread,
};

/// A value that one thread at a time may touch.
pub(super) struct SpinLock<T> {
    is_held: AtomicBool,
    mistakes: FaultInjection,
    value: UnsafeCell<T>,
}

// SAFETY: a `&SpinLock` hands out the value to one thread at a time, as a `Mutex` does: sending it must be sound.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub(super) fn new(value: T) -> Self {
        let mistakes = FaultInjection::default();
        Self { is_held: AtomicBool::new(false), mistakes, value: UnsafeCell::new(value) }
    }

    #[cfg(all(test, loom))]
    pub(super) fn mistaken(value: T, mistake: MailboxFault) -> Self {
        Self { mistakes: FaultInjection(Some(mistake)), ..Self::new(value) }
    }

    /// The value, unless another thread has it.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<SpinLockGuard<'_, T>> {
        // Acquire: what the last holder did is seen.
        let taken =
            self.is_held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // A guard that is made gives back: none is made by a failure.
        if taken.is_ok() { Some(SpinLockGuard(self)) } else { None }
    }

    /// The value, once no other thread has it.
    #[inline]
    pub(super) fn lock(&self) -> SpinLockGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.lock_slowly())
    }

    #[cold]
    fn lock_slowly(&self) -> SpinLockGuard<'_, T> {
        let mut patience = SpinWait::new();
        loop {
            // Looking does not take the line away from the holder, exchanging does.
            // A model checker may show an old value for ever.
            let is_free = cfg!(loom) || !self.is_held.load(Ordering::Relaxed);
            if is_free && let Some(guard) = self.try_lock() {
                return guard;
            }
            patience.wait_once();
        }
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

/// The value while it is held.
pub(super) struct SpinLockGuard<'a, T>(&'a SpinLock<T>);

// SAFETY: a shared guard gives no more than a shared reference to the value.
unsafe impl<T: Sync> Sync for SpinLockGuard<'_, T> {}

impl<T> Deref for SpinLockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held for as long as this guard is, so nobody else has a reference.
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
        // Release: the next holder sees what was done.
        let ordering = match self.0.mistakes.injects_fault(MailboxFault::UnlockRelaxed) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.0.is_held.store(false, ordering);
    }
}

/// How to wait for what another thread is about to do: spin, then let others run, then sleep.
#[derive(Debug)]
pub(super) struct SpinWait(u32);

impl SpinWait {
    /// Spins of 1, 2, 4 … 32 pauses: a microsecond or two.
    const SPINS: u32 = 6;
    /// Then the processor is given away that often.
    #[cfg(not(any(loom, shuttle)))]
    const YIELDS: u32 = 200;

    pub(super) fn new() -> Self {
        Self(0)
    }

    pub(super) fn wait_once(&mut self) {
        let n = self.0;
        self.0 = n.saturating_add(1);
        if cfg!(any(loom, shuttle)) {
            return thread::yield_now();
        }
        if n < Self::SPINS {
            (0..1_u32 << n).for_each(|_| hint::spin_loop());
            return;
        }
        // A holder of lower priority would never run while a higher one yields to nobody else.
        #[cfg(not(any(loom, shuttle)))]
        if n >= Self::SPINS + Self::YIELDS {
            return std::thread::sleep(std::time::Duration::from_micros(100));
        }
        thread::yield_now();
    }
}
