//! Lineside's concurrency primitives, and the [`Clock`] that gives repeatable code its time.

#![warn(missing_docs)]

mod clock;
pub mod counter;
pub mod fanout;
pub mod global;
pub mod hashring;
pub mod histogram;
pub mod mailbox;
#[cfg(all(test, any(loom, shuttle)))]
mod model;
mod primitive;
#[cfg(feature = "tokio")]
pub mod real_time;
pub mod ring;
pub mod semaphore;
pub mod stage;
pub mod loading_cache;

#[cfg(feature = "tokio")]
pub use clock::real::{RealClock, ScaledClock};
pub use clock::simulated::SimulatedClock;
pub use clock::{Clock, Sleep, UnixMillis};

/// Compiles and runs the example of the README as a doc test.
#[cfg(all(doctest, not(any(loom, shuttle))))]
#[doc = include_str!("../README.md")]
#[derive(Debug)]
pub struct Readme;
