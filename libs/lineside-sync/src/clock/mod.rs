//! The [`Clock`] trait: time as an argument, so that code runs on real, scaled or simulated time.
//!
//! A clock shows two times. *Monotonic* time orders and measures, and never goes back. *Wall* time is the calendar
//! time of people and feeds, and may step either way.

use std::fmt::{self, Debug};
use std::future::Future;
use std::ops::{Add, Sub};
use std::pin::Pin;
use std::time::Duration;

#[cfg(feature = "tokio")]
pub(crate) mod real;
pub(crate) mod simulated;

/// A future that resolves when its deadline has passed.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Wall time: milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Returns the start of the given second; times that do not fit are clamped.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// Returns the whole seconds since 1970, rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Returns the time from `earlier` to this time; zero if `earlier` is not earlier.
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for UnixMillis {
    type Output = Self;

    /// Saturates.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration_to_millis(duration)))
    }
}

impl Sub<Duration> for UnixMillis {
    type Output = Self;

    /// Saturates.
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration_to_millis(duration)))
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

fn duration_to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A source of time.
pub trait Clock: Send + Sync + Debug + 'static {
    /// Returns the time since this clock's start; never goes back.
    fn monotonic(&self) -> Duration;

    /// Returns the calendar time; may step either way.
    fn wall_time(&self) -> UnixMillis;

    /// Resolves once [`monotonic`](Self::monotonic) has reached `deadline`; at once when it has already.
    ///
    /// Cancel safe: dropping the future forgets the deadline and nothing else.
    fn sleep_until(&self, deadline: Duration) -> Sleep;

    /// Resolves after `duration` of this clock's time.
    fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.monotonic().saturating_add(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_before_1970_round_down() {
        assert_eq!(UnixMillis(-1).unix_seconds(), -1);
        assert_eq!(UnixMillis::from_seconds(-1), UnixMillis(-1_000));
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(UnixMillis(i64::MAX) + Duration::MAX, UnixMillis(i64::MAX));
        assert_eq!(UnixMillis(i64::MIN) - Duration::MAX, UnixMillis(i64::MIN));
        assert_eq!(UnixMillis::from_seconds(i64::MAX), UnixMillis(i64::MAX));
        assert_eq!(UnixMillis(5).duration_since(UnixMillis(9)), Duration::ZERO);
    }
}
