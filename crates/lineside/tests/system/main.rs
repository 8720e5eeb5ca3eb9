//! Tests of the whole server through real sockets, as seen from outside.
//!
//! A single binary, because linking one takes long. Tests share a demo city unless they break something.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "the tests are the outside, where time is real")]

mod support;
mod tls;

mod addresses;
mod admin;
mod api_description;
mod api_parameters;
mod availability;
mod boards;
mod changing;
mod checking;
mod checking_in_builds;
mod checking_words;
mod commands;
mod converters;
mod dashboard;
mod delays;
mod documentation;
mod documents;
mod endurance;
mod events;
mod faults;
mod gbfs;
mod gbfs_changes;
mod gbfs_records;
mod gbfs_versions;
mod large_bodies;
mod load;
mod manners;
mod matches;
mod metrics;
mod ops;
mod netex;
mod notifications;
mod open_pages;
mod outages;
mod own_feeds;
mod pages;
mod papers;
mod profile;
mod promises;
mod real_data;
mod reload;
mod representations;
mod reports;
mod reports_of_messages;
mod reports_of_siri;
mod reports_of_systems;
mod restarts;
mod riders;
mod server_api;
mod siri_producers;
mod siri;
mod siri_schema;
mod siri_subscriptions;
mod site_pages;
mod slow_readers;
mod snapshots;
mod states;
mod stopping;
mod twins;
mod unmatched_trips;
mod validators;
mod version_skew;
mod versions;
mod visitors;
