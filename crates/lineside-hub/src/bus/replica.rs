//! The networks of this node, as the bus reads and writes them.

use bytes::Bytes;

use crate::{Epoch, Position};

/// What was sent cannot be read; the state is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot be read")]
pub struct ReplicaDecodeError;

/// All that a network holds, at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    /// Where the network was.
    pub at: Position,
    /// What it held, in pieces as its owner likes.
    pub pieces: Vec<Bytes>,
}

/// Who holds the networks' records; implemented by whoever knows what is in them. What the bus moves are bytes to it.
///
/// Called by the node's driver only, one call at a time. Pieces come as their owner gave them, but for those above
/// [`PART_BYTES_MAX`](super::PART_BYTES_MAX), which are cut.
pub trait NetworkReplica: Send + Sync + 'static {
    /// All that a network holds now; `None` when nothing is held yet.
    fn network_state(&self, network: &str) -> Option<ReplicaState>;

    /// Takes what leads from revision `previous`, where the network is, to `at`: swaps the state, then appends to
    /// this node's rooms in one [`PublishBatch`](crate::PublishBatch), at the epoch and the offsets at which the owner
    /// appends, which therefore follow from what is given here alone; and lets the batch
    /// [reach](crate::PublishBatch::mark_group_reached) `at`.
    ///
    /// # Errors
    /// When the changes cannot be read; nothing has changed then.
    fn apply_changes(
        &self,
        network: &str,
        previous: u64,
        at: Position,
        changes: &[Bytes],
    ) -> Result<(), ReplicaDecodeError>;

    /// Puts a state in the place of all that the network held: swaps it, then [marks a gap](crate::PublishBatch::mark_gap)
    /// in each of this node's rooms of the network.
    ///
    /// # Errors
    /// When the state cannot be read; nothing has changed then.
    fn replace_state(
        &self,
        network: &str,
        at: Position,
        state: &[Bytes],
    ) -> Result<(), ReplicaDecodeError>;

    /// Makes this node the owner of the network: its state continues in a new epoch, each of its rooms of the network
    /// gets a [gap](crate::PublishBatch::mark_gap), and its writer may publish. Returns the revision.
    fn become_owner(&self, network: &str, epoch: Epoch) -> u64;

    /// Another node owns the network from here on: its writer publishes no more.
    fn become_follower(&self, network: &str);
}
