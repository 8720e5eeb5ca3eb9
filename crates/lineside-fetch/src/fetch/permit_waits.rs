//! Time that a fetch spends waiting for rate limit permits: it does not count against the producer's timeout.

use std::{future::Future, sync::Arc, time::Duration};

use lineside_sync::Clock;
use parking_lot::Mutex;

use super::http::{timeout_failure, wait_with_timeout};
use crate::fetch_failure::FetchError;

/// The wait time of one fetch.
#[derive(Debug, Default)]
pub(super) struct PermitWaitTimer(Mutex<PermitWaitTotal>);

#[derive(Debug, Default)]
struct PermitWaitTotal {
    total: Duration,
    /// The start of the current wait, if there is one.
    since: Option<Duration>,
}

impl PermitWaitTimer {
    /// Waits for `permit` and adds the time.
    pub(super) async fn measure_permit_wait<T>(
        &self,
        clock: &dyn Clock,
        permit: impl Future<Output = T>,
    ) -> T {
        self.0.lock().since = Some(clock.monotonic());
        let done = permit.await;
        let mut state = self.0.lock();
        if let Some(since) = state.since.take() {
            state.total += clock.monotonic().saturating_sub(since);
        }
        done
    }

    /// Returns the total wait time at `now`.
    pub(super) fn total_wait(&self, now: Duration) -> Duration {
        let state = self.0.lock();
        state.total + state.since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Waits for `work` at most for `limit`, not counting the time spent waiting for permits.
    pub(super) async fn wait_with_timeout_excluding_permits<T>(
        &self,
        clock: &Arc<dyn Clock>,
        limit: Duration,
        what: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, FetchError> {
        let began = clock.monotonic();
        let mut work = std::pin::pin!(work);
        loop {
            let now = clock.monotonic();
            let worked = now.saturating_sub(began).saturating_sub(self.total_wait(now));
            let is_waiting = self.0.lock().since.is_some();
            if worked >= limit && !is_waiting {
                return Err(timeout_failure(what, limit));
            }
            let left = limit.saturating_sub(worked);
            // Waiting for a permit does not reduce the remaining time.
            if let Ok(done) =
                wait_with_timeout(clock, left.max(CHECK_INTERVAL_MIN), what, &mut work).await
            {
                return Ok(done);
            }
        }
    }
}

/// The minimum interval between checks of the remaining time.
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use lineside_sync::{SimulatedClock, UnixMillis};

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn waiting_for_a_permit_does_not_count_towards_the_time_limit() {
        let simulated = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let clock: Arc<dyn Clock> = Arc::<SimulatedClock>::clone(&simulated);
        let waits = PermitWaitTimer::default();
        let (permit, permit_sent) = tokio::sync::oneshot::channel::<()>();
        let work = async {
            clock.sleep(MINUTE).await;
            waits.measure_permit_wait(&*clock, permit_sent).await.unwrap();
            std::future::pending::<()>().await;
        };
        let mut all = std::pin::pin!(waits.wait_with_timeout_excluding_permits(
            &clock,
            10 * MINUTE,
            "all",
            work
        ));
        let mut context = Context::from_waker(Waker::noop());
        let mut pass = |minutes: u32| {
            let mut polled = Poll::Pending;
            for _ in 0..minutes {
                simulated.advance_time(MINUTE);
                polled = all.as_mut().poll(&mut context);
                if polled.is_ready() {
                    break;
                }
            }
            polled
        };
        assert!(pass(1).is_pending());
        assert!(pass(600).is_pending(), "waiting for a permit has no limit");
        permit.send(()).unwrap();
        assert!(pass(8).is_pending());
        assert_eq!(waits.total_wait(clock.monotonic()).as_secs() / 60, 600);
        // The remaining time is checked again only after it has passed.
        let Poll::Ready(Err(failure)) = pass(12) else { panic!("the work is not limited") };
        assert!(failure.detail.starts_with("all did not arrive within"), "{}", failure.detail);
    }
}
