//! Levels that go up and down, by the same cells.

use std::fmt::{self, Debug, Formatter};

use super::{Counter, LocalCounter};

/// How many there are of something: the sum of what every thread has added and taken away.
///
/// Costs and promises are a [`Counter`]'s, with one difference: while additions and removals of several threads
/// run, a read may have the removal and not the addition of the same thing, so it can be off by what is
/// under way, and even be negative. Once they have happened before the read it is exact. A limit that must
/// hold is no matter for a gauge; see [`semaphore`](crate::semaphore).
///
/// ```
/// use lineside_sync::counter::Gauge;
///
/// let sessions = Gauge::new();
/// sessions.add(3);
/// sessions.subtract(1);
/// assert_eq!(sessions.get(), 2);
/// ```
#[derive(Clone, Default)]
pub struct Gauge(Counter);

impl Gauge {
    /// A gauge at zero.
    ///
    /// # Panics
    /// As [`Counter::new`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the level by `n`; wraps after `i64::MAX`.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.add(n);
    }

    /// Lowers the level by `n`; wraps before `i64::MIN`.
    #[inline]
    pub fn subtract(&self, n: u64) {
        self.0.add(n.wrapping_neg());
    }

    /// The calling thread's cell itself; see [`Counter::local_handle`].
    pub fn local_handle(&self) -> LocalGauge {
        LocalGauge(self.0.local_handle())
    }

    /// The level over all threads, those that ended included. Takes a lock; linear in the threads.
    pub fn get(&self) -> i64 {
        self.0.get().cast_signed()
    }
}

impl Debug for Gauge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gauge").field(&self.get()).finish()
    }
}

/// A [`Gauge`] for one thread.
pub struct LocalGauge(LocalCounter);

impl LocalGauge {
    /// Raises the level by `n`; wraps after `i64::MAX`.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.add(n);
    }

    /// Lowers the level by `n`; wraps before `i64::MIN`.
    #[inline]
    pub fn subtract(&self, n: u64) {
        self.0.add(n.wrapping_neg());
    }
}

impl Debug for LocalGauge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalGauge").field(&self.0.counter().get().cast_signed()).finish()
    }
}
