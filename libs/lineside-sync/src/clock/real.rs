//! Clocks that follow the machine's time; sleeping uses tokio's timer.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Clock, Sleep, UnixMillis, duration_to_millis};

/// The machine's own clocks.
///
/// [`sleep_until`](Clock::sleep_until) must be called inside a tokio runtime with its time driver on.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// Creates a clock whose monotonic time starts at zero.
    #[expect(
        clippy::new_without_default,
        reason = "creating a clock starts it, so a default value would hide an effect"
    )]
    pub fn new() -> Self {
        Self { start: instant_now() }
    }
}

impl Clock for RealClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this type is the source of real time")]
    fn wall_time(&self) -> UnixMillis {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => UnixMillis(0) + since,
            Err(before) => UnixMillis(0) - before.duration(),
        }
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep {
        tokio_sleep_until(self.start.checked_add(deadline))
    }
}

/// A clock that runs at another speed: both its times advance `speed` seconds per real second.
///
/// Sleeps end `speed` times sooner, so a program on one scaled clock does in a minute of real time what takes `speed`
/// minutes of this clock's time. Like [`RealClock`], sleeping needs a tokio runtime.
#[derive(Debug)]
pub struct ScaledClock {
    start: Instant,
    wall_start: UnixMillis,
    speed: f64,
}

impl ScaledClock {
    /// The slowest and the fastest speed; [`new`](Self::new) clamps other speeds, and replaces NaN by 1.
    pub const SPEED: std::ops::RangeInclusive<f64> = 0.001..=10_000.0;

    /// Creates a clock that shows `wall_start` now and runs `speed` times as fast as real time.
    pub fn new(wall_start: UnixMillis, speed: f64) -> Self {
        let speed = if speed.is_nan() {
            1.0
        } else {
            speed.clamp(*Self::SPEED.start(), *Self::SPEED.end())
        };
        Self { start: instant_now(), wall_start, speed }
    }

    /// Returns the seconds of this clock per real second.
    pub fn speed(&self) -> f64 {
        self.speed
    }
}

impl Clock for ScaledClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed().mul_f64(self.speed)
    }

    fn wall_time(&self) -> UnixMillis {
        UnixMillis(self.wall_start.0.saturating_add(duration_to_millis(self.monotonic())))
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep {
        let real = Duration::try_from_secs_f64(deadline.as_secs_f64() / self.speed);
        tokio_sleep_until(real.ok().and_then(|after| self.start.checked_add(after)))
    }
}

#[expect(clippy::disallowed_methods, reason = "this type is the source of real time")]
fn instant_now() -> Instant {
    Instant::now()
}

/// Sleeps until `deadline`; forever if it is `None`, because the machine cannot express the deadline.
#[expect(clippy::disallowed_methods, reason = "this type is the source of real time")]
fn tokio_sleep_until(deadline: Option<Instant>) -> Sleep {
    match deadline {
        Some(deadline) => Box::pin(tokio::time::sleep_until(deadline.into())),
        None => Box::pin(std::future::pending()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(test);
    }

    #[test]
    fn a_real_sleep_ends_no_sooner_than_its_deadline() {
        run(async {
            let clock = RealClock::new();
            let deadline = clock.monotonic() + Duration::from_millis(5);
            clock.sleep_until(deadline).await;
            assert!(clock.monotonic() >= deadline);
            clock.sleep_until(Duration::ZERO).await;
        });
    }

    #[test]
    fn a_scaled_clock_advances_wall_and_monotonic_time_faster() {
        run(async {
            let start = UnixMillis(1_700_000_000_000);
            let clock = ScaledClock::new(start, 1_000.0);
            clock.sleep(Duration::from_secs(5)).await;
            assert!(clock.monotonic() >= Duration::from_secs(5));
            assert!(clock.wall_time().duration_since(start) >= Duration::from_secs(5));
        });
    }

    #[test]
    fn an_invalid_speed_is_clamped() {
        assert_eq!(ScaledClock::new(UnixMillis(0), f64::NAN).speed(), 1.0);
        assert_eq!(ScaledClock::new(UnixMillis(0), f64::INFINITY).speed(), 10_000.0);
        assert_eq!(ScaledClock::new(UnixMillis(0), -3.0).speed(), 0.001);
    }

    #[test]
    fn the_largest_deadline_does_not_panic() {
        drop(RealClock::new().sleep_until(Duration::MAX));
        drop(ScaledClock::new(UnixMillis(0), 0.001).sleep_until(Duration::MAX));
    }
}
