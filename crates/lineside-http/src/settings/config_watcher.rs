//! Watches the configuration's files for changes, and listens for SIGHUP.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_config::FileStamp;
use lineside_quality::context::ServerContext;
use lineside_sync::real_time::sleep_real_time;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::LiveSettings;

/// Interval at which the files are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reloads the configuration when its files change or the process receives SIGHUP, until the server stops.
///
/// A file is read once its stamp has been the same twice: some programs truncate a file before they write it, and an
/// empty file is a valid configuration.
pub async fn watch_config_files(settings: Arc<LiveSettings>, context: ServerContext) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => Some(hangup),
        Err(error) => {
            tracing::warn!(%error, "SIGHUP cannot be handled, so it does not reload the configuration");
            None
        }
    };
    // A change during the start of the server counts too.
    let mut watched = settings.watched_files();
    let mut seen = read_stamps(watched.clone()).await;
    loop {
        let is_reload_requested = tokio::select! {
            () = sleep_real_time(INTERVAL) => false,
            () = wait_for_hangup(&mut hangup) => true,
            () = context.shutdown().wait_until_draining() => return,
        };
        let found = read_stamps(settings.watched_files()).await;
        if is_reload_requested || (found != watched && found == seen) {
            settings.reload_file(&context).await;
            watched = found.clone();
        }
        seen = found;
    }
}

async fn wait_for_hangup(hangup: &mut Option<Signal>) {
    let received = match hangup {
        Some(hangup) => hangup.recv().await.is_some(),
        None => false,
    };
    if !received {
        std::future::pending().await
    }
}

/// Returns the current stamps of these files.
async fn read_stamps(files: Vec<(PathBuf, FileStamp)>) -> Vec<(PathBuf, FileStamp)> {
    let read_files = move || {
        let now = files.into_iter().map(|(file, _)| {
            let stamp = FileStamp::for_path(&file);
            (file, stamp)
        });
        now.collect()
    };
    tokio::task::spawn_blocking(read_files).await.unwrap_or_default()
}
