//! The middle of Lineside: rooms are logs, sessions are cursors.
//!
//! # Layout
//! - [`Channel`], [`Epoch`], [`Position`]: what things are called and where in them one is
//! - [`StateSource`]: who knows how things are; implemented by whoever owns the records
//! - [`Room`]: one channel on this node, a bounded ring of publications and at most one encoded state
//! - [`GroupInterest`]: what anybody listens to, so that what nobody listens to costs nothing
//! - [`PublishBatch`]: how publishers append; one signal per listener and batch
//! - [`Session`]: a client's side; it pulls, so a slow one slows only itself
//! - [`PartitionListener`]: all sessions of a partition as one listener
//! - [`Namespace`]: the channels that are the operator's own, `app/…`, which have no state but may keep a
//!   [`ChannelHistory`]
//! - [`Member`], [`Membership`]: who is in such a channel
//! - [`HandoffRoom`]: what a hub leaves to the one after it
//! - [`Hub`]: all rooms of this node
//! - [`bus`]: what several nodes say to each other, so that all have the same rooms
//!
//! # What it must not know
//! Neither transit nor sockets: bytes come in, the same bytes go out. Time comes from the clock that is
//! handed in, chance from a seed. No lock is held while a [`StateSource`] or a [`Listener`] is called.
//!
//! # The one promise
//! A subscriber that applies each state and each change it is given holds what the source holds; if it
//! missed something, the state that makes up for it says so (`gap`). Two orders keep it:
//!
//! - a publisher first swaps its state, then opens a [`PublishBatch`] (which orders the two for all processors)
//!   and looks up rooms;
//! - a subscriber first enters the room in the table, then reads the state.
//!
//! So either the publisher sees the room, or the subscriber sees the new state. The steps of this, the log
//! and the signals are `lineside_sync`'s, whose models try every interleaving of them.

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
pub use bus::Bus;
pub use channel::{BadChannel, Channel, decode_segment, encode_segment};
pub use handoff::{HandoffPublication, HandoffRoom, HandoffRooms};
pub use history::{ChannelHistory, HistoryError, HistoryQuery};
pub use hub::Hub;
pub use interest::GroupInterest;
pub use limits::{
    APP_DATA_BYTES_MAX, CHANNEL_BYTES_MAX, EXTRAS_BYTES_MAX, HISTORY_SIZE_MAX, HubConfig,
    SessionLimits,
};
pub use listener::{Listener, WorkerPool};
pub use metrics::HubMetrics;
pub use namespace::{
    APP_PREFIX, AccessPolicy, HistoryOptions, KINDS_OF_HUB, Namespace, PublishError, PublishOutcome,
};
pub use partition_listener::{PartitionListener, SubscriberSlot};
pub use position::{BadPosition, Epoch, Position};
pub use presence::{Membership, PresenceError, PresenceMember, PresencePage, PresenceStats};
pub(crate) use publication::PublicationNote;
pub use publication::{
    DisconnectOrder, FRAME_SLOTS, FramedPayload, Publication, PublicationExtras,
};
pub use room::{EncodedState, Room};
pub use session::{
    Delivery, FrameInput, RunCache, Session, SubscribeError, SubscribeOutcome, SubscriptionEnd,
};
pub use source::{ResolveError, RoomKey, RoomState, StateSource};
