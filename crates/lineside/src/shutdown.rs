//! Stopping in three moments: *draining* (readiness says no, polling ends, sessions are let go one
//! after another), *closing* (no new connections, requests under way end), and gone.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::server::RunningServer;
use crate::timeout::sleep_for;

/// Shared by everything that must know that the server is stopping.
#[derive(Debug, Clone)]
pub struct Shutdown {
    draining: CancellationToken,
    closing: CancellationToken,
    drain: Duration,
}

impl Shutdown {
    /// `drain` is how long sessions may take to be let go.
    #[must_use]
    pub fn new(drain: Duration) -> Self {
        Self { draining: CancellationToken::new(), closing: CancellationToken::new(), drain }
    }

    /// Begins to stop; returns at once, and may be called more than once.
    pub fn begin_drain(&self) {
        self.draining.cancel();
    }

    /// Whether the server is stopping.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Ends when the server begins to stop.
    pub async fn wait_until_draining(&self) {
        self.draining.cancelled().await;
    }

    /// The time over which sessions are let go.
    #[must_use]
    pub fn drain_time(&self) -> Duration {
        self.drain
    }

    /// Ends when no new connection is taken any more.
    pub(crate) async fn wait_until_closing(&self) {
        self.closing.cancelled().await;
    }

    pub(crate) fn stop_accepting(&self) {
        self.closing.cancel();
    }
}

/// Within what time two signals ask once: who ends a group of processes may have several pass it on.
const ONE_ASKING: Duration = Duration::from_millis(200);

/// Lets a server run until the process is asked to stop, then stops it; asked again, does not wait.
pub(crate) async fn run_until_signal(running: RunningServer, mut signals: TerminationSignals) {
    signals.wait_for_signal().await;
    let asked_again = async {
        sleep_for(ONE_ASKING).await;
        match TerminationSignals::register_handlers() {
            Ok(mut signals) => signals.wait_for_signal().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = running.shut_down() => {}
        () = asked_again => {}
    }
}

/// Has a write beyond the limit of a file's size fail, as on a full disk. Without a handler of SIGXFSZ it would end the
/// process.
///
/// # Errors
/// If the system does not let us handle the signal.
pub(crate) fn ignore_file_size_signal() -> std::io::Result<()> {
    signal(SignalKind::from_raw(nix::libc::SIGXFSZ)).map(drop)
}

/// SIGTERM and SIGINT, which from here on end the process no more by themselves.
#[derive(Debug)]
pub(crate) struct TerminationSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl TerminationSignals {
    /// Listens from now on: what comes before it is asked for is not lost.
    ///
    /// # Errors
    /// If the system does not let us listen.
    pub(crate) fn register_handlers() -> std::io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Ends when the process is asked to stop.
    pub(crate) async fn wait_for_signal(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
