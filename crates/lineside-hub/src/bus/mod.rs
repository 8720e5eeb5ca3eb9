//! Clustering: one node owns each network, and the other nodes follow it.
//!
//! # Layout
//! - [`NetworkOwnership`]: the node that owns a network, by the hash ring of the current nodes
//! - [`ClusterBus`]: carries messages between nodes; [`MemoryBus`] does so within a process, with faults if configured
//! - [`BusMessage`]: a message between nodes
//! - [`NetworkReplica`]: stores the networks' records; to the hub they are only bytes
//! - [`ClusterNode`]: a node's part: owner of some networks, follower of the others
//!
//! # Boundaries
//! This module does not know the content of a network, the broker that carries the messages, or threads: everything
//! here is driven by calls.
//!
//! # Guarantees
//! The bus may lose, repeat, reorder and delay messages. Still every node appends the same publications at the same
//! epochs and offsets, or jumps and reports it: its rooms then mark a `gap`.
//!
//! - An owner sends each publication once, to all nodes: term, previous and new revision, changes in parts.
//! - A follower applies only changes that build on its revision. Early changes wait. The follower requests missing
//!   changes, and meanwhile publishes nothing of that network. The owner answers with the publications, or with the
//!   state.
//! - An owner sends the positions of its networks every second, so that the loss of a last message is detected.
//! - A network's term rises with each change of owner, and each term has its own epoch. Messages of lower terms are
//!   ignored, and their sender is notified: so a node that returns after it was given up learns it, and follows.

mod assembly;
mod follower;
mod limits;
mod memory;
mod message;
mod node;
mod owner;
mod ownership;
mod replica;

use std::sync::Arc;
use std::time::Duration;

pub use self::limits::{CATCH_UP_TIMEOUT, HEARTBEAT, PART_BYTES_MAX, PARTS_MAX, WAITING_MAX};
pub use self::memory::{BusFaults, MemoryBus};
pub use self::message::{
    BusMessage, CatchUpRequest, MessageBody, MessagePart, MessageRecipient, NetworkPosition,
};
pub use self::node::{BusPublishError, ClusterNode, ClusterNodeMetrics, NodeDependencies};
pub use self::ownership::{NetworkOwnership, NodeRoster};
pub use self::replica::{NetworkReplica, NetworkStateSnapshot, ReplicaDecodeError};

/// Carries messages between nodes, each at most once. It may lose messages, and never waits: a slow receiver loses
/// messages.
pub trait ClusterBus: Send + Sync + 'static {
    /// Sends a message.
    fn send_message(&self, to: MessageRecipient, message: BusMessage);
}

/// The environment of one call of a node.
struct NodeCallContext<'a> {
    name: &'a Arc<str>,
    bus: &'a dyn ClusterBus,
    replica: &'a dyn NetworkReplica,
    now: Duration,
    metrics: &'a mut ClusterNodeMetrics,
}

impl NodeCallContext<'_> {
    fn send_message_body(&mut self, to: MessageRecipient, body: MessageBody) {
        self.metrics.sent_total += 1;
        self.bus.send_message(to, BusMessage { from: self.name.clone(), body });
    }
}
