//! A simulated city: its ground, its public transport, its feeds and their faults.
//!
//! [`City::generate_city`] builds Lindhaven from a seed: a harbour city on a river with islands, with streets, trains,
//! trams, buses and ferries. Everything else is a function: [`City::write_gtfs`] of the city, [`City::realtime_feeds`]
//! of the city and the time. The crate reads no clock, opens no socket and has no state that time changes, so a demo, a
//! test and a benchmark with the same seed see the same city at any time.
//!
//! **Time.** The instant [`CityOptions::start`] is about 07:30 of a working day in the city, regardless of the wall
//! clock. The agency's time zone absorbs whole hours of the difference. The timetable is shifted by whole minutes for
//! the rest, at most half an hour, and the week is rotated if the start is on a weekend: see the `time` module. All
//! timestamps are real instants, and GTFS arithmetic on the written schedule (noon minus 12 h in the agency's zone)
//! gives the instants that the real-time feeds use. A faster clock needs nothing more: pass its time.
//!
//! **Feeds.** [`FeedOrigin`] answers requests for the feeds as a well-behaved producer would, or as a faulty one if
//! [`FaultPlan`] or a switch says so. It knows no sockets; the program puts it behind HTTP. The same vehicles are
//! published in GTFS-Realtime and in SIRI, by request and by subscription, and shared bikes in GBFS.
//!
//! # Modules
//! `geography` (ground and streets) → `network` (routes and stops) → `timetable` (trips and vehicles) → `city` with its
//! `gtfs` and `realtime`, `bikes` → `siri` → `faults` → `origin`; `bench` generates feeds of any size without a city.

mod bench;
mod bikes;
mod city;
mod city_feed;
mod faults;
mod geography;
pub mod limits;
mod names;
mod network;
mod noise;
mod origin;
mod origin_reply;
mod siri;
mod street_class;
mod time;
mod timetable;

pub use bench::{generate_bench_trip_updates, generate_bench_vehicles, write_benchmark_city};
pub use city::RealtimeFeeds;
pub use city::{City, CityOptions, CitySize};
pub use city_feed::CityFeed;
pub use faults::{FaultControl, FaultParseError, FaultPlan, FeedFault, ScriptedFault};
pub use origin::FeedOrigin;
pub use origin_reply::{OriginReply, ReplyBody};
pub use siri::{SiriDelivery, SiriFeedKind};
