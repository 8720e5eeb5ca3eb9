//! An event stream as a partition's row: the same events as [`SseStream`](super::SseStream) gives, pulled by
//! the thread that owns the socket.

use bytes::Bytes;
use lineside_hub::{Audience, Delivery, Ended, Runs, Session, SessionLimits};

use super::open::subscribe_all;
use super::{CHANNELS_MAX, LastEventId, OpenError, RETRY_MILLIS, event};

/// One `/events` connection, without its socket.
#[derive(Debug)]
pub(crate) struct SseRow {
    session: Session,
    /// As of the last heartbeat.
    id_at_beat: Option<Box<str>>,
    ended: Option<Ended>,
}

impl SseRow {
    /// Subscribes, and gives what the client is sent first.
    pub(crate) fn open(
        audience: &Audience,
        row: u32,
        channels: &[Box<str>],
        last: &LastEventId,
        rng: &mut fastrand::Rng,
    ) -> Result<(Self, Bytes), OpenError> {
        let mut session = audience.session(row, SessionLimits { channels_max: CHANNELS_MAX });
        subscribe_all(audience.hub(), &mut session, channels, last)?;
        let retry = event::retry(rng.u64(RETRY_MILLIS));
        Ok((Self { session, id_at_beat: None, ended: None }, retry))
    }

    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Adds the pieces of the next event, or of several; false when there is none now, or no more.
    pub(crate) fn next(&mut self, into: &mut Vec<Bytes>, runs: &mut Runs) -> bool {
        if self.ended.is_some() {
            return false;
        }
        if let Some(run) = event::next_run(&mut self.session, runs) {
            into.push(run);
            return true;
        }
        let Some(delivery) = self.session.next_delivery() else { return false };
        if let Some(pieces) = event::encode(&delivery, &mut self.session) {
            into.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
        } else if let Delivery::Ended { why, .. } = delivery {
            into.push(event::ended(why));
            self.ended = Some(why);
        }
        true
    }

    /// Why no event will come any more.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// What shows that the connection lives; with the id where it has moved on since the last time.
    pub(crate) fn heartbeat(&mut self) -> Bytes {
        let id = event::id(&mut self.session);
        let moved = id.as_deref() != self.id_at_beat.as_deref();
        let beat = event::heartbeat(id.as_deref().filter(|_| moved));
        self.id_at_beat = id.map(Into::into);
        beat
    }
}
