//! A drain of connections, evenly over time, so that they reconnect evenly.

use std::time::Duration;

/// A drain in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrainSchedule {
    since: Duration,
    duration: Duration,
    /// The number of connections at the start.
    rows: usize,
}

impl DrainSchedule {
    pub(super) fn new(since: Duration, duration: Duration, rows: usize) -> Self {
        Self { since, duration, rows }
    }

    /// Returns the number of connections that may still stay; it falls linearly, so that clients reconnect evenly.
    pub(super) fn connections_to_keep(self, now: Duration) -> usize {
        if self.duration.is_zero() {
            return 0;
        }
        let left = (self.since + self.duration).saturating_sub(now);
        (self.rows as f64 * left.as_secs_f64() / self.duration.as_secs_f64()).ceil() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_drained_evenly_over_the_period() {
        let draining = DrainSchedule::new(Duration::from_secs(5), Duration::from_secs(4), 100);
        let remaining = |seconds| draining.connections_to_keep(Duration::from_secs(seconds));
        assert_eq!([5, 6, 7, 9, 60].map(remaining), [100, 75, 50, 0, 0]);
        assert_eq!(
            DrainSchedule::new(Duration::ZERO, Duration::ZERO, 100)
                .connections_to_keep(Duration::ZERO),
            0
        );
    }
}
