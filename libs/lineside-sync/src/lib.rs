//! Concurrency primitives that Lineside is built from.
//!
//! So far: [`Clock`], through which everything that must be repeatable is handed its time.

#![warn(missing_docs)]

mod clock;

#[cfg(feature = "tokio")]
pub use clock::real::{RealClock, ScaledClock};
pub use clock::simulated::SimulatedClock;
pub use clock::{Clock, Sleep, UnixMillis};
