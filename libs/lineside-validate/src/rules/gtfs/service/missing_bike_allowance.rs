//! Ferries of which nobody knows whether they take bikes.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Trips, File::Routes], check };

static KIND: Kind = Kind {
    code: "missing_bike_allowance",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the trip."),
        ("routeId", "Its route."),
        ("tripId", "The trip."),
    ],
    page: include_str!("missing_bike_allowance.md"),
};

const FERRY: i32 = 4;

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (routes, trips) = (feed.table(File::Routes), feed.table(File::Trips));
    let types = routes.numbers("route_type");
    if !routes.rows().any(|row| types.get(row) == Some(FERRY)) {
        return;
    }
    let (route_ids, ids) = (trips.texts("route_id"), trips.texts("trip_id"));
    let bikes = trips.numbers("bikes_allowed");
    let of_route = feed.groups(File::Trips, "route_id");
    let to_trips = feed.link(File::Routes, "route_id", File::Trips, "route_id");
    let ids_of_routes = routes.texts("route_id");
    for route in routes.rows().filter(|&row| types.get(row) == Some(FERRY)) {
        let first = ids_of_routes.code(route).and_then(|code| to_trips.row(code));
        let Some(code) = first.and_then(|row| route_ids.code(row)) else { continue };
        for &row in of_route.rows(code) {
            if !matches!(bikes.get(row), Some(1 | 2)) {
                out.add(&KIND, |sample| {
                    sample.put("csvRowNumber", trips.line(row));
                    sample.put("routeId", route_ids.text(code)).put("tripId", ids.get(row));
                });
            }
        }
    }
}
