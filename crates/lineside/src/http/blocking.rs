//! Work that takes milliseconds, away from the threads that serve sockets.

use std::sync::Arc;

use lineside_ingest::{ArchiveError, PollArchive};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::errors::Refusal;
use crate::app::App;
use crate::pages::keep_context;

/// Answers that are made at once; who comes then waits some milliseconds.
const MADE_AT_ONCE: usize = 4;
/// Answers that wait to be made; who comes then is told to come again.
const WAITING_MAX: usize = 64;

/// The places of those who make answers of one kind, of which each takes a processor for milliseconds.
#[derive(Debug)]
pub(crate) struct RenderSlots {
    makers: Arc<Semaphore>,
    /// Who makes an answer or waits to.
    askers: Arc<Semaphore>,
}

/// A place among those who make answers; given back when dropped.
#[derive(Debug)]
pub(crate) struct RenderPermit {
    _asker: OwnedSemaphorePermit,
    _maker: OwnedSemaphorePermit,
}

impl Default for RenderSlots {
    fn default() -> Self {
        Self {
            makers: Arc::new(Semaphore::new(MADE_AT_ONCE)),
            askers: Arc::new(Semaphore::new(MADE_AT_ONCE + WAITING_MAX)),
        }
    }
}

impl RenderSlots {
    /// Waits until an answer may be made. The place goes with the work: that goes on also where nobody waits for it any more.
    ///
    /// # Errors
    /// At once if too many wait already.
    pub(crate) async fn acquire_permit(&self) -> Result<RenderPermit, Refusal> {
        let asker = Arc::clone(&self.askers).try_acquire_owned().map_err(|_| Refusal::Busy)?;
        let maker = Arc::clone(&self.makers).acquire_owned().await;
        Ok(RenderPermit { _asker: asker, _maker: maker.map_err(|_| Refusal::Internal)? })
    }
}

/// Runs `work` where it may take its time.
pub(crate) async fn run_blocking<T, F>(work: F) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    tokio::task::spawn_blocking(keep_context(work)).await.map_err(|error| {
        tracing::error!(%error, "work for a request failed");
        Refusal::Internal
    })
}

/// Reads what is remembered. So many readers there may be at a time, and whoever comes then is refused at once: a few
/// connections read, and a queue before them would only grow.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn read_archive<T, F>(app: &App, read: F) -> Result<T, Refusal>
where
    T: Send + 'static,
    F: FnOnce(&dyn PollArchive) -> Result<T, ArchiveError> + Send + 'static,
{
    let place = app.admission().permit_archive_read().ok_or(Refusal::NotReadable)?;
    let archive = Arc::clone(app.ingest().archive());
    let work = move || {
        let _place = place;
        read(&*archive)
    };
    Ok(run_blocking(work).await??)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn so_many_wait_for_an_answer_and_who_comes_then_is_told_at_once() {
        let makers = RenderSlots::default();
        let mut made = Vec::new();
        for _ in 0..MADE_AT_ONCE {
            made.push(makers.acquire_permit().await.unwrap());
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut waiting: Vec<_> =
            (0..WAITING_MAX).map(|_| Box::pin(makers.acquire_permit())).collect();
        for waits in &mut waiting {
            assert!(waits.as_mut().poll(&mut context).is_pending());
        }
        let refused = pin!(makers.acquire_permit()).poll(&mut context);
        assert!(matches!(refused, Poll::Ready(Err(Refusal::Busy))), "{refused:?}");
        made.pop();
        assert!(waiting.remove(0).as_mut().poll(&mut context).is_ready());
        assert!(pin!(makers.acquire_permit()).poll(&mut context).is_pending());
    }
}
