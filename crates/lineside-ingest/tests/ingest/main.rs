//! Integration tests of the crate: messages in, states and publications out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stderr, reason = "skipped tests are reported")]

mod arbitrary;
mod changes;
mod convergence;
mod converter_programs;
mod delays;
mod departures;
mod exports;
mod golden;
mod health_states;
mod live_only;
mod load_memory;
mod trip_matching;
mod normalize;
mod polling;
mod real_feeds;
mod replay;
mod restarts;
mod snapshot_restore;
mod running;
mod search;
mod siri;
mod siri_calls;
mod siri_out;
mod siri_pages;
mod siri_producers;
mod siri_subscriptions;
mod siri_times;
mod support;
mod upstream;
