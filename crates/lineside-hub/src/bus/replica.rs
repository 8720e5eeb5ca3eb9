//! The interface of the bus to the networks of this node.

use bytes::Bytes;

use crate::{Epoch, Position};

/// The error of data that cannot be read; the state is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data of the replica cannot be decoded")]
pub struct ReplicaDecodeError;

/// The whole state of a network at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkStateSnapshot {
    pub at: Position,
    /// The state, in pieces chosen by its owner.
    pub pieces: Vec<Bytes>,
}

/// A store of the networks' records, implemented by the code that knows their content. To the bus they are only bytes.
///
/// The node's driver calls it, one call at a time. Pieces arrive as their owner passed them, except that those above
/// [`PART_BYTES_MAX`](super::PART_BYTES_MAX) are split.
pub trait NetworkReplica: Send + Sync + 'static {
    /// Returns the current state of a network; `None` if there is none yet.
    fn current_network_state(&self, network: &str) -> Option<NetworkStateSnapshot>;

    /// Applies the changes from revision `previous`, the network's current one, to `at`. It swaps the state and then
    /// appends to this node's rooms in one [`PublishBatch`](crate::PublishBatch), at the epoch and the offsets of the
    /// owner, which therefore must follow from the arguments alone. The batch must
    /// [reach](crate::PublishBatch::mark_group_published_up_to) `at`.
    ///
    /// # Errors
    /// Returns an error if the changes cannot be read; then nothing has changed.
    fn apply_network_changes(
        &self,
        network: &str,
        previous: u64,
        at: Position,
        changes: &[Bytes],
    ) -> Result<(), ReplicaDecodeError>;

    /// Replaces the whole state of the network: swaps it, then [marks a
    /// gap](crate::PublishBatch::resend_state_with_gap) in each of this node's rooms of the network.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read; then nothing has changed.
    fn replace_network_state(
        &self,
        network: &str,
        at: Position,
        state: &[Bytes],
    ) -> Result<(), ReplicaDecodeError>;

    /// Makes this node the owner of the network: the state continues in a new epoch, each room of the network gets a
    /// [gap](crate::PublishBatch::resend_state_with_gap), and the network's writer may publish. Returns the revision.
    fn become_owner(&self, network: &str, epoch: Epoch) -> u64;

    /// Makes this node a follower of the network: its writer stops publishing.
    fn become_follower(&self, network: &str);
}
