//! Concurrency primitives that Lineside is built from, and the [`Clock`] through which everything that
//! must be repeatable is handed its time.

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
pub mod ring;
pub mod semaphore;
pub mod stage;
pub mod loading_cache;

#[cfg(feature = "tokio")]
pub use clock::real::{RealClock, ScaledClock};
pub use clock::simulated::SimulatedClock;
pub use clock::{Clock, Sleep, UnixMillis};

/// The example of the README is compiled and run with the others.
#[cfg(all(doctest, not(any(loom, shuttle))))]
#[doc = include_str!("../README.md")]
#[derive(Debug)]
pub struct Readme;
