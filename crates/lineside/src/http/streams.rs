//! The streams of a connection of HTTP/2, each a task of its own. A stream whose client leaves no room for its reply is
//! reset, and the connection goes on.
//!
//! hyper asks a body for more only when the client has room for it, so a body itself never learns that it waits. The task
//! around it does.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;

use super::limits;
use super::pace::{SendPace, SocketActivity};
use super::unsent::UnsentBudget;

tokio::task_local! {
    /// The progress of the stream whose task this is.
    static PROGRESS: Arc<StreamProgress>;
}

/// How far a reply has come. Its body tells.
#[derive(Debug, Default)]
pub(super) struct StreamProgress {
    /// A piece waits for room at the client.
    waits: AtomicBool,
    /// Bytes that the body has given out.
    bytes: AtomicU64,
}

impl StreamProgress {
    /// That of the stream whose task this is; none over HTTP/1.
    pub(super) fn for_current_task() -> Option<Arc<Self>> {
        PROGRESS.try_with(Arc::clone).ok()
    }

    /// The client had room for all that was given out.
    pub(super) fn mark_drained(&self) {
        self.waits.store(false, Relaxed);
    }

    /// A piece goes out.
    pub(super) fn count_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.waits.store(true, Relaxed);
    }
}

/// Runs the streams of one connection.
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor {
    pub(super) timeout: Duration,
    pub(super) unsent: Arc<UnsentBudget>,
    pub(super) socket: Arc<SocketActivity>,
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
            n_excuses: 0,
        });
    }
}

/// A stream until it ends, or until its client is too slow. Dropping it resets the stream.
struct StreamTask<F> {
    stream: Pin<Box<F>>,
    progress: Arc<StreamProgress>,
    pace: SendPace,
    socket: Arc<SocketActivity>,
    n_blocked: u64,
    n_excuses: u32,
}

impl<F> StreamTask<F> {
    fn is_too_slow(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.progress.waits.load(Relaxed) {
            self.pace.reset();
            (self.n_blocked, self.n_excuses) = (self.socket.blocked_state().1, 0);
            return false;
        }
        let progress = &self.progress;
        while self.pace.is_too_slow(cx, || progress.bytes.load(Relaxed)) {
            // Many streams may share a slow line. That is the connection's matter, which has a pace of its own.
            let (is_blocked, n_blocked) = self.socket.blocked_state();
            if self.n_excuses == limits::STREAM_EXCUSES_MAX
                || !is_blocked && n_blocked == self.n_blocked
            {
                return true;
            }
            self.n_excuses += 1;
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
            tracing::debug!("a stream of HTTP/2 is reset: its client reads too slowly");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
