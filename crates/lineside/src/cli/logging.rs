//! Logs go to standard error; `RUST_LOG` chooses how much.

use std::io;

use tracing_subscriber::EnvFilter;

use super::print;

/// Starts logging for the process. The commands that serve call it once.
pub(crate) fn start_logging() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,lineside=info"));
    let format = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Programs that read a log file would stumble over color codes.
        .with_ansi(print::uses_colors(&io::stderr()))
        .with_writer(io::stderr);
    if format.try_init().is_err() {
        tracing::debug!("logging is already started");
    }
}
