//! Integration tests of the crate: messages in, states and publications out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stderr, reason = "skipped tests are reported")]

mod arbitrary;
mod changes;
mod convergence;
mod converted;
mod delays;
mod departures;
mod exports;
mod golden;
mod judged;
mod live_only;
mod matches;
mod normalize;
mod polling;
mod real_feeds;
mod replay;
mod restarts;
mod restored;
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
