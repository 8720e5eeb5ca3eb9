//! Check of stops without a fare zone on routes with zone fares.

use super::{
    GtfsRule,
    locations::{LINE, LocationHierarchy, STOP, STOP_ID, STOP_NAME, set_stop_fields},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[
        GtfsFile::Stops,
        GtfsFile::FareRules,
        GtfsFile::StopTimes,
        GtfsFile::Trips,
        GtfsFile::Routes,
    ],
    check: check_stop_fare_zone_ids,
};

static KIND: NoticeKind = NoticeKind {
    code: "stop_without_zone_id",
    severity: Severity::Info,
    fields: &[STOP_ID, STOP_NAME, LINE],
    page: include_str!("stop_without_zone_id.md"),
};

/// O(stop times), and only if fares depend on zones and a stop has none.
fn check_stop_fare_zone_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let Some(zoned) = trips_with_zone_fares(feed) else { return };
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let zones = stops.table.text_column("zone_id");
    let has_none =
        |&row: &u32| stops.location_type(row) == STOP && zones.text_code_of_row(row).is_none();
    if !stops.table.row_numbers().any(|row| has_none(&row)) {
        return;
    }
    let stop_times = feed.table(GtfsFile::StopTimes);
    let (trips, places) = (stop_times.text_column("trip_id"), stop_times.text_column("stop_id"));
    let mut is_zoned = vec![false; places.text_code_count()];
    for row in stop_times.row_numbers() {
        let (Some(trip), Some(place)) = (trips.text_code_of_row(row), places.text_code_of_row(row))
        else {
            continue;
        };
        if zoned[trip as usize] {
            is_zoned[place as usize] = true;
        }
    }
    for row in stops.table.row_numbers().filter(has_none) {
        let place = stops.ids.get(row).and_then(|id| places.find_text_code(id));
        if place.is_some_and(|place| is_zoned[place as usize]) {
            out.count_notice_with_sample(&KIND, |sample| {
                set_stop_fields(sample, stops.table, row);
            });
        }
    }
}

/// Returns, by the code of a trip in `stop_times.txt`, true if a fare of its route depends on
/// zones. `None` if no fare does.
fn trips_with_zone_fares(feed: &GtfsFeed) -> Option<Vec<bool>> {
    let fares = feed.table(GtfsFile::FareRules);
    let zones =
        ["origin_id", "destination_id", "contains_id"].map(|field| fares.text_column(field));
    let fare_routes = fares.text_column("route_id");
    let routes_of_fares = feed.rows_referenced_by_field(
        GtfsFile::FareRules,
        "route_id",
        GtfsFile::Routes,
        "route_id",
    );
    let mut is_zoned = vec![false; feed.table(GtfsFile::Routes).len() as usize];
    for row in fares
        .row_numbers()
        .filter(|&row| zones.iter().any(|zone| zone.text_code_of_row(row).is_some()))
    {
        if let Some(route) = fare_routes
            .text_code_of_row(row)
            .and_then(|code| routes_of_fares.row_referenced_by_code(code))
        {
            is_zoned[route as usize] = true;
        }
    }
    if !is_zoned.contains(&true) {
        return None;
    }
    let trip_routes = feed.table(GtfsFile::Trips).text_column("route_id");
    let routes_of_trips =
        feed.rows_referenced_by_field(GtfsFile::Trips, "route_id", GtfsFile::Routes, "route_id");
    let trips_of_times =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "trip_id", GtfsFile::Trips, "trip_id");
    let route = |trip| {
        routes_of_trips.row_referenced_by_code(
            trip_routes.text_code_of_row(trips_of_times.row_referenced_by_code(trip)?)?,
        )
    };
    let n_trips = feed.table(GtfsFile::StopTimes).text_column("trip_id").text_code_count() as u32;
    Some((0..n_trips).map(|trip| route(trip).is_some_and(|row| is_zoned[row as usize])).collect())
}
