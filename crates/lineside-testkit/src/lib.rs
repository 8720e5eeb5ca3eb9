//! Helpers that the tests of several crates share. No program contains this crate.

mod schedule;
mod wait;
#[cfg(feature = "http")]
mod wait_http;

pub use schedule::{TestSchedule, zip_files};
pub use wait::{WAIT_MAX, wait_for, wait_for_some, wait_until};
#[cfg(feature = "http")]
pub use wait_http::{
    wait_for_body, wait_for_feed, wait_for_feed_state, wait_for_freshness, wait_for_json,
    wait_for_metric, wait_for_status, wait_until_ready,
};
