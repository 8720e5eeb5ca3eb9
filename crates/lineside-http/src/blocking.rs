//! Work that takes milliseconds, away from the threads that serve sockets.

use lineside_model::{ArchiveError, PollArchive};

use super::errors::Refusal;
use crate::app::App;
use crate::page_context::bind_page_context;

/// Runs `work` on a thread that may block.
pub async fn run_blocking<T, F>(work: F) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    tokio::task::spawn_blocking(bind_page_context(work)).await.map_err(|error| {
        tracing::error!(%error, "blocking work of a request crashed");
        Refusal::Internal
    })
}

/// Reads from the archive with a limit on concurrent reads.
///
/// # Errors
/// Returns an error if too many reads run or the archive cannot be read.
pub async fn read_poll_archive<T, F>(app: &App, read: F) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: FnOnce(&dyn PollArchive) -> Result<T, ArchiveError> + Send + 'static,
{
    Ok(app.server_context().archive_reader().read(read).await?)
}
