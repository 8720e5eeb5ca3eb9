//! What really happens: a function of the seed and the time, and of nothing that happened before.
//!
//! [`courses`] says when each trip of a day really arrives and departs; [`events`] what goes wrong on a day. The three
//! feeds read both: positions are courses at an instant, predictions are courses as far as they can be known at it,
//! alerts are the events. So they agree, whatever they are asked and in whatever order.
//!
//! Each feed is said twice, in the terms of GTFS-Realtime and in those of SIRI, and neither is made of the other:
//! `trip_updates` and `journeys` of the predictions, `vehicle_positions` and `activities` of what vehicles report,
//! `alerts` and `situations` of the notices.

mod activities;
mod alerts;
mod courses;
mod entities;
mod events;
mod fleet;
pub(crate) mod journeys;
mod predictions;
mod runs;
mod situations;
mod texts;
mod trip_updates;
mod vehicle_positions;

use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;

use crate::city::City;
use courses::TrafficSpots;
use fleet::Fleet;

/// The three real-time feeds at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct RealtimeFeeds {
    /// Where each vehicle is.
    pub vehicle_positions: proto::FeedMessage,
    /// Predictions for trips under way and about to start, cancellations and added trips.
    pub trip_updates: proto::FeedMessage,
    /// Disruptions, works and news, in English, German and French.
    pub alerts: proto::FeedMessage,
}

/// What the model looks up while it runs.
#[derive(Debug)]
pub(crate) struct RealtimeModel {
    pub(crate) seed: u64,
    spots: TrafficSpots,
    fleet: Fleet,
}

impl RealtimeModel {
    pub(crate) fn new(seed: u64, parts: &crate::city::CityParts) -> Self {
        Self {
            seed,
            spots: TrafficSpots::build_spots(parts),
            fleet: Fleet::build_fleet(seed, parts),
        }
    }
}

/// `now` in whole seconds: feeds do not say more.
fn whole_seconds(now: UnixMillis) -> i64 {
    now.unix_seconds()
}

fn build_feed_header(timestamp: i64, version: &str) -> proto::FeedHeader {
    proto::FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        incrementality: Some(proto::feed_header::Incrementality::FullDataset as i32),
        timestamp: Some(timestamp.max(0) as u64),
        feed_version: Some(version.to_owned()),
    }
}

impl City {
    /// All three feeds at an instant. Deterministic: the same city and instant give the same messages.
    pub fn realtime_feeds(&self, now: UnixMillis) -> RealtimeFeeds {
        RealtimeFeeds {
            vehicle_positions: self.vehicle_positions_feed(now),
            trip_updates: self.trip_updates_feed(now),
            alerts: self.alerts_feed(now),
        }
    }
}
