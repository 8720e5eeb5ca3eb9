//! Tests of the whole server through real sockets, as seen from outside.
//!
//! A single binary, because linking one takes long. Tests share a demo city unless they break something.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "the tests are the outside, where time is real")]

mod support;
mod tls;

mod endpoints;
mod admin;
mod api_description;
mod api_parameters;
mod availability;
mod boards;
mod feed_edits;
mod check_command;
mod check_exit_codes;
mod check_messages;
mod commands;
mod converters;
mod dashboard;
mod delays;
mod documentation;
mod docs_curl_lines;
mod endurance;
mod events;
mod faults;
mod gbfs;
mod gbfs_changes;
mod gbfs_records;
mod gbfs_versions;
mod large_bodies;
mod load;
mod polling_policy;
mod trip_matching;
mod metrics;
mod ops;
mod netex;
mod notifications;
mod open_pages;
mod outages;
mod serve_command;
mod pages;
mod docs_commands;
mod profile;
mod proxy_guarantees;
mod real_data;
mod reload;
mod representations;
mod reports;
mod reports_of_messages;
mod reports_of_siri;
mod reports_of_systems;
mod restarts;
mod rider_pages;
mod server_api;
mod siri_producers;
mod siri;
mod siri_schema;
mod siri_subscriptions;
mod site_pages;
mod slow_readers;
mod snapshots;
mod feed_states;
mod stopping;
mod siri_parity;
mod unmatched_trips;
mod external_validators;
mod version_skew;
mod versions;
mod uploads;
