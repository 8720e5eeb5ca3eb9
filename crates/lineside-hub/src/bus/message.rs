//! The messages between nodes.

use std::sync::Arc;

use bytes::Bytes;

use super::limits::{PART_BYTES_MAX, PARTS_MAX};
use crate::Position;

/// One message between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusMessage {
    /// The sending node.
    pub from: Arc<str>,
    /// The content.
    pub body: MessageBody,
}

/// The position of a network, as its owner reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPosition {
    /// The network's id.
    pub network: Arc<str>,
    /// The number of the ownership, from 1: if two nodes claim a network, the higher term is right.
    pub term: u64,
    /// The epoch of this term, and the revision.
    pub at: Position,
}

/// One part of a publication or a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// The part's index, from 0.
    pub index: u32,
    /// The number of parts; at most [`PARTS_MAX`].
    pub count: u32,
    /// The part's bytes; at most [`PART_BYTES_MAX`].
    pub data: Bytes,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageBody {
    /// From an owner to all nodes: the changes from one revision to another.
    Changes {
        /// The position that the changes lead to.
        head: NetworkPosition,
        /// The revision that the changes build on.
        previous: u64,
        /// This part of the changes.
        part: MessagePart,
    },
    /// From an owner to the node that asked: the whole state of the network.
    State {
        /// The position of the state.
        head: NetworkPosition,
        /// The number of the state among those that the owner has read in this term: parts of two editions never
        /// belong together.
        edition: u64,
        /// This part of the state.
        part: MessagePart,
    },
    /// From an owner to all nodes, every [`HEARTBEAT`](super::HEARTBEAT): the positions of its networks.
    Heartbeat(Vec<NetworkPosition>),
    /// From a follower to the owner: a request for missed data.
    CatchUp(CatchUpRequest),
    /// To a node that claims a network: there is a later term.
    Outdated {
        /// The network's id.
        network: Arc<str>,
        /// The highest term known to the sender.
        term: u64,
    },
}

/// A follower's request for missed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatchUpRequest {
    /// The network's id.
    pub network: Arc<str>,
    /// The term that the follower follows.
    pub term: u64,
    /// The position that the follower has in this term.
    pub position: Option<Position>,
    /// True if the follower has the next changes but cannot read them: it needs a later state.
    pub is_stuck: bool,
    /// The state that the follower has received in part: its edition, and the first missing part.
    pub unfinished: Option<(u64, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageRecipient {
    /// Every other node.
    All,
    /// One node, by name.
    One(Arc<str>),
}

impl MessagePart {
    /// Returns true if the part's numbers and size are valid.
    pub(super) fn is_valid_part(&self) -> bool {
        self.index < self.count
            && self.count as usize <= PARTS_MAX
            && self.data.len() <= PART_BYTES_MAX
    }
}

/// Splits pieces that are too large for a message; no pieces become one empty piece. Other pieces stay as they are, so
/// that the reader gets whole records where the writer put whole records.
pub(super) fn split_oversized_pieces(pieces: Vec<Bytes>) -> Vec<Bytes> {
    if pieces.is_empty() {
        return vec![Bytes::new()];
    }
    if pieces.iter().all(|piece| piece.len() <= PART_BYTES_MAX) {
        return pieces;
    }
    let mut parts = Vec::new();
    for mut piece in pieces {
        while piece.len() > PART_BYTES_MAX {
            parts.push(piece.split_to(PART_BYTES_MAX));
        }
        parts.push(piece);
    }
    parts
}

/// Returns the parts from `first` on, with their numbers.
pub(super) fn numbered_parts_from(
    parts: &[Bytes],
    first: usize,
) -> impl Iterator<Item = MessagePart> {
    let count = parts.len() as u32;
    (0..).zip(parts).skip(first).map(move |(index, data)| MessagePart {
        index,
        count,
        data: data.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_oversized_pieces_are_split() {
        assert_eq!(split_oversized_pieces(Vec::new()), [Bytes::new()]);
        let small = vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")];
        assert_eq!(split_oversized_pieces(small.clone()), small);
        let large = Bytes::from(vec![7; 2 * PART_BYTES_MAX + 1]);
        let parts = split_oversized_pieces(vec![small[0].clone(), large.clone(), small[1].clone()]);
        let lengths: Vec<usize> = parts.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [1, PART_BYTES_MAX, PART_BYTES_MAX, 1, 1]);
        assert_eq!(parts[1..4].concat(), large);
        assert_eq!(parts[1].as_ptr(), large.as_ptr(), "no byte is copied");
    }
}
