//! Thousands of sessions from one thread, and what it takes a server to serve them: the engine of `lineside load`.
//!
//! A run opens its sessions, waits until each holds what it asked for, then measures deliveries for a while: how late
//! each session has each publication, whether one is missing or comes twice. Where the server runs on this machine its
//! CPU and memory are read as well.
//!
//! It meets a server as any client does, through its public addresses; what is behind them it does not know.

mod clock;
mod distribution;
mod engine;
mod framing;
mod limits;
mod message;
mod plan;
mod process;
mod publisher;
mod report;
mod run;
mod tally;
mod workers;

pub use distribution::Distribution;
pub use plan::{ApiKey, LoadPlan, MessageFormat, PublishPlan, SessionTransport, TargetServer};
pub use process::ProcessUsage;
pub use report::{LatencyReport, LoadReport, ProcessCosts};
pub use run::run_load;
pub use workers::run_worker;

/// Why a run could not be made. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The server cannot be reached, or lets nobody in.
    #[error("{0}")]
    Unreachable(String),
}
