//! A connection as a stream of bytes, pulled by whoever owns the socket.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::task::AtomicWaker;
use lineside_hub::{Delivery, Ended, Hub, Listener, Session};
use lineside_sync::{Clock, Sleep};

use super::{HEARTBEAT_INTERVAL, LastEventId, OpenError, RETRY_MILLIS, event, open};

/// The body of an `/events` reply.
///
/// It gives bytes only when asked, so a socket that takes nothing costs nothing; what it has given
/// counts as held by the client. It ends by itself only when the client has been too slow again and
/// again; the client then comes back with its last id.
pub struct SseStream {
    session: Session,
    clock: Arc<dyn Clock>,
    waker: Arc<Wakes>,
    /// What is left of the event begun. Bound: the pieces of one event.
    pieces: VecDeque<Bytes>,
    heartbeat: Sleep,
    id_at_beat: Option<String>,
    ended: Option<Ended>,
}

/// Tells the task that owns the stream.
#[derive(Debug, Default)]
struct Wakes(AtomicWaker);

impl Listener for Wakes {
    fn signal(&self) {
        self.0.wake();
    }
}

impl SseStream {
    /// Subscribes to the channels, as the request names them (decoded once by the query string), from
    /// where `last_event_id` says the client is. `seed` decides the `retry:` and the beat's phase.
    ///
    /// # Errors
    /// When a name is no channel or unknown, or there are too many.
    pub fn open(
        hub: &Arc<Hub>,
        channels: &[impl AsRef<str>],
        last_event_id: Option<&str>,
        seed: u64,
    ) -> Result<Self, OpenError> {
        let waker = Arc::new(Wakes::default());
        let last = LastEventId::parse(last_event_id.unwrap_or_default());
        let session = open::open(hub, channels, &last, waker.clone())?;
        let clock = hub.clock().clone();
        let mut rng = fastrand::Rng::with_seed(seed);
        let pieces = VecDeque::from([event::retry(rng.u64(RETRY_MILLIS))]);
        // Connections made together must not beat together for ever.
        let heartbeat = clock.sleep(HEARTBEAT_INTERVAL.mul_f64(rng.f64().mul_add(0.5, 0.5)));
        Ok(Self { session, clock, waker, pieces, heartbeat, id_at_beat: None, ended: None })
    }

    /// The next bytes to write, or `None` when there are none now, or no more
    /// ([`ended`](Self::ended)). Events are never torn apart by another one.
    pub fn next_bytes(&mut self) -> Option<Bytes> {
        while self.pieces.is_empty() && self.ended.is_none() {
            let delivery = self.session.next_delivery()?;
            self.push(&delivery);
        }
        self.pieces.pop_front()
    }

    /// Why all has been given that ever will be; `None` while there may be more.
    pub fn ended(&self) -> Option<Ended> {
        self.ended.filter(|_| self.pieces.is_empty())
    }

    fn push(&mut self, delivery: &Delivery) {
        if let Some(pieces) = event::encode(delivery, &mut self.session) {
            self.pieces.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
        } else if let Delivery::Ended { why, .. } = delivery {
            self.pieces.push_back(event::ended(*why));
            self.ended = Some(*why);
        }
    }

    /// Between events only: the clock is looked at when there is nothing else to send.
    fn poll_heartbeat(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.heartbeat.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.heartbeat = self.clock.sleep(HEARTBEAT_INTERVAL);
        let id = event::id(&mut self.session);
        let beat = event::heartbeat(id.as_deref().filter(|_| id != self.id_at_beat));
        self.id_at_beat = id;
        Poll::Ready(Some(beat))
    }
}

impl Stream for SseStream {
    type Item = Bytes;

    /// Cancel safe: what was not returned is returned next time.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        // First the waker, then the look: a signal in between is not lost.
        self.waker.0.register(cx.waker());
        if let Some(bytes) = self.next_bytes() {
            return Poll::Ready(Some(bytes));
        }
        if self.ended.is_some() {
            return Poll::Ready(None);
        }
        self.poll_heartbeat(cx)
    }
}

impl fmt::Debug for SseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseStream")
            .field("session", &self.session)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
