//! Who knows how things are.

use std::fmt::Debug;

use bytes::Bytes;

use crate::{BadChannel, Channel, Position};

/// How publishers find a room without building its name.
///
/// A key stands for one channel, as long as a room of it lives. Ids may be interned numbers or keyed
/// hashes; the hub only compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomKey {
    /// The sequence that counts the room's publications: a network, or 0 for rooms that count by
    /// themselves, each with its own epoch per life.
    pub group: u32,
    /// What sort of channel.
    pub kind: u8,
    /// Which one of that sort.
    pub id: u64,
}

impl RoomKey {
    /// Whether the room counts its own publications.
    pub fn has_own_sequence(self) -> bool {
        self.group == 0
    }
}

/// Why a name leads to no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No channel is called like this.
    #[error(transparent)]
    BadChannel(#[from] BadChannel),
    /// Well-formed, but there is no such feed.
    #[error("unknown feed")]
    UnknownFeed,
    /// The feed exists and has nothing with this id. Holds the problem code for clients.
    #[error("{0}")]
    UnknownItem(&'static str),
}

/// How things are on a channel.
#[derive(Clone, Debug)]
pub struct RoomState {
    /// The revision that this is the state at; `None` where the room counts by itself.
    pub position: Option<Position>,
    /// The messages that make it up, in order; a state without any counts as one empty message.
    pub parts: Vec<Bytes>,
}

/// Reads how things are. Called without any lock held, from any thread, several at once.
pub trait StateSource: Send + Sync + 'static {
    /// Which room a channel is.
    ///
    /// # Errors
    /// When there is no such channel or feed, or the feed knows all its ids and this is none of them. Any other id that
    /// nothing has is no error but an empty state.
    fn resolve_channel(&self, channel: &Channel) -> Result<RoomKey, ResolveError>;

    /// The name under which a client lists the position in the channel's sequence: the network's id,
    /// or the channel's own name where it counts by itself.
    fn sequence_name(&self, channel: &Channel, key: RoomKey) -> String;

    /// Where the room's sequence is now; cheap. `None`, or group 0: the room counts by itself.
    ///
    /// Never behind what has been appended: the state is swapped before a batch is opened.
    fn current_position(&self, channel: &Channel, key: RoomKey) -> Option<Position>;

    /// The state, at a revision not before [`position`](Self::current_position) at the time of the call.
    ///
    /// For a room that counts by itself the state may be newer than the room's top; entries after the
    /// top are then applied to it once more, so they must bear that.
    fn read_state(&self, channel: &Channel, key: RoomKey) -> RoomState;
}
