//! The bounds of the bus.

use std::time::Duration;

/// The largest part of a publication or a state in one message, in bytes.
pub const PART_BYTES_MAX: usize = 256 << 10;

/// The largest number of parts of one publication or state. A publication with more parts reaches followers as a
/// state; a network whose state has more parts stays on its owner.
pub const PARTS_MAX: usize = 1_024;

/// The interval of an owner's heartbeats.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// The time that a follower waits for an answer, or for its next part, before it asks again.
pub const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// The largest number of networks in one heartbeat message.
pub(crate) const HEADS_MAX: usize = 256;

/// The publications of a network that an owner retains for followers that missed some; beyond them followers get the
/// state.
pub(crate) const LOG_PUBLICATIONS_MAX: usize = 1_024;
/// The bytes of the publications that an owner retains per network; see [`LOG_PUBLICATIONS_MAX`].
pub(crate) const LOG_BYTES_MAX: usize = 4 << 20;
/// The age up to which an owner retains publications; see [`LOG_PUBLICATIONS_MAX`].
pub(crate) const LOG_AGE: Duration = Duration::from_secs(60);

/// The time that an owner caches a state after sending it: after a change of owner all followers ask for the same
/// state.
pub(crate) const STATE_LINGER: Duration = Duration::from_secs(10);

/// The publications of one network that a follower holds until the ones before them arrive.
pub(crate) const EARLY_PUBLICATIONS_MAX: usize = 64;
/// The bytes of the publications that a follower holds per network; see [`EARLY_PUBLICATIONS_MAX`].
pub(crate) const EARLY_BYTES_MAX: usize = 16 << 20;

/// The messages that wait for one node in a [`MemoryBus`](super::MemoryBus); further ones are lost.
pub const WAITING_MAX: usize = 10_000;
