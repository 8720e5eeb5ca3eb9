//! The real-time model: a function of the seed and the time only.
//!
//! [`courses`] computes the real arrivals and departures of each trip, [`events`] the disruptions of a day. The three
//! feeds read both: positions are courses at an instant, predictions are courses as far as they can be known at that
//! instant, and alerts are the events. So they agree, regardless of the order of requests.
//!
//! Each feed exists in GTFS-Realtime and in SIRI form, and neither is converted from the other: `trip_updates` and
//! `journeys` follow from the predictions, `vehicle_positions` and `activities` from the vehicles' reports, `alerts`
//! and `situations` from the notices.

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
use courses::TrafficSpotsByCall;
use fleet::Fleet;

/// The three real-time feeds at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct RealtimeFeeds {
    pub vehicle_positions: proto::FeedMessage,
    /// Predictions for trips that are running or about to start, cancellations and added trips.
    pub trip_updates: proto::FeedMessage,
    /// Disruptions, works and news, in English, German and French.
    pub alerts: proto::FeedMessage,
}

/// The precomputed data of the model.
#[derive(Debug)]
pub(crate) struct RealtimeModel {
    pub(crate) seed: u64,
    spots: TrafficSpotsByCall,
    fleet: Fleet,
}

impl RealtimeModel {
    pub(crate) fn new(seed: u64, parts: &crate::city::CityParts) -> Self {
        Self {
            seed,
            spots: TrafficSpotsByCall::build_traffic_spots(parts),
            fleet: Fleet::build_fleet(seed, parts),
        }
    }
}

/// Returns `now` in whole seconds, the resolution of feeds.
fn to_unix_seconds(now: UnixMillis) -> i64 {
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
    /// Returns all three feeds at an instant. The same city and instant give the same messages.
    pub fn realtime_feeds(&self, now: UnixMillis) -> RealtimeFeeds {
        RealtimeFeeds {
            vehicle_positions: self.vehicle_positions_feed(now),
            trip_updates: self.trip_updates_feed(now),
            alerts: self.alerts_feed(now),
        }
    }
}
