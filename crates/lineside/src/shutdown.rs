//! Shutdown in three phases: *draining* (readiness fails, polling ends, sessions are closed one by one), *closing* (no
//! new connections, running requests end), and gone.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::server::RunningServer;
use crate::timeout::sleep_for;

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
    pub fn begin_drain(&self) {
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
    pub fn drain_time(&self) -> Duration {
        self.drain
    }

    /// Completes when no new connections are accepted.
    pub(crate) async fn wait_until_closing(&self) {
        self.closing.cancelled().await;
    }

    pub(crate) fn stop_accepting(&self) {
        self.closing.cancel();
    }
}

/// Signals within this time count as one: ending a process group may deliver several.
const SIGNAL_DEBOUNCE: Duration = Duration::from_millis(200);

/// Runs a server until a termination signal, then stops it; a second signal stops it at once.
pub(crate) async fn run_until_signal(running: RunningServer, mut signals: TerminationSignals) {
    signals.wait_for_signal().await;
    let second_signal = async {
        sleep_for(SIGNAL_DEBOUNCE).await;
        match TerminationSignals::register_handlers() {
            Ok(mut signals) => signals.wait_for_signal().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = running.shut_down() => {}
        () = second_signal => {}
    }
}

/// Makes a write beyond the file size limit fail like one on a full disk. Without a handler SIGXFSZ would end the
/// process.
///
/// # Errors
/// Returns an error if the handler cannot be registered.
pub(crate) fn ignore_file_size_signal() -> std::io::Result<()> {
    signal(SignalKind::from_raw(nix::libc::SIGXFSZ)).map(drop)
}

/// Handlers of SIGTERM and SIGINT, which no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct TerminationSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl TerminationSignals {
    /// Registers the handlers; signals that arrive before [`wait_for_signal`](Self::wait_for_signal) are not lost.
    ///
    /// # Errors
    /// Returns an error if a handler cannot be registered.
    pub(crate) fn register_handlers() -> std::io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes when a termination signal arrives.
    pub(crate) async fn wait_for_signal(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
