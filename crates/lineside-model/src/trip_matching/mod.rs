//! Match rate: the references of a realtime feed that are in the timetable, those that are not, and the reasons.
//!
//! Trip updates, vehicles and alert selectors are looked up by the rules of the join, each with one outcome; further
//! routes and stops of trip updates and vehicles are counted once per id. The result depends only on the records of a
//! feed and the timetable, so it is computed once per state of the feed, on demand.

mod count;
mod matcher;

use std::{collections::HashSet, sync::Arc};

use lineside_formats::gtfs_rt::proto::{TripUpdate, VehiclePosition};
use smol_str::SmolStr;

pub use count::{MatchCount, MatchReasonCount, UnmatchedReason, match_rate};
pub use matcher::count_matched_trips;

use self::matcher::EntityMatcher;
use crate::{
    dataset::Dataset,
    network_state::{FeedStateInNetwork, NetworkState},
    trip_identity::text_if_nonempty,
};

/// The matches of one feed, by kind of reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedMatchCounts {
    /// The version of the dataset.
    pub dataset: SmolStr,
    pub trip_updates: MatchCount,
    /// Vehicles, by their trips, else by their routes.
    pub vehicles: MatchCount,
    /// Alert selectors: each informed entity by itself.
    pub alerts: MatchCount,
    /// Routes of trip updates and vehicles, each id once.
    pub routes: MatchCount,
    /// Stops of trip updates and vehicles, each id once.
    pub stops: MatchCount,
}

impl FeedMatchCounts {
    fn for_feed(slice: &FeedStateInNetwork, dataset: &Dataset) -> FeedMatchCounts {
        let timetable = &dataset.timetable;
        let matcher = EntityMatcher::new(timetable);
        let mut feed_matches =
            FeedMatchCounts { dataset: dataset.version.clone(), ..FeedMatchCounts::default() };
        let (mut routes, mut stops) = (HashSet::new(), HashSet::new());
        for record in slice.tables.trip_updates.records() {
            let Some(update) = record.trip_update() else { continue };
            let verdict = matcher.trips.match_trip_update(&update.trip, &record.id);
            feed_matches.trip_updates.count_trip_result(verdict, Some(&update.trip));
            routes.extend(text_if_nonempty(&update.trip.route_id));
            stops.extend(update_stop_ids(update));
        }
        for record in slice.tables.vehicles.records() {
            let Some(vehicle) = record.vehicle() else { continue };
            let verdict = matcher.trips.match_vehicle(vehicle.trip.as_ref(), &record.id);
            feed_matches.vehicles.count_trip_result(verdict, vehicle.trip.as_ref());
            routes.extend(vehicle_route_id(vehicle));
            stops.extend(text_if_nonempty(&vehicle.stop_id));
        }
        for record in slice.tables.alerts.records() {
            let informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
            for selector in informed {
                feed_matches.alerts.count_result(matcher.match_selector(selector, &record.id));
            }
        }
        for route in routes {
            feed_matches.routes.count_result(matcher.trips.match_route(route));
        }
        for stop in stops {
            feed_matches.stops.count_result(matcher.match_stop(stop));
        }
        for counts in feed_matches.all_counts_mut() {
            counts.set_timetable_sample_ids(timetable);
        }
        feed_matches
    }

    /// Returns the numbers of matched and unmatched entities: trip updates, vehicles and alert selectors.
    pub fn count_matched_and_unmatched(&self) -> (u64, u64) {
        let entities = [&self.trip_updates, &self.vehicles, &self.alerts];
        let matched = entities.iter().map(|counts| counts.matched).sum();
        (matched, entities.iter().map(|counts| counts.unmatched_count()).sum())
    }

    fn all_counts_mut(&mut self) -> [&mut MatchCount; 5] {
        let FeedMatchCounts { dataset: _, trip_updates, vehicles, alerts, routes, stops } = self;
        [trip_updates, vehicles, alerts, routes, stops]
    }
}

impl NetworkState {
    /// Returns the matches of a feed with the network's timetable; `None` without a timetable, or if the feed is not in
    /// the network. The first call per feed state visits all its records, so call it where blocking is allowed.
    pub fn feed_match_counts(&self, feed: &str) -> Option<Arc<FeedMatchCounts>> {
        let dataset = self.dataset.as_ref()?;
        let slice = self.find_feed_slice(feed)?;
        let build_matches = || Arc::new(FeedMatchCounts::for_feed(slice, dataset));
        Some(Arc::clone(slice.cache.get_or_init(build_matches)))
    }
}

fn update_stop_ids(update: &TripUpdate) -> impl Iterator<Item = &str> {
    update.stop_time_update.iter().flat_map(|call| {
        let moved = call.stop_time_properties.as_ref();
        let moved = moved.and_then(|properties| text_if_nonempty(&properties.assigned_stop_id));
        text_if_nonempty(&call.stop_id).into_iter().chain(moved)
    })
}

fn vehicle_route_id(vehicle: &VehiclePosition) -> Option<&str> {
    text_if_nonempty(&vehicle.trip.as_ref()?.route_id)
}
