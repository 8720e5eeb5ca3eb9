//! Gauges: levels that go up and down, stored in the cells of counters.

use std::fmt::{self, Debug, Formatter};

use super::{Counter, LocalCounter};

/// A current number of something: all threads' additions minus all threads' subtractions.
///
/// Cost and guarantees are those of a [`Counter`], with one difference. While several threads add and subtract, a read
/// may see the subtraction of a thing without its addition. So a read can be off by the changes in progress, and even
/// be negative. A read after all changes is exact. A limit that must hold needs a [`semaphore`](crate::semaphore).
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
    /// Creates a gauge at zero.
    ///
    /// # Panics
    /// Panics as [`Counter::new`] does.
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

    /// Returns the calling thread's cell for faster changes; see [`Counter::handle_for_this_thread`].
    pub fn handle_for_this_thread(&self) -> LocalGauge {
        LocalGauge(self.0.handle_for_this_thread())
    }

    /// Returns the level over all threads, including those that have ended. Takes a lock; linear in the threads.
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
