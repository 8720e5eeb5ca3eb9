//! How long a consumer that takes nothing is kept.

use std::time::Duration;

/// Failures in a row after which a consumer is let go,
const FAILURES_MAX: u32 = 3;
/// but not before it has taken nothing for so long.
const GRACE: Duration = Duration::from_secs(60);
/// Pause before the next try.
pub(super) const RETRY: Duration = Duration::from_secs(10);

/// What a consumer has failed in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    failures: u32,
    since: Duration,
}

impl Patience {
    /// It took something.
    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// It took nothing; whether that was too often. `now` is a clock's monotonic time.
    pub(super) fn fail(&mut self, now: Duration) -> bool {
        if self.failures == 0 {
            self.since = now;
        }
        self.failures = self.failures.saturating_add(1);
        self.failures >= FAILURES_MAX && now.saturating_sub(self.since) >= GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_within_a_minute_and_more_are_too_many() {
        let at = Duration::from_secs;
        let mut patience = Patience::default();
        let tries = [0, 10, 20, 59, 60].map(|seconds| patience.fail(at(seconds)));
        assert_eq!(tries, [false, false, false, false, true]);
        patience.succeed();
        assert!(!patience.fail(at(100)) && !patience.fail(at(200)));
        assert!(patience.fail(at(201)));
    }
}
