//! What a room hands out: bytes that are encoded once per codec and shared by all who are sent them.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::RingItem;

use crate::limits::PUBLICATION_OVERHEAD;
use crate::{Channel, PresenceMember};

/// How many codecs may keep a frame beside the data. Which slot is whose is settled in the wire crate.
pub const FRAME_SLOTS: usize = 6;

/// Data with the frames that codecs have made of it.
///
/// The frames live as long as the data and are not counted in a ring's bytes: reckon one more copy per
/// codec in use.
#[derive(Default)]
pub struct FramedPayload {
    data: Bytes,
    frames: OnceLock<Box<[OnceLock<Bytes>; FRAME_SLOTS]>>,
}

impl FramedPayload {
    /// Data without frames.
    pub fn new(data: Bytes) -> Self {
        Self { data, frames: OnceLock::new() }
    }

    /// The data as published.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// The frame in `slot`, made by whoever asks first. Others who ask meanwhile wait for it.
    ///
    /// # Panics
    /// When `slot` is not below [`FRAME_SLOTS`].
    pub fn frame_in_slot(&self, slot: usize, make: impl FnOnce(&Bytes) -> Bytes) -> &Bytes {
        self.frames.get_or_init(Box::default)[slot].get_or_init(|| make(&self.data))
    }
}

impl fmt::Debug for FramedPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// One entry of a room's ring.
#[derive(Debug)]
pub struct Publication {
    /// Its place in the room's sequence.
    pub offset: u64,
    /// What is sent.
    pub payload: FramedPayload,
    /// When it was appended, by the hub's monotonic clock.
    pub(crate) at: Duration,
    note: Option<Box<PublicationNote>>,
}

/// What comes with a publication into `app/…` beside its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicationExtras {
    /// The client that published it; none when it was the operator.
    pub publisher: Option<Arc<PresenceMember>>,
    /// The operator's names and values.
    pub tags: Vec<(Box<str>, Box<str>)>,
    /// It is delivered, and not told by the history.
    pub skip_history: bool,
}

static NO_EXTRAS: PublicationExtras =
    PublicationExtras { publisher: None, tags: Vec::new(), skip_history: false };

impl PublicationExtras {
    pub(crate) fn byte_size(&self) -> usize {
        let publisher = self.publisher.as_ref().map_or(0, |publisher| publisher.byte_size());
        publisher + self.tags.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }

    pub(crate) fn into_note(self) -> Option<PublicationNote> {
        (self != NO_EXTRAS).then_some(PublicationNote::Extras(self))
    }
}

/// What a room without a state says besides data.
#[derive(Clone, Debug)]
pub(crate) enum PublicationNote {
    /// Comes with the data.
    Extras(PublicationExtras),
    /// Somebody has come to a channel, or left it.
    Member { channel: Channel, joined: bool, member: Arc<PresenceMember> },
    /// A user's sessions, or one of them, are to end.
    Disconnect(Arc<DisconnectOrder>),
}

/// Says that connections of a user are to be closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisconnectOrder {
    /// Only the connection with this id.
    pub client: Option<Box<str>>,
    /// But not those with these ids.
    pub except: Vec<Box<str>>,
    /// The close code.
    pub code: u16,
    /// The close reason.
    pub reason: Box<str>,
}

impl DisconnectOrder {
    /// Whether the user's connection with this id is meant.
    pub fn applies_to_client(&self, client: &str) -> bool {
        self.client.as_deref().is_none_or(|only| only == client)
            && !self.except.iter().any(|spared| **spared == *client)
    }
}

impl PublicationNote {
    fn byte_size(&self) -> usize {
        match self {
            Self::Extras(extras) => extras.byte_size(),
            Self::Member { member, .. } => member.byte_size(),
            Self::Disconnect(order) => order.reason.len(),
        }
    }
}

impl Publication {
    pub(crate) fn new(offset: u64, data: Bytes, at: Duration) -> Arc<Self> {
        Self::with_note(offset, data, None, at)
    }

    pub(crate) fn with_note(
        offset: u64,
        data: Bytes,
        note: Option<PublicationNote>,
        at: Duration,
    ) -> Arc<Self> {
        Arc::new(Self { offset, payload: FramedPayload::new(data), at, note: note.map(Box::new) })
    }

    /// What came with it; nothing on transit channels.
    pub fn extras(&self) -> &PublicationExtras {
        match self.note() {
            Some(PublicationNote::Extras(extras)) => extras,
            _ => &NO_EXTRAS,
        }
    }

    /// Whether it is for all who listen, whoever they are.
    pub(crate) fn is_data_only(&self) -> bool {
        matches!(self.note(), None | Some(PublicationNote::Extras(_)))
    }

    pub(crate) fn note(&self) -> Option<&PublicationNote> {
        self.note.as_deref()
    }
}

impl RingItem for Publication {
    fn byte_size(&self) -> usize {
        self.payload.data().len()
            + self.note().map_or(0, PublicationNote::byte_size)
            + PUBLICATION_OVERHEAD
    }

    fn created_at(&self) -> Duration {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_made_once() {
        let payload = FramedPayload::new(Bytes::from_static(b"x"));
        let first = payload.frame_in_slot(0, |data| [b"data: ", &data[..]].concat().into()).clone();
        let again = payload.frame_in_slot(0, |_| unreachable!("it is there already"));
        assert_eq!(first.as_ptr(), again.as_ptr());
        assert_eq!(payload.frame_in_slot(1, Bytes::clone), payload.data());
    }
}
