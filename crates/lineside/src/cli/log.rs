//! Logs go to standard error; `RUST_LOG` chooses how much.

use tracing_subscriber::EnvFilter;

/// Starts logging for the process. Called once, by the commands that serve.
pub(crate) fn start() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,lineside=info"));
    let format = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if format.try_init().is_err() {
        tracing::debug!("logging was already started");
    }
}
