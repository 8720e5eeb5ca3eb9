//! An event stream without its socket: what is next to be sent, and why no more will be. A partition's row is one,
//! and [`SseStream`](super::SseStream) holds one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{Hub, PartitionListener, RunCache, Session, SessionLimits, SubscribeError};

use super::open::subscribe_all;
use super::{CHANNELS_MAX, LastEventId, OpenError, RETRY_MILLIS, event};
use crate::partition::CloseReason;

/// Who reads a stream; by default nobody in particular, for as long as it likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseSubscriber {
    /// The user; empty if nobody is known.
    pub user: Arc<str>,
    /// How long its token is good yet; the stream ends then.
    pub lives: Option<Duration>,
}

/// One `/events` connection, without its socket.
#[derive(Debug)]
pub(crate) struct SseConnection {
    session: Session,
    /// As of the last heartbeat.
    id_at_beat: Option<Box<str>>,
    /// On the clock of who calls.
    expires: Option<Duration>,
    ended: Option<CloseReason>,
    /// What its client has said since its request, in bytes.
    heard: usize,
}

impl SseConnection {
    /// For a partition: subscribes, and gives what the client is sent first.
    pub(crate) fn open_connection(
        audience: &PartitionListener,
        row: u32,
        channels: &[Box<str>],
        last: &LastEventId,
        (reader, now): (&SseSubscriber, Duration),
        rng: &mut fastrand::Rng,
    ) -> Result<(Self, Bytes), OpenError> {
        let session = audience.open_session(row, LIMITS);
        let row = Self::subscribe_session(audience.hub(), session, channels, last, (reader, now))?;
        Ok((row, event::encode_retry(rng.u64(RETRY_MILLIS))))
    }

    /// Subscribes a session that has no subscriptions yet.
    pub(super) fn subscribe_session(
        hub: &Hub,
        mut session: Session,
        channels: &[impl AsRef<str>],
        last: &LastEventId,
        (reader, now): (&SseSubscriber, Duration),
    ) -> Result<Self, OpenError> {
        if !reader.user.is_empty() {
            match session.subscribe_user(&reader.user) {
                Ok(()) | Err(SubscribeError::AlreadySubscribed) => {}
                Err(_) => return Err(OpenError::Overloaded),
            }
        }
        subscribe_all(hub, &mut session, channels, last)?;
        let expires = reader.lives.map(|lives| now.saturating_add(lives));
        Ok(Self { session, id_at_beat: None, expires, ended: None, heard: 0 })
    }

    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(super) fn as_session(&self) -> &Session {
        &self.session
    }

    /// Adds the pieces of the next event, or of several; false when there is none now, or no more.
    pub(crate) fn next_event(&mut self, into: &mut Vec<Bytes>, runs: &mut RunCache) -> bool {
        while self.ended.is_none() {
            if let Some(run) = event::next_encoded_run(&mut self.session, runs) {
                into.push(run);
                return true;
            }
            let Some(delivery) = self.session.next_delivery() else { return false };
            if let Some(pieces) = event::encode_delivery(&delivery, &mut self.session) {
                into.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
                return true;
            }
            if let Some((why, said)) = event::encode_end(&delivery) {
                into.push(said);
                self.ended = Some(why);
                return true;
            }
        }
        false
    }

    /// Why no event will come any more.
    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        self.ended
    }

    /// When its reader's token is not good any more; `None` where that is never, or it has ended already.
    pub(crate) fn expires_at(&self) -> Option<Duration> {
        self.expires.filter(|_| self.ended.is_none())
    }

    /// Ends it where its reader's token has expired, with what is said of it.
    pub(crate) fn close_if_expired(&mut self, now: Duration) -> Option<Bytes> {
        self.expires_at().filter(|due| *due <= now)?;
        self.ended = Some(CloseReason::Expired);
        Some(event::EXPIRED)
    }

    /// Takes note of what the client says after its request, which is for nobody. False when that is too much.
    pub(crate) fn note_input(&mut self, bytes: usize) -> bool {
        self.heard = self.heard.saturating_add(bytes);
        self.heard <= HEARD_BYTES_MAX
    }

    /// What shows that the connection lives; with the id where it has moved on since the last time.
    pub(crate) fn next_heartbeat(&mut self) -> Bytes {
        let id = event::encode_id(&mut self.session);
        let moved = id.as_deref() != self.id_at_beat.as_deref();
        let beat = event::encode_heartbeat(id.as_deref().filter(|_| moved));
        self.id_at_beat = id.map(Into::into);
        beat
    }
}

/// What a client may say after its request, in bytes: some send the next one although it is never answered.
const HEARD_BYTES_MAX: usize = 64 << 10;

/// What a stream's session may do.
pub(super) const LIMITS: SessionLimits = SessionLimits { channels_max: CHANNELS_MAX };
