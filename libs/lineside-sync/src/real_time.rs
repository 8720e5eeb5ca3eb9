//! Waiting in real time, for code that talks to sockets: timeouts of peers are not simulated. Code that follows the
//! data's time is given a [`Clock`](crate::Clock) instead.

use std::future::Future;
use std::time::{Duration, Instant};

/// Runs `work`; returns `None` if it takes longer than `limit`.
///
/// Cancel safety: `work` is dropped when the limit passes.
#[expect(clippy::disallowed_methods, reason = "a socket's timeout is in real time")]
pub async fn run_with_timeout<F: Future>(limit: Duration, work: F) -> Option<F::Output> {
    tokio::time::timeout(limit, work).await.ok()
}

/// Sleeps for this time.
#[expect(clippy::disallowed_methods, reason = "a socket's pause is in real time")]
pub async fn sleep_real_time(length: Duration) {
    tokio::time::sleep(length).await;
}

/// A measurement of real time, from its start on.
#[derive(Clone, Copy, Debug)]
pub struct RealTimeStopwatch(Instant);

impl RealTimeStopwatch {
    /// Starts the measurement.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "a client's waiting time is real time")]
    pub fn start_stopwatch() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
