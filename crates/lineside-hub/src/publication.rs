//! What a room hands out: bytes that are encoded once per codec and shared by all who are sent them.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::Item;

use crate::limits::PUBLICATION_OVERHEAD;
use crate::{Channel, Member};

/// How many codecs may keep a frame beside the data. Which slot is whose is settled in the wire crate.
pub const FRAME_SLOTS: usize = 6;

/// Data with the frames that codecs have made of it.
///
/// The frames live as long as the data and are not counted in a ring's bytes: reckon one more copy per
/// codec in use.
#[derive(Default)]
pub struct Payload {
    data: Bytes,
    frames: OnceLock<Box<[OnceLock<Bytes>; FRAME_SLOTS]>>,
}

impl Payload {
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
    pub fn frame(&self, slot: usize, make: impl FnOnce(&Bytes) -> Bytes) -> &Bytes {
        self.frames.get_or_init(Box::default)[slot].get_or_init(|| make(&self.data))
    }
}

impl fmt::Debug for Payload {
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
    pub payload: Payload,
    /// When it was appended, by the hub's monotonic clock.
    pub(crate) at: Duration,
    note: Option<Box<Note>>,
}

/// What comes with a publication into `app/…` beside its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// The client that published it; none when it was the operator.
    pub publisher: Option<Arc<Member>>,
    /// The operator's names and values.
    pub tags: Vec<(Box<str>, Box<str>)>,
    /// It is delivered, and not told by the history.
    pub skip_history: bool,
}

static NO_EXTRAS: Extras = Extras { publisher: None, tags: Vec::new(), skip_history: false };

impl Extras {
    pub(crate) fn bytes(&self) -> usize {
        let publisher = self.publisher.as_ref().map_or(0, |publisher| publisher.bytes());
        publisher + self.tags.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }

    pub(crate) fn into_note(self) -> Option<Note> {
        (self != NO_EXTRAS).then_some(Note::Extras(self))
    }
}

/// What a room without a state says besides data.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// Comes with the data.
    Extras(Extras),
    /// Somebody has come to a channel, or left it.
    Member { channel: Channel, joined: bool, member: Arc<Member> },
    /// A user's sessions, or one of them, are to end.
    Disconnect(Arc<Disconnect>),
}

/// Says that connections of a user are to be closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disconnect {
    /// Only the connection with this id.
    pub client: Option<Box<str>>,
    /// But not those with these ids.
    pub except: Vec<Box<str>>,
    /// The close code.
    pub code: u16,
    /// The close reason.
    pub reason: Box<str>,
}

impl Disconnect {
    /// Whether the user's connection with this id is meant.
    pub fn concerns(&self, client: &str) -> bool {
        self.client.as_deref().is_none_or(|only| only == client)
            && !self.except.iter().any(|spared| **spared == *client)
    }
}

impl Note {
    fn bytes(&self) -> usize {
        match self {
            Self::Extras(extras) => extras.bytes(),
            Self::Member { member, .. } => member.bytes(),
            Self::Disconnect(order) => order.reason.len(),
        }
    }
}

impl Publication {
    pub(crate) fn new(offset: u64, data: Bytes, at: Duration) -> Arc<Self> {
        Self::noted(offset, data, None, at)
    }

    pub(crate) fn noted(offset: u64, data: Bytes, note: Option<Note>, at: Duration) -> Arc<Self> {
        Arc::new(Self { offset, payload: Payload::new(data), at, note: note.map(Box::new) })
    }

    /// What came with it; nothing on transit channels.
    pub fn extras(&self) -> &Extras {
        match self.note() {
            Some(Note::Extras(extras)) => extras,
            _ => &NO_EXTRAS,
        }
    }

    /// Whether it is for all who listen, whoever they are.
    pub(crate) fn is_data(&self) -> bool {
        matches!(self.note(), None | Some(Note::Extras(_)))
    }

    pub(crate) fn note(&self) -> Option<&Note> {
        self.note.as_deref()
    }
}

impl Item for Publication {
    fn bytes(&self) -> usize {
        self.payload.data().len() + self.note().map_or(0, Note::bytes) + PUBLICATION_OVERHEAD
    }

    fn at(&self) -> Duration {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_made_once() {
        let payload = Payload::new(Bytes::from_static(b"x"));
        let first = payload.frame(0, |data| [b"data: ", &data[..]].concat().into()).clone();
        let again = payload.frame(0, |_| unreachable!("it is there already"));
        assert_eq!(first.as_ptr(), again.as_ptr());
        assert_eq!(payload.frame(1, Bytes::clone), payload.data());
    }
}
