//! A connection as a stream of bytes, pulled by the owner of the socket.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::task::AtomicWaker;
use lineside_hub::{Hub, JoinedPublicationsCache, NewsListener};
use lineside_sync::{Clock, Sleep};

use super::connection::{LIMITS, SseConnection, SseSubscriber};
use super::open::check_channel_count;
use super::{HEARTBEAT_INTERVAL, LastEventId, RETRY_MILLIS, SseOpenError, event};
use crate::close_reason::ConnectionCloseReason;

/// The body of an `/events` reply.
///
/// It returns bytes only on demand, so a socket that accepts nothing costs nothing; returned bytes count as received
/// by the client. It ends by itself when the client has been too slow repeatedly, when its token has expired, or when
/// its user is disconnected. The client then reconnects with its last id, if it may.
pub struct SseStream {
    connection: SseConnection,
    clock: Arc<dyn Clock>,
    waker: Arc<StreamTaskWaker>,
    /// The rest of the current event. Bound: the pieces of one event, or a run.
    pieces: VecDeque<Bytes>,
    event_pieces: Vec<Bytes>,
    runs: JoinedPublicationsCache,
    heartbeat: Sleep,
    expiry: Option<Sleep>,
}

/// Wakes the task that owns the stream.
#[derive(Debug, Default)]
struct StreamTaskWaker(AtomicWaker);

impl NewsListener for StreamTaskWaker {
    fn signal_news(&self) {
        self.0.wake();
    }
}

impl SseStream {
    /// Subscribes to the channels, as the request names them (decoded once by the query string), from the positions in
    /// `last_event_id`. `seed` determines the `retry:` value and the phase of heartbeats.
    ///
    /// # Errors
    /// Returns an error if a name is not a channel or is unknown, or if there are too many.
    pub fn open_stream(
        hub: &Arc<Hub>,
        channels: &[impl AsRef<str>],
        last_event_id: Option<&str>,
        reader: &SseSubscriber,
        seed: u64,
    ) -> Result<Self, SseOpenError> {
        check_channel_count(channels)?;
        let waker = Arc::new(StreamTaskWaker::default());
        let last = LastEventId::parse_header(last_event_id.unwrap_or_default());
        let clock = hub.clock().clone();
        let session = hub.open_session(waker.clone(), LIMITS);
        let now = clock.monotonic();
        let connection =
            SseConnection::subscribe_session(hub, session, channels, &last, (reader, now))?;
        let mut rng = fastrand::Rng::with_seed(seed);
        let pieces = VecDeque::from([event::encode_retry_line(rng.u64(RETRY_MILLIS))]);
        // Connections opened together must not send heartbeats together forever.
        let heartbeat = clock.sleep(HEARTBEAT_INTERVAL.mul_f64(rng.f64().mul_add(0.5, 0.5)));
        let expiry = reader.token_lifetime.map(|lives| clock.sleep(lives));
        let (event_pieces, runs) = Default::default();
        Ok(Self { connection, clock, waker, pieces, event_pieces, runs, heartbeat, expiry })
    }

    /// Returns the next bytes to write, or `None` if there are none now, or no more
    /// ([`close_reason`](Self::close_reason)). An event is never split by another one.
    pub fn next_output_bytes(&mut self) -> Option<Bytes> {
        if self.pieces.is_empty()
            && self.connection.next_event(&mut self.event_pieces, &mut self.runs)
        {
            self.runs.clear();
            self.pieces.extend(self.event_pieces.drain(..));
        }
        self.pieces.pop_front()
    }

    /// Returns the reason once the ended stream has returned everything; `None` while there may be more.
    pub fn close_reason(&self) -> Option<ConnectionCloseReason> {
        self.connection.close_reason().filter(|_| self.pieces.is_empty())
    }

    /// Ends the stream if the subscriber's token has expired, with a comment between two events.
    fn end_if_token_expired(&mut self, cx: &mut Context<'_>) {
        if self.expiry.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready()) {
            self.expiry = None;
            self.pieces.extend(self.connection.close_if_expired(self.clock.monotonic()));
        }
    }

    /// Returns a heartbeat between events only: the timer is polled when there is nothing else to send.
    fn poll_heartbeat(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.heartbeat.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.heartbeat = self.clock.sleep(HEARTBEAT_INTERVAL);
        Poll::Ready(Some(self.connection.next_heartbeat()))
    }
}

impl Stream for SseStream {
    type Item = Bytes;

    /// Cancel safe: bytes that were not returned are returned next time.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        // Registers the waker before it looks, so that a signal in between is not lost.
        self.waker.0.register(cx.waker());
        self.end_if_token_expired(cx);
        if let Some(bytes) = self.next_output_bytes() {
            return Poll::Ready(Some(bytes));
        }
        if self.close_reason().is_some() {
            return Poll::Ready(None);
        }
        self.poll_heartbeat(cx)
    }
}

impl fmt::Debug for SseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseStream")
            .field("session", self.connection.as_session())
            .field("ended", &self.connection.close_reason())
            .finish_non_exhaustive()
    }
}
