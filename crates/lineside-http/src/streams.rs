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
use super::pace::{ClientReadRate, SocketActivity};
use crate::unsent_budget::UnsentBudget;

tokio::task_local! {
    /// The progress of the current task's stream.
    static PROGRESS: Arc<Http2StreamProgress>;
}

/// The progress of a reply, updated by its body.
#[derive(Debug, Default)]
pub(crate) struct Http2StreamProgress {
    /// True if a piece waits for the client's window.
    is_waiting: AtomicBool,
    /// Bytes that the body has passed on.
    bytes: AtomicU64,
}

impl Http2StreamProgress {
    /// Returns the progress of the current task's stream; `None` over HTTP/1.
    pub(crate) fn for_current_task() -> Option<Arc<Self>> {
        PROGRESS.try_with(Arc::clone).ok()
    }

    /// Marks that the client had window for all pieces so far.
    pub(crate) fn mark_no_bytes_waiting(&self) {
        self.is_waiting.store(false, Relaxed);
    }

    /// Counts a piece that is passed on.
    pub(crate) fn count_passed_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.is_waiting.store(true, Relaxed);
    }
}

/// Runs the streams of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Http2StreamExecutor {
    pub timeout: Duration,
    pub unsent: Arc<UnsentBudget>,
    pub socket: Arc<SocketActivity>,
}

impl<F> Executor<F> for Http2StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::<Http2StreamProgress>::default();
        self.socket.open_stream_counter().fetch_add(1, Relaxed);
        tokio::spawn(Http2StreamTask {
            stream: Box::pin(PROGRESS.scope(Arc::clone(&progress), stream)),
            progress,
            pace: ClientReadRate::new(self.timeout, Arc::clone(&self.unsent)),
            socket: Arc::clone(&self.socket),
            n_blocked: self.socket.is_blocked_and_block_count().1,
            n_extensions: 0,
        });
    }
}

/// A stream until it ends, or until its client is too slow. Dropping the task resets the stream.
struct Http2StreamTask<F> {
    stream: Pin<Box<F>>,
    progress: Arc<Http2StreamProgress>,
    pace: ClientReadRate,
    socket: Arc<SocketActivity>,
    n_blocked: u64,
    n_extensions: u32,
}

impl<F> Http2StreamTask<F> {
    fn is_stream_client_too_slow(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.progress.is_waiting.load(Relaxed) {
            self.pace.reset_measurement();
            (self.n_blocked, self.n_extensions) = (self.socket.is_blocked_and_block_count().1, 0);
            return false;
        }
        let progress = &self.progress;
        while self.pace.is_too_slow(cx, || progress.bytes.load(Relaxed)) {
            // Many streams may share a slow line. The connection's own pace handles that.
            let (is_blocked, n_blocked) = self.socket.is_blocked_and_block_count();
            if self.n_extensions == limits::STREAM_EXTENSIONS_MAX
                || !is_blocked && n_blocked == self.n_blocked
            {
                return true;
            }
            self.n_extensions += 1;
            self.n_blocked = n_blocked;
            self.pace.reset_measurement();
        }
        false
    }
}

impl<F> Drop for Http2StreamTask<F> {
    fn drop(&mut self) {
        self.socket.open_stream_counter().fetch_sub(1, Relaxed);
    }
}

impl<F: Future> Future for Http2StreamTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if self.is_stream_client_too_slow(cx) {
            tracing::debug!("an HTTP/2 stream is reset, because its client reads too slowly");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
