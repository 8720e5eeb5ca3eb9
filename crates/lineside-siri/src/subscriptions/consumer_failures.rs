//! The limits after which a failing consumer's subscription ends.

use std::time::Duration;

/// Failures in a row before a subscription ends.
const FAILURES_MAX: u32 = 3;
/// Shortest time of failures before a subscription ends.
const GRACE: Duration = Duration::from_secs(60);
/// Pause before a retry.
pub(super) const RETRY: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConsumerMessageKind {
    Heartbeat,
    Delivery,
}

/// A consumer's failures in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConsumerFailures {
    failures: u32,
    since: Duration,
    /// True after a failed delivery: a consumer that accepts only heartbeats is still failing.
    has_failed_delivery: bool,
}

impl ConsumerFailures {
    /// Records an accepted message.
    pub(super) fn record_success(&mut self, sent: ConsumerMessageKind) {
        if sent == ConsumerMessageKind::Delivery || !self.has_failed_delivery {
            *self = Self::default();
        }
    }

    /// Records a failure; returns true if the subscription must end. `now` is a clock's monotonic time.
    pub(super) fn record_failure(&mut self, sent: ConsumerMessageKind, now: Duration) -> bool {
        if self.failures == 0 {
            self.since = now;
        }
        self.has_failed_delivery |= sent == ConsumerMessageKind::Delivery;
        self.failures = self.failures.saturating_add(1);
        self.failures >= FAILURES_MAX && now.saturating_sub(self.since) >= GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_over_a_minute_or_more_are_too_many() {
        let at = Duration::from_secs;
        for sent in [ConsumerMessageKind::Heartbeat, ConsumerMessageKind::Delivery] {
            let mut failures = ConsumerFailures::default();
            let tries =
                [0, 10, 20, 59, 60].map(|seconds| failures.record_failure(sent, at(seconds)));
            assert_eq!(tries, [false, false, false, false, true]);
            failures.record_success(sent);
            assert!(
                !failures.record_failure(sent, at(100)) && !failures.record_failure(sent, at(200))
            );
            assert!(failures.record_failure(sent, at(201)));
        }
    }

    #[test]
    fn a_consumer_that_accepts_heartbeats_but_no_deliveries_is_dropped() {
        let at = Duration::from_secs;
        let mut failures = ConsumerFailures::default();
        let tries = [0, 30, 60].map(|seconds| {
            failures.record_success(ConsumerMessageKind::Heartbeat);
            failures.record_failure(ConsumerMessageKind::Delivery, at(seconds))
        });
        assert_eq!(tries, [false, false, true]);
        // While there are no updates, an accepted heartbeat is the only sign of success.
        let mut failures = ConsumerFailures::default();
        for seconds in [0, 30, 60, 90] {
            assert!(!failures.record_failure(ConsumerMessageKind::Heartbeat, at(seconds)));
            failures.record_success(ConsumerMessageKind::Heartbeat);
        }
    }
}
