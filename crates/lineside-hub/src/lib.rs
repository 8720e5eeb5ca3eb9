//! Lineside's hub: rooms are logs, sessions are cursors.
//!
//! # Layout
//! - [`EncodedChannelName`], [`Epoch`], [`Position`]: the names of channels and the positions in them
//! - [`ChannelStateSource`]: provides the channels' states; implemented by the owner of the records
//! - [`ChannelRoom`]: one channel on this node, a bounded ring of publications and at most one encoded state
//! - [`RoomGroup`]: the rooms with listeners, so that channels without any cost nothing
//! - [`PublishBatch`]: appends publications; one signal per listener and batch
//! - [`Session`]: a client's side; it pulls, so a slow client slows only itself
//! - [`PartitionListener`]: all sessions of a partition as one listener
//! - [`Namespace`]: options of the operator's own channels, `app/…`, which have no state but may have a
//!   [`ChannelHistory`]
//! - [`PresenceMember`], [`PresenceMembership`]: the subscribers present in such a channel
//! - [`HandoffRoomLog`]: a room's log as handed to the hub of the next process
//! - [`Hub`]: all rooms of this node
//! - [`bus`]: messages between nodes, so that all nodes have equal rooms
//!
//! # Boundaries
//! The hub knows neither transit nor sockets: it passes bytes through unchanged. Time comes from an injected clock,
//! randomness from a seed. No lock is held while a [`ChannelStateSource`] or a [`NewsListener`] is called.
//!
//! # The guarantee
//! A subscriber that applies each state and each change that it gets has the state of the source. If it missed
//! something, the state that it gets instead is marked with `gap`. Two orders guarantee this:
//!
//! - a publisher first swaps its state, then opens a [`PublishBatch`] (which orders the two for all processors) and
//!   looks up rooms;
//! - a subscriber first enters the room in the table, then reads the state.
//!
//! So either the publisher sees the room, or the subscriber sees the new state. These steps, the log and the signals
//! are implemented in `lineside_sync`, whose models try every interleaving of them.

mod limits;
mod channel;
mod position;
mod source;
mod publication;
mod listener;
mod metrics;
mod room;
mod interest;
mod batch;
mod namespace;
mod presence;
mod history;
mod handoff;
mod session;
mod partition_listener;
mod hub;
pub mod bus;

pub use batch::PublishBatch;
pub use bus::ClusterBus;
pub use channel::{BadChannelName, EncodedChannelName, decode_segment, encode_segment};
pub use handoff::{HandoffPublication, HandoffRoomLog, HandoffRoomLogs};
pub use history::{ChannelHistory, HistoryError, HistoryQuery};
pub use hub::Hub;
pub use interest::RoomGroup;
pub use limits::{
    APP_DATA_BYTES_MAX, CHANNEL_BYTES_MAX, EXTRAS_BYTES_MAX, HISTORY_SIZE_MAX, HubConfig,
    SessionLimits,
};
pub use listener::{NewsListener, WorkerPool};
pub use metrics::HubMetrics;
pub use namespace::{
    APP_PREFIX, AccessPolicy, HistoryOptions, KINDS_OF_HUB, Namespace, PublishError, PublishOutcome,
};
pub use partition_listener::{PartitionListener, PartitionSubscription};
pub use position::{Epoch, Position, PositionParseError};
pub use presence::{
    PresenceError, PresenceMember, PresenceMembership, PresencePage, PresenceStats,
};
pub(crate) use publication::NonDataContent;
pub use publication::{
    DisconnectOrder, FRAME_SLOTS, FramedPayload, Publication, PublicationExtras,
};
pub use room::{ChannelRoom, EncodedState};
pub use session::{
    ClientDelivery, JoinedPublicationsCache, PublicationToFrame, Session, SubscribeError,
    SubscribeOutcome, SubscriptionEndReason,
};
pub use source::{ChannelResolveError, ChannelState, ChannelStateSource, RoomKey};
