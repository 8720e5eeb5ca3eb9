//! Tests of several nodes in one process over a bus that loses, repeats, reorders and delays: message by message, and
//! as a seeded storm.

#[path = "../support/mod.rs"]
mod support;
mod records;
mod replica;
mod reader;
mod station;
mod storm;
mod simulation;
mod steps;
