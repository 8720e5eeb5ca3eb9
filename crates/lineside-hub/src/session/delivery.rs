//! What a session answers and hands out.

use std::sync::Arc;

use crate::{
    Channel, DisconnectOrder, EncodedState, Epoch, FramedPayload, Position, PresenceMember,
    Publication, PublicationNote, ResolveError,
};

/// Why a subscription was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// There is no such channel or feed.
    #[error(transparent)]
    Unresolved(#[from] ResolveError),
    /// The session listens to this channel already.
    #[error("already subscribed")]
    AlreadySubscribed,
    /// The session listens to as many channels as it may.
    #[error("too many channels in one session")]
    TooManyChannels,
    /// The node holds as many rooms as it may; later there may be place.
    #[error("too many rooms on this node")]
    TooManyRooms,
    /// The source gave two channels one key: a fault of the source.
    #[error("another channel has the same key")]
    KeyTaken,
}

/// What a subscription begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscribeOutcome {
    /// The position asked for is covered: what was missed follows, and no state.
    pub recovered: bool,
    /// What the client holds before anything is delivered: the position asked for, or offset 0 of the
    /// present epoch; where there is no state, the present position.
    pub position: Position,
}

/// Why a subscription ended from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionEnd {
    /// The reader was overtaken again and again: its connection is to be closed.
    Slow,
    /// The reader of a channel without a state was overtaken: what it missed is not to be had any more.
    Lost,
    /// The channel's group has [ended](crate::Hub::end_group): under its name there is another sequence now, or none.
    Over,
}

/// One thing to send.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A part of a state. All parts of one state follow each other among the channel's deliveries.
    State {
        /// The channel.
        channel: Channel,
        /// The state, shared.
        state: Arc<EncodedState>,
        /// Which part, from 0.
        part: usize,
        /// Something was missed that this state makes up for; the same on all its parts.
        gap: bool,
    },
    /// One publication.
    Publication {
        /// The channel.
        channel: Channel,
        /// The life its offset belongs to.
        epoch: Epoch,
        /// The publication, shared.
        publication: Arc<Publication>,
    },
    /// Somebody has come to the channel, or left it.
    Member {
        /// The channel.
        channel: Channel,
        /// Has come.
        joined: bool,
        /// Who.
        member: Arc<PresenceMember>,
        /// For the frames that are made of it: it has no data.
        publication: Arc<Publication>,
    },
    /// Connections of the session's user are to be closed. Belongs to no channel that could be named.
    Disconnect {
        /// Where it came from.
        channel: Channel,
        /// Which, and how.
        order: Arc<DisconnectOrder>,
    },
    /// The subscription is over; nothing more comes of it.
    Ended {
        /// The channel.
        channel: Channel,
        /// Why.
        why: SubscriptionEnd,
    },
}

impl Delivery {
    /// The channel it belongs to.
    pub fn channel(&self) -> &Channel {
        match self {
            Self::State { channel, .. }
            | Self::Publication { channel, .. }
            | Self::Member { channel, .. }
            | Self::Disconnect { channel, .. }
            | Self::Ended { channel, .. } => channel,
        }
    }

    /// Where the client is on the channel once it has this; `None` before the last part of a state.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::State { state, part, .. } => {
                (part + 1 == state.parts().len()).then_some(state.position())
            }
            Self::Publication { epoch, publication, .. } => {
                Some(Position { epoch: *epoch, offset: publication.offset })
            }
            Self::Member { .. } | Self::Disconnect { .. } | Self::Ended { .. } => None,
        }
    }

    /// What is to be sent; `None` for an end, or for what tells of no data.
    pub fn payload(&self) -> Option<&FramedPayload> {
        match self {
            Self::State { state, part, .. } => state.parts().get(*part),
            Self::Publication { publication, .. } => Some(&publication.payload),
            Self::Member { .. } | Self::Disconnect { .. } | Self::Ended { .. } => None,
        }
    }

    pub(super) fn from_publication(
        heard_in: &Channel,
        epoch: Epoch,
        publication: Arc<Publication>,
    ) -> Self {
        match publication.note() {
            Some(PublicationNote::Member { channel, joined, member }) => Self::Member {
                channel: channel.clone(),
                joined: *joined,
                member: member.clone(),
                publication,
            },
            Some(PublicationNote::Disconnect(order)) => {
                Self::Disconnect { channel: heard_in.clone(), order: order.clone() }
            }
            Some(PublicationNote::Extras(_)) | None => {
                Self::Publication { channel: heard_in.clone(), epoch, publication }
            }
        }
    }
}
