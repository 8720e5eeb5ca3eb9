//! The source of states.

use std::fmt::Debug;

use bytes::Bytes;

use crate::{BadChannelName, EncodedChannelName, Position};

/// The key by which publishers find a room without building its name.
///
/// A key belongs to one channel as long as the channel's room exists. Ids may be interned numbers or keyed hashes; the
/// hub only compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomKey {
    /// The sequence that counts the room's publications: a network, or 0 for rooms with their own sequence, each with
    /// its own epoch per life.
    pub group: u32,
    /// The kind of channel.
    pub kind: u8,
    /// The channel's id within the kind.
    pub id: u64,
}

impl RoomKey {
    /// Returns true if the room counts its own publications.
    pub fn has_own_sequence(self) -> bool {
        self.group == 0
    }
}

/// The reason why a name has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelResolveError {
    /// The name is not a valid channel name.
    #[error(transparent)]
    BadChannel(#[from] BadChannelName),
    /// The name is well-formed, but there is no such feed.
    #[error("the feed does not exist")]
    UnknownFeed,
    /// The feed exists but has nothing with this id; contains the problem code for clients.
    #[error("{0}")]
    UnknownItem(&'static str),
}

/// The state of a channel.
#[derive(Clone, Debug)]
pub struct ChannelState {
    /// The position of the state; `None` if the room has its own sequence.
    pub position: Option<Position>,
    /// The messages of the state, in order; a state without messages counts as one empty message.
    pub parts: Vec<Bytes>,
}

/// A provider of channel states. Called without any lock held, from any thread, several at once.
pub trait ChannelStateSource: Send + Sync + 'static {
    /// Returns the key of a channel's room.
    ///
    /// # Errors
    /// Returns an error if there is no such channel or feed, or if the feed knows all its ids and the channel's is
    /// none of them. For any other unused id there is no error but an empty state.
    fn resolve_channel(&self, channel: &EncodedChannelName)
    -> Result<RoomKey, ChannelResolveError>;

    /// Returns the name under which a client lists the position in the channel's sequence: the network's id, or the
    /// channel's own name if it has its own sequence.
    fn sequence_name(&self, channel: &EncodedChannelName, key: RoomKey) -> String;

    /// Returns the current position of the room's sequence; cheap. `None`, or group 0: the room has its own sequence.
    ///
    /// Never behind the appended publications: the state is swapped before a batch is opened.
    fn current_position(&self, channel: &EncodedChannelName, key: RoomKey) -> Option<Position>;

    /// Returns the state, at a revision not before [`current_position`](Self::current_position) at the time of the
    /// call.
    ///
    /// For a room with its own sequence the state may be newer than the room's top. Entries after the top are then
    /// applied to it again, so they must be idempotent.
    fn read_state(&self, channel: &EncodedChannelName, key: RoomKey) -> ChannelState;
}
