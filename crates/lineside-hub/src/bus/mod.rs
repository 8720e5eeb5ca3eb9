//! Many nodes: a network is owned by one, and the others follow it.
//!
//! # Layout
//! - [`NetworkOwnership`]: which node owns a network, by the hash ring of the nodes that there are
//! - [`Bus`]: what carries messages between nodes; [`MemoryBus`] does so within a process, badly if told to
//! - [`BusMessage`]: what they say to each other
//! - [`NetworkReplica`]: who holds the networks' records; what the bus moves are bytes to the hub
//! - [`ClusterNode`]: a node's part in it: owner of some networks, follower of the others
//!
//! # What it must not know
//! What is in a network, which broker carries the messages, and threads: everything here is driven by calls.
//!
//! # The promise
//! The bus may lose, repeat, reorder and delay whatever it likes. Still every node appends the same publications at
//! the same epochs and offsets, or jumps and says so: its rooms then mark a `gap`.
//!
//! - An owner says each publication once, to all nodes: term, previous and new revision, changes in parts.
//! - A follower applies only what builds upon what it holds. What comes early waits; what is missing is asked for, and
//!   meanwhile nothing of that network is published there. The owner answers with the publications, or with the state.
//! - An owner says every second where its networks are, so that a last message that was lost is missed.
//! - A network's term rises with each change of its owner, and each term has an epoch of its own. Lower terms are
//!   ignored, and who sends them is told so: a node that comes back after it was given up finds out, and follows.

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

pub use self::limits::{ASK_AGAIN, HEARTBEAT, PART_BYTES_MAX, PARTS_MAX, WAITING_MAX};
pub use self::memory::{BusFaults, MemoryBus};
pub use self::message::{
    BusMessage, CatchUpRequest, MessageBody, MessagePart, MessageRecipient, NetworkHead,
};
pub use self::node::{BusPublishError, ClusterNode, ClusterNodeMetrics, NodeDependencies};
pub use self::ownership::{NetworkOwnership, NodeRoster};
pub use self::replica::{NetworkReplica, ReplicaDecodeError, ReplicaState};

/// Carries messages between nodes, each at most once. It may lose them, and never waits: whoever is too slow loses.
pub trait Bus: Send + Sync + 'static {
    /// Sends a message.
    fn send_message(&self, to: MessageRecipient, message: BusMessage);
}

/// What one call of a node may reach.
struct NodeContext<'a> {
    name: &'a Arc<str>,
    bus: &'a dyn Bus,
    replica: &'a dyn NetworkReplica,
    now: Duration,
    metrics: &'a mut ClusterNodeMetrics,
}

impl NodeContext<'_> {
    fn send_body(&mut self, to: MessageRecipient, body: MessageBody) {
        self.metrics.sent_total += 1;
        self.bus.send_message(to, BusMessage { from: self.name.clone(), body });
    }
}
