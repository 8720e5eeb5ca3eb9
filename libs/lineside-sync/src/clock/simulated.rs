//! A clock that moves only when a test moves it; works without a runtime.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use super::{Clock, Sleep, UnixMillis};

/// A clock for tests and simulations: time passes only in [`advance_time`](Self::advance_time). Clones share the same
/// time.
///
/// ```
/// use std::time::Duration;
/// use lineside_sync::{Clock, SimulatedClock, UnixMillis};
///
/// let clock = SimulatedClock::new(UnixMillis(1_000));
/// let nap = clock.sleep(Duration::from_secs(60));
/// assert_eq!(clock.next_sleep_deadline(), None, "a future that was never polled waits for nothing");
/// clock.advance_time(Duration::from_secs(60));
/// assert_eq!(clock.wall_time(), UnixMillis(61_000));
/// # drop(nap);
/// ```
#[derive(Clone, Debug)]
pub struct SimulatedClock {
    inner: Arc<Mutex<SimulatedTime>>,
}

#[derive(Debug)]
struct SimulatedTime {
    now: Duration,
    wall: UnixMillis,
    /// The wakers of sleeping futures, by deadline and then by order of first poll. Bound: one entry per living sleep.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    next_sleeper: u64,
}

impl SimulatedClock {
    /// Creates a clock that shows `wall`, with monotonic time zero.
    pub fn new(wall: UnixMillis) -> Self {
        let inner =
            SimulatedTime { now: Duration::ZERO, wall, sleepers: BTreeMap::new(), next_sleeper: 0 };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Moves both times forward and wakes all sleeps whose deadline has come, in the order of their deadlines.
    pub fn advance_time(&self, by: Duration) {
        let due = {
            let mut inner = self.inner.lock();
            inner.now = inner.now.saturating_add(by);
            inner.wall = inner.wall + by;
            let now = inner.now;
            let later = inner.sleepers.split_off(&(now, u64::MAX));
            std::mem::replace(&mut inner.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Sets the wall clock, as an administrator or a time server would; monotonic time does not change.
    pub fn set_wall_time(&self, wall: UnixMillis) {
        self.inner.lock().wall = wall;
    }

    /// Returns the earliest deadline of a polled sleep, in monotonic time.
    pub fn next_sleep_deadline(&self) -> Option<Duration> {
        self.inner.lock().sleepers.keys().next().map(|(deadline, _)| *deadline)
    }
}

impl Clock for SimulatedClock {
    fn monotonic(&self) -> Duration {
        self.inner.lock().now
    }

    fn wall_time(&self) -> UnixMillis {
        self.inner.lock().wall
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep {
        Box::pin(SimulatedSleep { clock: self.clone(), deadline, sleeper: None })
    }
}

struct SimulatedSleep {
    clock: SimulatedClock,
    deadline: Duration,
    sleeper: Option<u64>,
}

impl Future for SimulatedSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut inner = clock.inner.lock();
        if inner.now >= self.deadline {
            return Poll::Ready(());
        }
        let sleeper = *self.sleeper.get_or_insert_with(|| {
            inner.next_sleeper += 1;
            inner.next_sleeper
        });
        let replaced = inner.sleepers.insert((self.deadline, sleeper), cx.waker().clone());
        // A waker may own its task, and dropping the task may drop other sleeps: never drop a waker under the lock.
        drop(inner);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for SimulatedSleep {
    fn drop(&mut self) {
        if let Some(sleeper) = self.sleeper {
            let forgotten = self.clock.inner.lock().sleepers.remove(&(self.deadline, sleeper));
            drop(forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(sleep: &mut Sleep, count: &Arc<Count>) -> bool {
        sleep.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_ready()
    }

    #[test]
    fn a_sleeper_is_woken_once_its_deadline_has_passed() {
        let clock = SimulatedClock::new(UnixMillis(0));
        let count = Arc::new(Count::default());
        let mut sleep = clock.sleep(Duration::from_secs(2));
        assert!(!poll(&mut sleep, &count));
        assert_eq!(clock.next_sleep_deadline(), Some(Duration::from_secs(2)));
        clock.advance_time(Duration::from_millis(1_999));
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        clock.advance_time(Duration::from_millis(1));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut sleep, &count));
    }

    #[test]
    fn a_dropped_sleep_is_removed() {
        let clock = SimulatedClock::new(UnixMillis(0));
        let mut sleep = clock.sleep(Duration::from_secs(2));
        assert!(!poll(&mut sleep, &Arc::default()));
        drop(sleep);
        assert_eq!(clock.next_sleep_deadline(), None);
    }

    #[test]
    fn wall_time_may_step_back_while_monotonic_time_advances() {
        let clock = SimulatedClock::new(UnixMillis(10_000));
        clock.advance_time(Duration::from_secs(1));
        clock.set_wall_time(UnixMillis(3_000));
        clock.advance_time(Duration::from_secs(1));
        assert_eq!(clock.wall_time(), UnixMillis(4_000));
        assert_eq!(clock.monotonic(), Duration::from_secs(2));
    }
}
