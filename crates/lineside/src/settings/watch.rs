//! Looks whether the configuration's files have changed, and listens for SIGHUP.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::App;
use crate::patience::pause;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// What tells one version of a file from the next without reading it; none where there is no file.
type Stamp = Option<(u64, u64, Option<SystemTime>)>;

/// Has the configuration read again when its files have changed or the process is sent SIGHUP, until the server stops.
///
/// A file is read once it has looked the same twice: some programs empty a file before they write it, and no feeds at all
/// would be a good configuration.
pub(crate) async fn watch(app: App) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => Some(hangup),
        Err(error) => {
            tracing::warn!(%error, "SIGHUP is not listened to");
            None
        }
    };
    let settings = app.settings();
    let mut taken = stamps(settings.files()).await;
    let mut seen = taken.clone();
    loop {
        let asked = tokio::select! {
            () = pause(INTERVAL) => false,
            () = told(&mut hangup) => true,
            () = app.shutdown().draining() => return,
        };
        let found = stamps(settings.files()).await;
        if asked || (found != taken && found == seen) {
            settings.read_again(&app).await;
            taken = found.clone();
        }
        seen = found;
    }
}

async fn told(hangup: &mut Option<Signal>) {
    let told = match hangup {
        Some(hangup) => hangup.recv().await.is_some(),
        None => false,
    };
    if !told {
        std::future::pending().await
    }
}

async fn stamps(files: Vec<PathBuf>) -> Vec<(PathBuf, Stamp)> {
    let look = move || {
        let stamp = |it: Metadata| (it.ino(), it.len(), it.modified().ok());
        let stamped = files.into_iter().map(|file| {
            let stamp = std::fs::metadata(&file).ok().map(stamp);
            (file, stamp)
        });
        stamped.collect()
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}
