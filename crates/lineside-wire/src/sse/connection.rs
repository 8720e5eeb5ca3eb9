//! An event stream without its socket: the next events, and the reason of its end. A partition's row is such a stream,
//! and [`SseStream`](super::SseStream) contains one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{Hub, JoinedPublicationsCache, Session, SessionLimits, SubscribeError};

use super::open::subscribe_to_all_channels;
use super::{CHANNELS_MAX, LastEventId, RETRY_MILLIS, SseOpenError, event};
use crate::close_reason::ConnectionCloseReason;
use crate::partition::TransportOpening;

/// The subscriber of a stream; anonymous and without expiry by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseSubscriber {
    /// The user; empty for an anonymous subscriber.
    pub user: Arc<str>,
    /// The remaining lifetime of the token; the stream ends with it.
    pub token_lifetime: Option<Duration>,
}

/// One `/events` connection, without its socket.
#[derive(Debug)]
pub(super) struct SseConnection {
    pub(super) session: Session,
    last_heartbeat_id: Option<Box<str>>,
    /// The expiry, on the caller's clock.
    expires: Option<Duration>,
    ended: Option<ConnectionCloseReason>,
    /// The bytes that the client has sent since its request.
    pub(super) bytes_received: usize,
}

impl SseConnection {
    /// Opens a connection for a partition: subscribes, and returns the first output.
    pub(super) fn open_connection(
        opening: TransportOpening<'_>,
        channels: &[Box<str>],
        last: &LastEventId,
        reader: &SseSubscriber,
    ) -> Result<(Self, Bytes), SseOpenError> {
        let (hub, session) = (opening.hub(), opening.open_session(LIMITS));
        let reader = (reader, opening.now);
        let connection = Self::subscribe_session(hub, session, channels, last, reader)?;
        Ok((connection, event::encode_retry_line(opening.rng.u64(RETRY_MILLIS))))
    }

    /// Subscribes a session without subscriptions.
    pub(super) fn subscribe_session(
        hub: &Hub,
        mut session: Session,
        channels: &[impl AsRef<str>],
        last: &LastEventId,
        (reader, now): (&SseSubscriber, Duration),
    ) -> Result<Self, SseOpenError> {
        if !reader.user.is_empty() {
            match session.subscribe_to_user_orders(&reader.user) {
                Ok(()) | Err(SubscribeError::AlreadySubscribed) => {}
                Err(_) => return Err(SseOpenError::Overloaded),
            }
        }
        subscribe_to_all_channels(hub, &mut session, channels, last)?;
        let expires = reader.token_lifetime.map(|lives| now.saturating_add(lives));
        Ok(Self { session, last_heartbeat_id: None, expires, ended: None, bytes_received: 0 })
    }

    pub(super) fn as_session(&self) -> &Session {
        &self.session
    }

    /// Adds the pieces of the next event, or of several; returns false if there is none now, or if the stream has
    /// ended.
    pub(super) fn next_event(
        &mut self,
        into: &mut Vec<Bytes>,
        runs: &mut JoinedPublicationsCache,
    ) -> bool {
        while self.ended.is_none() {
            if let Some(run) = event::next_shared_events(&mut self.session, runs) {
                into.push(run);
                return true;
            }
            let Some(delivery) = self.session.next_delivery() else { return false };
            if let Some(pieces) = event::encode_delivery_event(&delivery, &mut self.session) {
                into.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
                return true;
            }
            if let Some((why, comment)) = event::encode_stream_end(&delivery) {
                into.push(comment);
                self.ended = Some(why);
                return true;
            }
        }
        false
    }

    /// Returns the reason if the stream has ended.
    pub(super) fn close_reason(&self) -> Option<ConnectionCloseReason> {
        self.ended
    }

    /// Returns the expiry of the subscriber's token; `None` if it does not expire or the stream has ended.
    pub(super) fn expires_at(&self) -> Option<Duration> {
        self.expires.filter(|_| self.ended.is_none())
    }

    /// Ends the stream if the subscriber's token has expired; returns the last output.
    pub(super) fn close_if_expired(&mut self, now: Duration) -> Option<Bytes> {
        self.expires_at().filter(|due| *due <= now)?;
        self.ended = Some(ConnectionCloseReason::Expired);
        Some(event::EXPIRED)
    }

    /// Returns a heartbeat, with the id if it has changed since the last one.
    pub(super) fn next_heartbeat(&mut self) -> Bytes {
        let id = event::encode_event_id(&mut self.session);
        let is_id_changed = id.as_deref() != self.last_heartbeat_id.as_deref();
        let heartbeat = event::encode_heartbeat(id.as_deref().filter(|_| is_id_changed));
        self.last_heartbeat_id = id.map(Into::into);
        heartbeat
    }
}

/// The limits of a stream's session.
pub(super) const LIMITS: SessionLimits = SessionLimits { channels_max: CHANNELS_MAX };
