//! Tests of the city through its public API: one binary, so that all tests share one generated
//! city.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

mod base_map;
mod bikes;
mod common;
mod origin;
mod realtime;
mod schedule;
mod siri;
