//! Work that takes milliseconds, away from the threads that serve sockets.

use std::sync::Arc;

use lineside_ingest::{Archive, ArchiveError};

use super::errors::Refusal;
use crate::app::App;

/// Runs `work` where it may take its time.
pub(crate) async fn aside<T, F>(work: F) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "work for a request failed");
        Refusal::Internal
    })
}

/// Reads what is remembered. So many readers there may be at a time, and whoever comes then is refused at once: a few
/// connections read, and a queue before them would only grow.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn remembered<T, F>(app: &App, read: F) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: FnOnce(&dyn Archive) -> Result<T, ArchiveError> + Send + 'static,
{
    let place = app.admission().admit_reader().ok_or(Refusal::NotReadable)?;
    let archive = Arc::clone(app.ingest().archive());
    let work = move || {
        let _place = place;
        read(&*archive)
    };
    Ok(aside(work).await??)
}
