//! The poll schedule: computes the time until the next poll from a feed's failures and its producer's advice only.
//!
//! It never reads a clock and never waits; the poller does (docs/operate/polling.md describes the rules).

mod stagger;

use std::time::Duration;

pub use stagger::FirstPollDelays;

use crate::limits::{BACKOFF_MAX, FRESH_POLLS_MAX, FRESH_TIME_MAX, POLL_MIN, RETRY_AFTER_MIN_MAX};

/// Initial retry delay of a failing feed, if its poll interval is longer.
const RETRY_FIRST: Duration = Duration::from_secs(15);
/// Maximum retry delay, as a multiple of the initial one.
const RETRY_GROWTH_MAX: u32 = 8;
/// Relative jitter of the poll interval, so that feeds of one producer drift apart.
const JITTER: f64 = 0.05;
/// Relative jitter of retry delays, so that feeds that failed together do not retry together.
const JITTER_IN_TROUBLE: f64 = 0.2;

/// A producer's advice about the next request, from its last reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollAdvice {
    /// The time for which the reply stays fresh.
    pub fresh_for: Option<Duration>,
    /// The `Retry-After` time of an error reply.
    pub retry_after: Option<Duration>,
}

/// The inputs that determine the next wait.
#[derive(Clone, Copy, Debug)]
pub struct PollSchedule {
    /// The configured poll interval.
    pub interval: Duration,
    /// The configured minimum freshness of a reply.
    pub ttl: Duration,
    /// Failures since the last success.
    pub failures_in_a_row: u32,
    /// The producer's advice.
    pub advice: PollAdvice,
}

impl PollSchedule {
    /// Returns the time until the next poll.
    pub fn time_until_next_poll(&self, rng: &mut fastrand::Rng) -> Duration {
        let interval = self.interval.max(POLL_MIN);
        let (wait_and_floor, floor) = match self.failures_in_a_row {
            0 => (add_jitter(interval, JITTER, rng), self.freshness_wait(interval)),
            n => (
                add_jitter(backoff_delay(interval, n), JITTER_IN_TROUBLE, rng),
                self.retry_after_wait(interval),
            ),
        };
        // The wait is never shorter than the producer's advice, so jitter only adds to it.
        if wait_and_floor >= floor {
            wait_and_floor
        } else {
            floor + floor.mul_f64(JITTER * rng.f64())
        }
    }

    fn freshness_wait(&self, interval: Duration) -> Duration {
        let stated = self.advice.fresh_for.unwrap_or_default();
        self.ttl.max(stated.min(max_obeyed_producer_wait(interval)))
    }

    fn retry_after_wait(&self, interval: Duration) -> Duration {
        let stated = self.advice.retry_after.unwrap_or_default();
        stated.min(max_obeyed_producer_wait(interval).max(RETRY_AFTER_MIN_MAX))
    }
}

/// Returns the retry delay after consecutive failures.
pub fn retry_delay(first: Duration, failures_in_a_row: u32, advice: PollAdvice) -> Duration {
    let stated = advice.retry_after.unwrap_or_default().min(RETRY_AFTER_MIN_MAX);
    backoff_delay(first, failures_in_a_row.max(1)).max(stated)
}

/// Returns the maximum wait that a producer can cause: a mistake must not silence a feed.
fn max_obeyed_producer_wait(interval: Duration) -> Duration {
    interval.saturating_mul(FRESH_POLLS_MAX).min(FRESH_TIME_MAX).max(interval)
}

/// Returns the retry delay, which doubles with each failure.
fn backoff_delay(interval: Duration, failures_in_a_row: u32) -> Duration {
    let first = interval.min(RETRY_FIRST);
    let wait_max = interval.max(first * RETRY_GROWTH_MAX).min(BACKOFF_MAX.max(first));
    let doubled = 1_u32.checked_shl(failures_in_a_row - 1).unwrap_or(u32::MAX);
    first.saturating_mul(doubled).min(wait_max)
}

fn add_jitter(wait: Duration, share: f64, rng: &mut fastrand::Rng) -> Duration {
    wait.mul_f64(1.0 + share * (rng.f64() * 2.0 - 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sample_schedule(interval: u64) -> PollSchedule {
        PollSchedule {
            interval: Duration::from_secs(interval),
            ttl: Duration::ZERO,
            failures_in_a_row: 0,
            advice: PollAdvice::default(),
        }
    }

    /// Asserts the limits of the wait in seconds for many random seeds.
    #[track_caller]
    fn check(schedule: PollSchedule, wait_min: f64, wait_max: f64) {
        for seed in 0..200 {
            let wait =
                schedule.time_until_next_poll(&mut fastrand::Rng::with_seed(seed)).as_secs_f64();
            assert!(
                (wait_min..=wait_max).contains(&wait),
                "{wait} is not within {wait_min} to {wait_max}"
            );
        }
    }

    fn fresh(seconds: u64) -> PollAdvice {
        PollAdvice { fresh_for: Some(Duration::from_secs(seconds)), retry_after: None }
    }

    #[test]
    fn token_requests_are_retried_with_backoff() {
        let after = |times, stated_wait| retry_delay(5 * SECOND, times, stated_wait).as_secs();
        assert_eq!(
            [1, 2, 3, 4, 5, 99].map(|n| after(n, PollAdvice::default())),
            [5, 10, 20, 40, 40, 40]
        );
        assert_eq!(after(1, refused(120)), 120);
        assert_eq!(after(4, refused(7)), 40);
        assert_eq!(after(1, refused(u64::MAX)), RETRY_AFTER_MIN_MAX.as_secs());
    }

    fn refused(seconds: u64) -> PollAdvice {
        PollAdvice { fresh_for: None, retry_after: Some(Duration::from_secs(seconds)) }
    }

    #[test]
    fn the_wait_is_about_one_interval() {
        check(sample_schedule(100), 95.0, 105.0);
    }

    #[test]
    fn the_wait_respects_the_freshness_up_to_a_limit() {
        check(PollSchedule { advice: fresh(60), ..sample_schedule(15) }, 60.0, 63.0);
        // Ten polls of 15 s, whatever the producer says.
        check(PollSchedule { advice: fresh(86_400), ..sample_schedule(15) }, 150.0, 158.0);
        // A freshness shorter than the interval changes nothing.
        check(PollSchedule { advice: fresh(5), ..sample_schedule(100) }, 95.0, 105.0);
        // An interval of a week is not reduced to the limit of a day.
        check(
            PollSchedule { advice: fresh(700_000), ..sample_schedule(604_800) },
            604_800.0 * 0.95,
            640_000.0,
        );
    }

    #[test]
    fn the_configured_ttl_is_the_minimum_wait() {
        let ttl = Duration::from_secs(300);
        check(PollSchedule { ttl, ..sample_schedule(15) }, 300.0, 315.0);
        check(PollSchedule { ttl, advice: fresh(1), ..sample_schedule(15) }, 300.0, 315.0);
    }

    #[test]
    fn the_wait_respects_retry_after_up_to_a_limit() {
        let failing = PollSchedule { failures_in_a_row: 1, ..sample_schedule(15) };
        check(PollSchedule { advice: refused(120), ..failing }, 120.0, 126.0);
        check(PollSchedule { advice: refused(0), ..failing }, 12.0, 18.0);
        // An hour at most, unless ten polls are longer.
        check(PollSchedule { advice: refused(1_000_000), ..failing }, 3_600.0, 3_780.0);
        let schedule = PollSchedule { failures_in_a_row: 1, ..sample_schedule(3_600) };
        check(PollSchedule { advice: refused(20_000), ..schedule }, 20_000.0, 21_000.0);
    }

    #[test]
    fn waits_double_after_failures_up_to_a_limit() {
        let waits = [(1, 15.0), (2, 30.0), (3, 60.0), (4, 120.0), (5, 120.0), (200, 120.0)];
        for (failures_in_a_row, seconds) in waits {
            check(
                PollSchedule { failures_in_a_row, ..sample_schedule(15) },
                seconds * 0.8,
                seconds * 1.2,
            );
        }
        // A schedule is not left unpolled for an hour after one failure.
        check(PollSchedule { failures_in_a_row: 50, ..sample_schedule(3_600) }, 240.0, 360.0);
    }

    proptest! {
        #[test]
        fn every_wait_is_between_the_requested_minimum_and_the_limit(
            interval in 0_u64..700_000, ttl in 0_u64..100_000, failures_in_a_row in 0_u32..80,
            fresh_for in proptest::option::of(0_u64..u64::MAX),
            retry_after in proptest::option::of(0_u64..u64::MAX), seed: u64,
        ) {
            let advice = PollAdvice {
                fresh_for: fresh_for.map(Duration::from_secs),
                retry_after: retry_after.map(Duration::from_secs),
            };
            let schedule = PollSchedule {
                interval: Duration::from_secs(interval),
                ttl: Duration::from_secs(ttl),
                failures_in_a_row,
                advice,
            };
            let wait = schedule.time_until_next_poll(&mut fastrand::Rng::with_seed(seed));
            let interval = schedule.interval.max(POLL_MIN);
            let bound = max_obeyed_producer_wait(interval).max(schedule.ttl).max(RETRY_AFTER_MIN_MAX);
            prop_assert!(wait <= bound.mul_f64(1.21) + SECOND);
            if failures_in_a_row == 0 {
                let fresh_for = advice.fresh_for.unwrap_or_default();
                prop_assert!(wait >= fresh_for.min(max_obeyed_producer_wait(interval)) && wait >= schedule.ttl);
            } else {
                prop_assert!(wait >= advice.retry_after.unwrap_or_default().min(RETRY_AFTER_MIN_MAX));
            }
        }
    }
}
