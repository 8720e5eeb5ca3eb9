//! The engine of `lineside load`: thousands of sessions from one thread, and the costs of the server that serves them.
//!
//! A run opens its sessions, waits until each has its state, then measures deliveries: the latency of each publication
//! in each session, and missing and duplicate publications. If the server runs on this machine, its CPU and memory are
//! measured as well.
//!
//! The engine is an ordinary client of the server's public addresses and does not depend on its internals.

mod clock;
mod distribution;
mod engine;
mod framing;
mod limits;
mod message;
mod plan;
mod process;
mod publisher;
mod reasons;
mod report;
mod run;
mod tally;
mod workers;

pub use distribution::ValueDistribution;
pub use plan::{ApiKey, LoadTestPlan, MessageFormat, PublishPlan, SessionTransport, TargetServer};
pub use process::ProcessUsage;
pub use report::{LatencyReport, LoadTestReport, ProcessCosts};
pub use run::run_load_test;
pub use workers::run_worker_process;

/// The reason why a run failed. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadTestError {
    /// The plan is invalid.
    #[error("{0}")]
    Usage(String),
    /// The server cannot be reached, or refuses all sessions.
    #[error("{0}")]
    Unreachable(String),
}
