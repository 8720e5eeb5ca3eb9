//! Which ids of a real-time feed its timetable has: how much of what the feed names is matched, how much is not, and why.
//!
//! Trip updates, vehicles and what alerts are about are looked up as the join does it, each with one outcome; lines and
//! stops that trip updates and vehicles name besides are counted by their ids, each once. All of it follows from the
//! records of a feed and the timetable, so it is made once per state of the feed, and only when somebody asks.

mod count;
mod judge;

use std::{collections::HashSet, sync::Arc};

use lineside_formats::gtfs_rt::proto::{TripUpdate, VehiclePosition};
use smol_str::SmolStr;

pub use count::{MatchCount, MatchReason, ReasonCount, match_rate};
pub use judge::match_trips;

use self::judge::Judge;
use crate::{
    dataset::Dataset,
    network::{FeedSlice, NetworkState},
    normalize::given,
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
    fn of(slice: &FeedSlice, dataset: &Dataset) -> FeedMatches {
        let timetable = &dataset.timetable;
        let judge = Judge::new(timetable);
        let mut made = FeedMatches { dataset: dataset.version.clone(), ..FeedMatches::default() };
        let (mut routes, mut stops) = (HashSet::new(), HashSet::new());
        for record in slice.tables.trip_updates.records() {
            let Some(update) = record.trip_update() else { continue };
            let verdict = judge.trips.trip_update(&update.trip, &record.id);
            made.trip_updates.add_trip(verdict, Some(&update.trip));
            routes.extend(given(&update.trip.route_id));
            stops.extend(stops_of_update(update));
        }
        for record in slice.tables.vehicles.records() {
            let Some(vehicle) = record.vehicle() else { continue };
            let verdict = judge.trips.vehicle(vehicle.trip.as_ref(), &record.id);
            made.vehicles.add_trip(verdict, vehicle.trip.as_ref());
            routes.extend(route_of_vehicle(vehicle));
            stops.extend(given(&vehicle.stop_id));
        }
        for record in slice.tables.alerts.records() {
            let informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
            for selector in informed {
                made.alerts.add(judge.selector(selector, &record.id));
            }
        }
        for route in routes {
            made.routes.add(judge.trips.route(route));
        }
        for stop in stops {
            made.stops.add(judge.stop(stop));
        }
        for counts in made.kinds_mut() {
            counts.put_known_ids(timetable);
        }
        made
    }

    /// What came of its entities: trip updates, vehicles, and what alerts are about. Matched, unmatched.
    pub fn entities(&self) -> (u64, u64) {
        let entities = [&self.trip_updates, &self.vehicles, &self.alerts];
        let matched = entities.iter().map(|counts| counts.matched).sum();
        (matched, entities.iter().map(|counts| counts.unmatched()).sum())
    }

    fn kinds_mut(&mut self) -> [&mut MatchCount; 5] {
        let FeedMatches { dataset: _, trip_updates, vehicles, alerts, routes, stops } = self;
        [trip_updates, vehicles, alerts, routes, stops]
    }
}

impl NetworkState {
    /// What a feed names of the network's timetable; none without a timetable, or if the feed is of another network. The
    /// first call at a state of the feed looks at all of its records: to be called where that blocks nobody.
    pub fn matches(&self, feed: &str) -> Option<Arc<FeedMatches>> {
        let dataset = self.dataset.as_ref()?;
        let slice = self.feed(feed)?;
        let made = || Arc::new(FeedMatches::of(slice, dataset));
        Some(Arc::clone(slice.cache.matches.get_or_init(made)))
    }
}

fn stops_of_update(update: &TripUpdate) -> impl Iterator<Item = &str> {
    update.stop_time_update.iter().flat_map(|call| {
        let moved = call.stop_time_properties.as_ref();
        let moved = moved.and_then(|properties| given(&properties.assigned_stop_id));
        given(&call.stop_id).into_iter().chain(moved)
    })
}

fn route_of_vehicle(vehicle: &VehiclePosition) -> Option<&str> {
    given(&vehicle.trip.as_ref()?.route_id)
}
