//! The city from outside: one binary, so that the city is made once for all its tests.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod base_map;
mod bikes;
mod common;
mod origin;
mod realtime;
mod schedule;
mod siri;
