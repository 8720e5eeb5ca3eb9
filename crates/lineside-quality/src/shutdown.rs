//! Shutdown in three phases: *draining* (readiness fails, polling ends, sessions are closed one by one), *closing* (no
//! new connections, running requests end), and gone.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The shutdown state, shared by all tasks that depend on it.
#[derive(Debug, Clone)]
pub struct Shutdown {
    draining: CancellationToken,
    closing: CancellationToken,
    drain: Duration,
}

impl Shutdown {
    /// Creates the state; `drain` is the time over which sessions are closed.
    #[must_use]
    pub fn new(drain: Duration) -> Self {
        Self { draining: CancellationToken::new(), closing: CancellationToken::new(), drain }
    }

    /// Starts draining; returns at once, and may be called more than once.
    pub fn begin_draining(&self) {
        self.draining.cancel();
    }

    /// Returns true if the server is stopping.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Completes when the server begins to stop.
    pub async fn wait_until_draining(&self) {
        self.draining.cancelled().await;
    }

    /// Returns the time over which sessions are closed.
    #[must_use]
    pub fn drain_duration(&self) -> Duration {
        self.drain
    }

    /// Completes when no new connections are accepted.
    pub async fn wait_until_closing(&self) {
        self.closing.cancelled().await;
    }

    pub fn begin_closing(&self) {
        self.closing.cancel();
    }
}
