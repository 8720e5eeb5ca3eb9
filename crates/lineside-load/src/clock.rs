//! The machine's clocks, shared by the processes of a run.
//!
//! Sending and receiving use the same monotonic clock, which all processes of a machine share.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock.
pub(crate) type MonotonicNanos = u64;

pub(crate) const SECOND: MonotonicNanos = 1_000_000_000;

/// Returns the current time. The kernel always has this clock; a failure gives 0, so that all durations are 0.
pub(crate) fn now_nanos() -> MonotonicNanos {
    read_clock(ClockId::CLOCK_MONOTONIC)
}

fn read_clock(clock: ClockId) -> MonotonicNanos {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec()).unwrap_or(0);
    seconds.saturating_mul(SECOND).saturating_add(nanos)
}

/// Converts the time of day to monotonic time, with the offset sampled at construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallToMonotonicClock {
    wall_ahead: i128,
}

impl WallToMonotonicClock {
    pub(crate) fn sample_clock_offset() -> Self {
        Self {
            wall_ahead: i128::from(read_clock(ClockId::CLOCK_REALTIME)) - i128::from(now_nanos()),
        }
    }

    /// Converts milliseconds since 1970 to monotonic time; `None` before the start of the machine.
    pub(crate) fn to_monotonic(self, unix_millis: u64) -> Option<MonotonicNanos> {
        u64::try_from(i128::from(unix_millis) * 1_000_000 - self.wall_ahead).ok()
    }
}

pub(crate) fn nanos_to_seconds(nanos: MonotonicNanos) -> f64 {
    nanos as f64 / SECOND as f64
}

pub(crate) fn duration_to_nanos(duration: std::time::Duration) -> MonotonicNanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_converted_to_monotonic_time() {
        let before = now_nanos();
        let wall = WallToMonotonicClock::sample_clock_offset();
        let unix_millis = read_clock(ClockId::CLOCK_REALTIME) / 1_000_000;
        let found = wall.to_monotonic(unix_millis).expect("a time after the start of the machine");
        let far = found.abs_diff(before);
        assert!(far < SECOND, "the clocks are {far} ns apart");
        assert_eq!(wall.to_monotonic(0), None);
    }
}
