//! The results and deliveries of a session.

use std::sync::Arc;

use crate::{
    ChannelResolveError, DisconnectOrder, EncodedChannelName, EncodedState, Epoch, FramedPayload,
    NonDataContent, Position, PresenceMember, Publication,
};

/// The reason why a subscription was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// There is no such channel or feed.
    #[error(transparent)]
    Unresolved(#[from] ChannelResolveError),
    /// The session is subscribed to this channel already.
    #[error("the session is already subscribed to this channel")]
    AlreadySubscribed,
    /// The session has its largest number of subscriptions.
    #[error("the session has reached its limit of channels")]
    TooManyChannels,
    /// The node has its largest number of rooms; a later attempt may succeed.
    #[error("the node has reached its limit of rooms; retry later")]
    TooManyRooms,
    /// The source assigned the same key to two channels: a bug in the source.
    #[error("another channel has the same key; use another channel name")]
    KeyTaken,
}

/// The start of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscribeOutcome {
    /// True if the requested position is covered: the missed publications follow, and no state.
    pub recovered: bool,
    /// The client's position before the first delivery: the requested position, or offset 0 of the current epoch; on a
    /// channel without a state, the current position.
    pub position: Position,
}

/// The reason why the hub ended a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionEndReason {
    /// The reader was overtaken again and again: its connection must be closed.
    Slow,
    /// The reader of a channel without a state was overtaken: the missed publications are no longer available.
    Lost,
    /// The channel's group has [ended](crate::Hub::end_group_and_close_rooms): its name now belongs to another
    /// sequence, or to none.
    GroupEnded,
}

/// One message for the client.
#[derive(Clone, Debug)]
pub enum ClientDelivery {
    /// A part of a state. All parts of one state come in sequence among the channel's deliveries.
    State {
        channel: EncodedChannelName,
        /// The state, shared.
        state: Arc<EncodedState>,
        /// The index of the part, from 0.
        part: usize,
        /// True if something was missed that this state makes up for; equal for all parts of a state.
        gap: bool,
    },
    Publication {
        channel: EncodedChannelName,
        /// The epoch of the offset.
        epoch: Epoch,
        /// The publication, shared.
        publication: Arc<Publication>,
    },
    /// A subscriber has joined or left the channel.
    Member {
        channel: EncodedChannelName,
        /// True for a join.
        joined: bool,
        /// The subscriber.
        member: Arc<PresenceMember>,
        /// Carries the encoded frames; it has no data.
        publication: Arc<Publication>,
    },
    /// An order to close connections of the session's user. Belongs to a hidden channel.
    Disconnect {
        /// The hidden channel.
        channel: EncodedChannelName,
        /// The connections to close, and the close code.
        order: Arc<DisconnectOrder>,
    },
    /// The subscription has ended; no more deliveries follow.
    Ended {
        channel: EncodedChannelName,
        /// The reason.
        why: SubscriptionEndReason,
    },
}

impl ClientDelivery {
    /// Returns the delivery's channel.
    pub fn channel(&self) -> &EncodedChannelName {
        match self {
            Self::State { channel, .. }
            | Self::Publication { channel, .. }
            | Self::Member { channel, .. }
            | Self::Disconnect { channel, .. }
            | Self::Ended { channel, .. } => channel,
        }
    }

    /// Returns the client's position on the channel after this delivery; `None` before the last part of a state.
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

    /// Returns the data to send; `None` for deliveries without data.
    pub fn payload(&self) -> Option<&FramedPayload> {
        match self {
            Self::State { state, part, .. } => state.parts().get(*part),
            Self::Publication { publication, .. } => Some(&publication.payload),
            Self::Member { .. } | Self::Disconnect { .. } | Self::Ended { .. } => None,
        }
    }

    pub(super) fn delivery_of_publication(
        room_channel: &EncodedChannelName,
        epoch: Epoch,
        publication: Arc<Publication>,
    ) -> Self {
        match publication.non_data_content() {
            Some(NonDataContent::Member { channel, joined, member }) => Self::Member {
                channel: channel.clone(),
                joined: *joined,
                member: member.clone(),
                publication,
            },
            Some(NonDataContent::Disconnect(order)) => {
                Self::Disconnect { channel: room_channel.clone(), order: order.clone() }
            }
            Some(NonDataContent::Extras(_)) | None => {
                Self::Publication { channel: room_channel.clone(), epoch, publication }
            }
        }
    }
}
