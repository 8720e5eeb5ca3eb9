//! A simulated city: its ground, its public transport, its feeds and their faults.
//!
//! [`City::generate`] builds Lindhaven from a seed: a harbour city on a river with islands, with streets to draw and
//! trains, trams, buses and ferries to ride. From then on everything is a function: [`City::write_gtfs`] of the city,
//! [`City::realtime_feeds`] of the city and the time. Nothing here reads a clock, opens a socket or keeps a state that time
//! changes, so a demo, a test and a benchmark that share a seed see the same city, whenever they look.
//!
//! **Time.** The instant [`CityOptions::start_instant`] is about 07:30 of a working day in the city, whatever the wall clock
//! says. Whole hours of the difference are taken up by the agency's time zone, the rest, at most half
//! an hour, by shifting the timetable by whole minutes, and weekends by turning the week: see the `time` module. All
//! timestamps are real instants, and GTFS arithmetic on the written schedule (noon minus 12 h in the agency's zone)
//! gives the instants that the real-time feeds use. A clock that runs faster needs nothing more: ask with its time.
//!
//! **Feeds.** [`FeedOrigin`] answers requests for the feeds as a well-behaved producer would, or as a faulty one
//! where [`FaultPlan`] or a switch says so. It knows no sockets; the program puts it behind HTTP. The same vehicles are
//! told in GTFS-Realtime and in SIRI, to who asks and to who subscribes, and there are bikes to share, in GBFS.
//!
//! # Rooms
//! `geography` (ground and streets) → `network` (routes and stops) → `timetable` (trips and vehicles) → `gtfs` and
//! `realtime`, `bikes` → `faults`, `siri`, `origin`; `bench` makes feeds of any size without a city.

mod bench;
mod bikes;
mod city;
mod faults;
mod geography;
mod gtfs;
pub mod limits;
mod names;
mod network;
mod noise;
mod origin;
mod realtime;
mod siri;
mod time;
mod timetable;

pub use bench::{generate_bench_trip_updates, generate_bench_vehicles, write_benchmark_city};
pub use city::{City, CityOptions, CitySize};
pub use faults::{FaultControl, FaultParseError, FaultPlan, FeedFault, ScriptedFault};
pub use origin::{CityFeed, FeedOrigin, OriginReply, ReplyBody};
pub use realtime::RealtimeFeeds;
pub use siri::{SiriDelivery, SiriFeedKind};
