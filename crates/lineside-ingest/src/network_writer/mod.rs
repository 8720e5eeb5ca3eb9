//! The writers of networks: each turns messages into the next state of its network, and publishes the changes.
//!
//! [`NetworkWriter`] is a plain value without tasks or sockets; `task` runs it.

mod entity_table;
mod task;
mod writer;

pub(crate) use self::task::{NetworkGone, NetworkInput, NetworkQueue, run_network};
pub(crate) use self::writer::InheritedNetwork;
pub use self::writer::{ApplyOutcome, NetworkWriter, ResumedNetwork};
