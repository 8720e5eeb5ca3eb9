//! What nodes say to each other.

use std::sync::Arc;

use bytes::Bytes;

use super::limits::{PART_BYTES_MAX, PARTS_MAX};
use crate::Position;

/// One message between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusMessage {
    /// The node that sent it.
    pub from: Arc<str>,
    /// What it says.
    pub body: MessageBody,
}

/// Where a network is, as its owner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkHead {
    /// The network's id.
    pub network: Arc<str>,
    /// Which ownership this is: of two that claim a network the higher is right. From 1.
    pub term: u64,
    /// The epoch of this term, and the revision.
    pub at: Position,
}

/// One piece of a publication or a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Which piece, from 0.
    pub index: u32,
    /// How many there are; at most [`PARTS_MAX`].
    pub count: u32,
    /// At most [`PART_BYTES_MAX`].
    pub data: Bytes,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageBody {
    /// From an owner to all: what leads from one revision to another.
    Changes {
        /// Where they lead.
        head: NetworkHead,
        /// The revision that they build upon.
        previous: u64,
        /// This piece of them.
        part: MessagePart,
    },
    /// From an owner to who asked: all that the network holds.
    State {
        /// Where the network was.
        head: NetworkHead,
        /// Which of the states that the owner has read in this term: parts of two are never one state.
        edition: u64,
        /// This piece of it.
        part: MessagePart,
    },
    /// From an owner to all, every [`HEARTBEAT`](super::HEARTBEAT): where its networks are.
    Heartbeat(Vec<NetworkHead>),
    /// From a follower to the owner: it has missed something.
    Ask(CatchUpRequest),
    /// To who claims a network: there is a later term.
    Outdated {
        /// The network's id.
        network: Arc<str>,
        /// The highest term that the sender knows of.
        term: u64,
    },
}

/// What a follower needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatchUpRequest {
    /// The network's id.
    pub network: Arc<str>,
    /// The term that it follows.
    pub term: u64,
    /// What it holds of this term.
    pub held: Option<Position>,
    /// It has what comes next and cannot read it: it needs a later state.
    pub is_stuck: bool,
    /// The state that it was being sent, by edition, and the first part of it that has not come.
    pub unfinished: Option<(u64, u32)>,
}

/// Who a message goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageRecipient {
    /// Every other node.
    All,
    /// That node.
    One(Arc<str>),
}

impl MessagePart {
    /// Whether it is one that a node may have sent.
    pub(super) fn is_sound(&self) -> bool {
        self.index < self.count
            && self.count as usize <= PARTS_MAX
            && self.data.len() <= PART_BYTES_MAX
    }
}

/// Cuts what is too large for a message; none becomes one that is empty. The pieces are otherwise as given, so
/// that who reads them finds whole records where the writer put whole records.
pub(super) fn split_pieces(pieces: Vec<Bytes>) -> Vec<Bytes> {
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

/// The parts from `first` on, numbered.
pub(super) fn number_parts(parts: &[Bytes], first: usize) -> impl Iterator<Item = MessagePart> {
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
    fn only_what_is_too_large_is_cut() {
        assert_eq!(split_pieces(Vec::new()), [Bytes::new()]);
        let small = vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")];
        assert_eq!(split_pieces(small.clone()), small);
        let large = Bytes::from(vec![7; 2 * PART_BYTES_MAX + 1]);
        let parts = split_pieces(vec![small[0].clone(), large.clone(), small[1].clone()]);
        let lengths: Vec<usize> = parts.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [1, PART_BYTES_MAX, PART_BYTES_MAX, 1, 1]);
        assert_eq!(parts[1..4].concat(), large);
        assert_eq!(parts[1].as_ptr(), large.as_ptr(), "nothing is copied");
    }
}
