//! Permits for replies that take a processor for milliseconds.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::errors::Refusal;

/// Replies rendered at the same time; further requests wait.
const CONCURRENT_RENDERS_MAX: usize = 4;
/// Requests that wait for a permit; further ones are refused as busy.
const WAITING_REQUESTS_MAX: usize = 64;

/// Permits to render replies of one kind, each of which takes a processor for milliseconds.
#[derive(Debug)]
pub struct RenderSlots {
    running: Arc<Semaphore>,
    /// Requests that render or wait to.
    admitted: Arc<Semaphore>,
}

/// A permit to render one reply; given back when dropped.
#[derive(Debug)]
pub struct RenderPermit {
    _admitted: OwnedSemaphorePermit,
    _running: OwnedSemaphorePermit,
}

impl Default for RenderSlots {
    fn default() -> Self {
        Self {
            running: Arc::new(Semaphore::new(CONCURRENT_RENDERS_MAX)),
            admitted: Arc::new(Semaphore::new(CONCURRENT_RENDERS_MAX + WAITING_REQUESTS_MAX)),
        }
    }
}

impl RenderSlots {
    /// Waits until a reply may be rendered. Move the permit into the work, which continues after its client has left.
    ///
    /// # Errors
    /// Returns [`Refusal::Busy`] at once if too many requests wait already.
    pub async fn acquire_permit(&self) -> Result<RenderPermit, Refusal> {
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().map_err(|_| Refusal::Busy)?;
        let running = Arc::clone(&self.running).acquire_owned().await;
        Ok(RenderPermit { _admitted: admitted, _running: running.map_err(|_| Refusal::Internal)? })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn requests_beyond_the_waiting_limit_are_refused_at_once() {
        let slots = RenderSlots::default();
        let mut made = Vec::new();
        for _ in 0..CONCURRENT_RENDERS_MAX {
            made.push(slots.acquire_permit().await.unwrap());
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut waiting: Vec<_> =
            (0..WAITING_REQUESTS_MAX).map(|_| Box::pin(slots.acquire_permit())).collect();
        for waits in &mut waiting {
            assert!(waits.as_mut().poll(&mut context).is_pending());
        }
        let refused = pin!(slots.acquire_permit()).poll(&mut context);
        assert!(matches!(refused, Poll::Ready(Err(Refusal::Busy))), "{refused:?}");
        made.pop();
        assert!(waiting.remove(0).as_mut().poll(&mut context).is_ready());
        assert!(pin!(slots.acquire_permit()).poll(&mut context).is_pending());
    }
}
