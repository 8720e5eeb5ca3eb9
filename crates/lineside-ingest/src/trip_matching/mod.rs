//! Which ids of a real-time feed its timetable has: how much of what the feed names is matched, how much is not, and why.
//!
//! Trip updates, vehicles and what alerts are about are looked up as the join does it, each with one outcome; lines and
//! stops that trip updates and vehicles name besides are counted by their ids, each once. All of it follows from the
//! records of a feed and the timetable, so it is made once per state of the feed, and only when somebody asks.

mod count;
mod matcher;

use std::{collections::HashSet, sync::Arc};

use lineside_formats::gtfs_rt::proto::{TripUpdate, VehiclePosition};
use smol_str::SmolStr;

pub use count::{MatchCount, MatchReason, ReasonCount, match_rate};
pub use matcher::match_trips;

use self::matcher::EntityMatcher;
use crate::{
    dataset::Dataset,
    network::{FeedSlice, NetworkState},
    normalize::nonempty_text,
};

/// What one feed names of its timetable, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedMatches {
    /// The version of the dataset.
    pub dataset: SmolStr,
    /// Trip updates, by their trips.
    pub trip_updates: MatchCount,
    /// Vehicles, by their trips, or by their lines where they name no trip.
    pub vehicles: MatchCount,
    /// What alerts are about: each informed entity by itself.
    pub alerts: MatchCount,
    /// Lines that trip updates and vehicles name, each id once.
    pub routes: MatchCount,
    /// Stops that trip updates and vehicles name, each id once.
    pub stops: MatchCount,
}

impl FeedMatches {
    fn for_feed(slice: &FeedSlice, dataset: &Dataset) -> FeedMatches {
        let timetable = &dataset.timetable;
        let judge = EntityMatcher::new(timetable);
        let mut made = FeedMatches { dataset: dataset.version.clone(), ..FeedMatches::default() };
        let (mut routes, mut stops) = (HashSet::new(), HashSet::new());
        for record in slice.tables.trip_updates.records() {
            let Some(update) = record.trip_update() else { continue };
            let verdict = judge.trips.match_trip_update(&update.trip, &record.id);
            made.trip_updates.add_trip_verdict(verdict, Some(&update.trip));
            routes.extend(nonempty_text(&update.trip.route_id));
            stops.extend(update_stop_ids(update));
        }
        for record in slice.tables.vehicles.records() {
            let Some(vehicle) = record.vehicle() else { continue };
            let verdict = judge.trips.match_vehicle(vehicle.trip.as_ref(), &record.id);
            made.vehicles.add_trip_verdict(verdict, vehicle.trip.as_ref());
            routes.extend(vehicle_route_id(vehicle));
            stops.extend(nonempty_text(&vehicle.stop_id));
        }
        for record in slice.tables.alerts.records() {
            let informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
            for selector in informed {
                made.alerts.add_verdict(judge.match_selector(selector, &record.id));
            }
        }
        for route in routes {
            made.routes.add_verdict(judge.trips.match_route(route));
        }
        for stop in stops {
            made.stops.add_verdict(judge.match_stop(stop));
        }
        for counts in made.match_counts_mut() {
            counts.put_known_ids(timetable);
        }
        made
    }

    /// What came of its entities: trip updates, vehicles, and what alerts are about. Matched, unmatched.
    pub fn entity_counts(&self) -> (u64, u64) {
        let entities = [&self.trip_updates, &self.vehicles, &self.alerts];
        let matched = entities.iter().map(|counts| counts.matched).sum();
        (matched, entities.iter().map(|counts| counts.unmatched_count()).sum())
    }

    fn match_counts_mut(&mut self) -> [&mut MatchCount; 5] {
        let FeedMatches { dataset: _, trip_updates, vehicles, alerts, routes, stops } = self;
        [trip_updates, vehicles, alerts, routes, stops]
    }
}

impl NetworkState {
    /// What a feed names of the network's timetable; none without a timetable, or if the feed is of another network. The
    /// first call at a state of the feed looks at all of its records: to be called where that blocks nobody.
    pub fn feed_matches(&self, feed: &str) -> Option<Arc<FeedMatches>> {
        let dataset = self.dataset.as_ref()?;
        let slice = self.find_feed_slice(feed)?;
        let made = || Arc::new(FeedMatches::for_feed(slice, dataset));
        Some(Arc::clone(slice.cache.matches.get_or_init(made)))
    }
}

fn update_stop_ids(update: &TripUpdate) -> impl Iterator<Item = &str> {
    update.stop_time_update.iter().flat_map(|call| {
        let moved = call.stop_time_properties.as_ref();
        let moved = moved.and_then(|properties| nonempty_text(&properties.assigned_stop_id));
        nonempty_text(&call.stop_id).into_iter().chain(moved)
    })
}

fn vehicle_route_id(vehicle: &VehiclePosition) -> Option<&str> {
    nonempty_text(&vehicle.trip.as_ref()?.route_id)
}
