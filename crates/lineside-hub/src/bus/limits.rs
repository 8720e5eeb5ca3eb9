//! Every bound of the bus.

use std::time::Duration;

/// Largest piece of a publication or a state that goes in one message.
pub const PART_BYTES_MAX: usize = 256 << 10;

/// Most parts of one publication or state. A publication of more reaches followers as a state; a network whose
/// state has more stays with its owner.
pub const PARTS_MAX: usize = 1_024;

/// How often an owner says where its networks are.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// How long a follower waits for an answer, or for the next piece of one, before it asks again.
pub const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Most networks in one heartbeat message.
pub(crate) const HEADS_MAX: usize = 256;

/// What an owner keeps of a network's publications for followers that missed some; beyond it they get the state.
pub(crate) const LOG_PUBLICATIONS_MAX: usize = 1_024;
/// See [`LOG_PUBLICATIONS_MAX`].
pub(crate) const LOG_BYTES_MAX: usize = 4 << 20;
/// See [`LOG_PUBLICATIONS_MAX`].
pub(crate) const LOG_AGE: Duration = Duration::from_secs(60);

/// How long an owner keeps a state that it has sent: after a change of owner all followers ask for the same one.
pub(crate) const STATE_LINGER: Duration = Duration::from_secs(10);

/// Publications of one network that a follower keeps until what goes before them is there.
pub(crate) const EARLY_PUBLICATIONS_MAX: usize = 64;
/// Their bytes.
pub(crate) const EARLY_BYTES_MAX: usize = 16 << 20;

/// Messages that wait for one node in a [`MemoryBus`](super::MemoryBus); more are lost.
pub const WAITING_MAX: usize = 10_000;
