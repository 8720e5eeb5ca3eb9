//! Work that takes milliseconds, away from the threads that serve sockets.

use super::errors::Refusal;

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
