//! Publications: bytes that are encoded once per codec and shared by all receivers.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::RingItem;

use crate::limits::PUBLICATION_OVERHEAD;
use crate::{EncodedChannelName, PresenceMember};

/// The number of codecs that may store a frame with the data. The wire crate assigns the slots.
pub const FRAME_SLOTS: usize = 6;

/// Data with the frames that codecs have encoded from it.
///
/// The frames live as long as the data and do not count toward a ring's bytes: allow for one more copy per codec in
/// use.
#[derive(Default)]
pub struct FramedPayload {
    data: Bytes,
    frames: OnceLock<Box<[OnceLock<Bytes>; FRAME_SLOTS]>>,
}

impl FramedPayload {
    /// Creates data without frames.
    pub fn new(data: Bytes) -> Self {
        Self { data, frames: OnceLock::new() }
    }

    /// Returns the data as published.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// Returns the frame in `slot`, encoded by the first caller. Concurrent callers wait for it.
    ///
    /// # Panics
    /// Panics if `slot` is not below [`FRAME_SLOTS`].
    pub fn get_or_encode_frame(&self, slot: usize, make: impl FnOnce(&Bytes) -> Bytes) -> &Bytes {
        self.frames.get_or_init(Box::default)[slot].get_or_init(|| make(&self.data))
    }
}

impl fmt::Debug for FramedPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FramedPayload").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// One entry of a room's ring.
#[derive(Debug)]
pub struct Publication {
    /// The position in the room's sequence.
    pub offset: u64,
    /// The data and its frames.
    pub payload: FramedPayload,
    /// The time of the append, by the hub's monotonic clock.
    pub(crate) at: Duration,
    note: Option<Box<NonDataContent>>,
}

/// The metadata of a publication into `app/…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicationExtras {
    /// The client that published it; `None` if the operator did.
    pub publisher: Option<Arc<PresenceMember>>,
    /// The operator's tags, as names and values.
    pub tags: Vec<(Box<str>, Box<str>)>,
    /// True if the publication is delivered but left out of the history.
    pub skip_history: bool,
}

static NO_EXTRAS: PublicationExtras =
    PublicationExtras { publisher: None, tags: Vec::new(), skip_history: false };

impl PublicationExtras {
    pub(crate) fn byte_size(&self) -> usize {
        let publisher = self.publisher.as_ref().map_or(0, |publisher| publisher.byte_size());
        publisher + self.tags.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }

    pub(crate) fn into_non_data_content(self) -> Option<NonDataContent> {
        (self != NO_EXTRAS).then_some(NonDataContent::Extras(self))
    }
}

/// The content of a publication in a room without a state, other than its data.
#[derive(Clone, Debug)]
pub(crate) enum NonDataContent {
    /// The metadata of the data.
    Extras(PublicationExtras),
    /// A subscriber has joined or left a channel.
    Member { channel: EncodedChannelName, joined: bool, member: Arc<PresenceMember> },
    /// An order to end all sessions of a user, or one of them.
    Disconnect(Arc<DisconnectOrder>),
}

/// An order to close connections of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisconnectOrder {
    /// If set, closes only the connection with this id.
    pub client: Option<Box<str>>,
    /// Does not close the connections with these ids.
    pub except: Vec<Box<str>>,
    /// The close code.
    pub code: u16,
    /// The close reason.
    pub reason: Box<str>,
}

impl DisconnectOrder {
    /// Returns true if the order applies to the user's connection with this id.
    pub fn applies_to_client(&self, client: &str) -> bool {
        self.client.as_deref().is_none_or(|only| only == client)
            && !self.except.iter().any(|spared| **spared == *client)
    }
}

impl NonDataContent {
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
        Self::with_non_data_content(offset, data, None, at)
    }

    pub(crate) fn with_non_data_content(
        offset: u64,
        data: Bytes,
        note: Option<NonDataContent>,
        at: Duration,
    ) -> Arc<Self> {
        Arc::new(Self { offset, payload: FramedPayload::new(data), at, note: note.map(Box::new) })
    }

    /// Returns the metadata; empty on transit channels.
    pub fn extras(&self) -> &PublicationExtras {
        match self.non_data_content() {
            Some(NonDataContent::Extras(extras)) => extras,
            _ => &NO_EXTRAS,
        }
    }

    /// Returns true if every listener gets the publication.
    pub(crate) fn is_for_all_listeners(&self) -> bool {
        matches!(self.non_data_content(), None | Some(NonDataContent::Extras(_)))
    }

    pub(crate) fn non_data_content(&self) -> Option<&NonDataContent> {
        self.note.as_deref()
    }
}

impl RingItem for Publication {
    fn byte_size(&self) -> usize {
        self.payload.data().len()
            + self.non_data_content().map_or(0, NonDataContent::byte_size)
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
    fn a_frame_is_built_once_per_slot() {
        let payload = FramedPayload::new(Bytes::from_static(b"x"));
        let first =
            payload.get_or_encode_frame(0, |data| [b"data: ", &data[..]].concat().into()).clone();
        let again = payload.get_or_encode_frame(0, |_| unreachable!("the frame exists already"));
        assert_eq!(first.as_ptr(), again.as_ptr());
        assert_eq!(payload.get_or_encode_frame(1, Bytes::clone), payload.data());
    }
}
