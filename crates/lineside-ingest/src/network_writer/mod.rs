//! The writers of networks: each turns messages into the next state of its network, and publishes the changes.
//!
//! [`NetworkWriter`] is a plain value without tasks or sockets; `task` runs it.

mod entity_table;
mod task;
mod writer;

pub(crate) use self::task::{NetworkInput, NetworkQueue, NetworkTaskEnded, run_network_task};
pub(crate) use self::writer::InheritedNetworkData;
pub use self::writer::{ApplyOutcome, NetworkWriter, ResumedNetwork};
