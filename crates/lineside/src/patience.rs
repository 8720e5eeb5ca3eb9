//! Waiting in real time, for the rooms that talk to sockets: a peer's patience and ours are not
//! simulated. Everything that follows the data's time is handed a `lineside_sync::Clock` instead.

use std::time::{Duration, Instant};

/// What `work` came to, or none if it took longer than `limit`.
///
/// Cancel safety: `work` is dropped when the limit passes.
#[expect(clippy::disallowed_methods, reason = "a socket's deadline is real time")]
pub(crate) async fn within<F: Future>(limit: Duration, work: F) -> Option<F::Output> {
    tokio::time::timeout(limit, work).await.ok()
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "a socket's pause is real time")]
pub(crate) async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}

/// How long something takes in real time, from here on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "what a client waits is real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
