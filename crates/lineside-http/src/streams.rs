//! The streams of an HTTP/2 connection, each a task of its own. A stream whose client grants no window for its reply is
//! reset, while the connection continues.
//!
//! hyper polls a body only when the client has window for it, so a body never notices that it waits. The task around it
//! does.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;

use super::limits;
use super::pace::{SendPace, SocketActivity};
use crate::unsent_budget::UnsentBudget;

tokio::task_local! {
    /// The progress of the current task's stream.
    static PROGRESS: Arc<StreamProgress>;
}

/// The progress of a reply, updated by its body.
#[derive(Debug, Default)]
pub(crate) struct StreamProgress {
    /// True if a piece waits for the client's window.
    is_waiting: AtomicBool,
    /// Bytes that the body has passed on.
    bytes: AtomicU64,
}

impl StreamProgress {
    /// Returns the progress of the current task's stream; `None` over HTTP/1.
    pub(crate) fn for_current_task() -> Option<Arc<Self>> {
        PROGRESS.try_with(Arc::clone).ok()
    }

    /// Marks that the client had window for all pieces so far.
    pub(crate) fn mark_drained(&self) {
        self.is_waiting.store(false, Relaxed);
    }

    /// Counts a piece that is passed on.
    pub(crate) fn count_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.is_waiting.store(true, Relaxed);
    }
}

/// Runs the streams of one connection.
#[derive(Debug, Clone)]
pub(crate) struct StreamExecutor {
    pub timeout: Duration,
    pub unsent: Arc<UnsentBudget>,
    pub socket: Arc<SocketActivity>,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::<StreamProgress>::default();
        self.socket.open_streams().fetch_add(1, Relaxed);
        tokio::spawn(StreamTask {
            stream: Box::pin(PROGRESS.scope(Arc::clone(&progress), stream)),
            progress,
            pace: SendPace::new(self.timeout, Arc::clone(&self.unsent)),
            socket: Arc::clone(&self.socket),
            n_blocked: self.socket.blocked_state().1,
            n_extensions: 0,
        });
    }
}

/// A stream until it ends, or until its client is too slow. Dropping the task resets the stream.
struct StreamTask<F> {
    stream: Pin<Box<F>>,
    progress: Arc<StreamProgress>,
    pace: SendPace,
    socket: Arc<SocketActivity>,
    n_blocked: u64,
    n_extensions: u32,
}

impl<F> StreamTask<F> {
    fn is_too_slow(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.progress.is_waiting.load(Relaxed) {
            self.pace.reset();
            (self.n_blocked, self.n_extensions) = (self.socket.blocked_state().1, 0);
            return false;
        }
        let progress = &self.progress;
        while self.pace.is_too_slow(cx, || progress.bytes.load(Relaxed)) {
            // Many streams may share a slow line. The connection's own pace handles that.
            let (is_blocked, n_blocked) = self.socket.blocked_state();
            if self.n_extensions == limits::STREAM_EXTENSIONS_MAX
                || !is_blocked && n_blocked == self.n_blocked
            {
                return true;
            }
            self.n_extensions += 1;
            self.n_blocked = n_blocked;
            self.pace.reset();
        }
        false
    }
}

impl<F> Drop for StreamTask<F> {
    fn drop(&mut self) {
        self.socket.open_streams().fetch_sub(1, Relaxed);
    }
}

impl<F: Future> Future for StreamTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if self.is_too_slow(cx) {
            tracing::debug!("an HTTP/2 stream is reset, because its client reads too slowly");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
