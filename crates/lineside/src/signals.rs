//! The termination signals of the process.

use std::time::Duration;

use lineside_sync::real_time::sleep_real_time;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::server::RunningServer;

/// Signals within this time count as one: ending a process group may deliver several.
const SIGNAL_DEBOUNCE: Duration = Duration::from_millis(200);

/// Runs a server until a termination signal, then stops it; a second signal stops it at once.
pub(crate) async fn run_until_signal(running: RunningServer, mut signals: TerminationSignals) {
    signals.wait_for_signal().await;
    let second_signal = async {
        sleep_real_time(SIGNAL_DEBOUNCE).await;
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
