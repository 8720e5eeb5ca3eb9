//! Stops outside of all zones on routes whose fares depend on zones.

use super::{
    GtfsRule,
    locations::{LINE, Locations, STOP, STOP_ID, STOP_NAME, put_stop},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[File::Stops, File::FareRules, File::StopTimes, File::Trips, File::Routes],
    check,
};

static KIND: Kind = Kind {
    code: "stop_without_zone_id",
    severity: Severity::Info,
    fields: &[STOP_ID, STOP_NAME, LINE],
    page: include_str!("stop_without_zone_id.md"),
};

/// O(n) over stop times, and only where fares depend on zones and a stop has none.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let Some(zoned) = zoned_trips(feed) else { return };
    let stops = Locations::of(feed);
    let zones = stops.table.texts("zone_id");
    let has_none = |&row: &u32| stops.type_of(row) == STOP && zones.code(row).is_none();
    if !stops.table.rows().any(|row| has_none(&row)) {
        return;
    }
    let stop_times = feed.table(File::StopTimes);
    let (trips, places) = (stop_times.texts("trip_id"), stop_times.texts("stop_id"));
    let mut is_zoned = vec![false; places.n_codes()];
    for row in stop_times.rows() {
        let (Some(trip), Some(place)) = (trips.code(row), places.code(row)) else { continue };
        if zoned[trip as usize] {
            is_zoned[place as usize] = true;
        }
    }
    for row in stops.table.rows().filter(has_none) {
        let place = stops.ids.get(row).and_then(|id| places.find(id));
        if place.is_some_and(|place| is_zoned[place as usize]) {
            out.add(&KIND, |sample| {
                put_stop(sample, stops.table, row);
            });
        }
    }
}

/// By the code of a trip in stop_times.txt: whether a fare of its route depends on zones. `None` if
/// no fare does.
fn zoned_trips(feed: &Feed) -> Option<Vec<bool>> {
    let fares = feed.table(File::FareRules);
    let zones = ["origin_id", "destination_id", "contains_id"].map(|field| fares.texts(field));
    let fare_routes = fares.texts("route_id");
    let routes_of_fares = feed.link(File::FareRules, "route_id", File::Routes, "route_id");
    let mut is_zoned = vec![false; feed.table(File::Routes).len() as usize];
    for row in fares.rows().filter(|&row| zones.iter().any(|zone| zone.code(row).is_some())) {
        if let Some(route) = fare_routes.code(row).and_then(|code| routes_of_fares.row(code)) {
            is_zoned[route as usize] = true;
        }
    }
    if !is_zoned.contains(&true) {
        return None;
    }
    let trip_routes = feed.table(File::Trips).texts("route_id");
    let routes_of_trips = feed.link(File::Trips, "route_id", File::Routes, "route_id");
    let trips_of_times = feed.link(File::StopTimes, "trip_id", File::Trips, "trip_id");
    let route = |trip| routes_of_trips.row(trip_routes.code(trips_of_times.row(trip)?)?);
    let n_trips = feed.table(File::StopTimes).texts("trip_id").n_codes() as u32;
    Some((0..n_trips).map(|trip| route(trip).is_some_and(|row| is_zoned[row as usize])).collect())
}
