//! Tests of the hub through its public interface: the protocol step by step, a plain model, a seeded storm, and real
//! threads.

#[path = "../support/mod.rs"]
mod support;
mod world;
mod client;
mod storm;
mod script;
mod simulation;
mod protocol;
mod sharing;
mod runs;
mod partition;
mod property;
mod app;
mod presence;
mod race;
mod ending;
