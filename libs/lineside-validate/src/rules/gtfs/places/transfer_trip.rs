//! Transfers whose trip is not one of the route, or does not call at the stop.

use super::{
    GtfsRule,
    locations::{LINE, Locations, STATION, STOP},
    transfer_ends::{ENDS, calls},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&WRONG_ROUTE, &WRONG_STOP],
    files: &[File::Transfers, File::Trips, File::StopTimes, File::Stops],
    check,
};

const TRIP_FIELD: (&str, &str) = ("tripFieldName", "At which end of the transfer it is.");
const TRIP_ID: (&str, &str) = ("tripId", "The trip.");

static WRONG_ROUTE: Kind = Kind {
    code: "transfer_with_invalid_trip_and_route",
    severity: Severity::Error,
    fields: &[
        LINE,
        TRIP_FIELD,
        TRIP_ID,
        ("routeFieldName", "The field of the route."),
        ("routeId", "The route that is given there."),
        ("expectedRouteId", "The route of the trip."),
    ],
    page: include_str!("transfer_with_invalid_trip_and_route.md"),
};

static WRONG_STOP: Kind = Kind {
    code: "transfer_with_invalid_trip_and_stop",
    severity: Severity::Error,
    fields: &[
        LINE,
        TRIP_FIELD,
        TRIP_ID,
        ("stopFieldName", "The field of the stop."),
        ("stopId", "The stop that is given there."),
    ],
    page: include_str!("transfer_with_invalid_trip_and_stop.md"),
};

/// O(transfers · log transfers + stop times of their trips).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let transfers = feed.table(File::Transfers);
    if ENDS.iter().all(|end| transfers.texts(end.trip).n_codes() == 0) {
        return;
    }
    let routes = feed.table(File::Trips).texts("route_id");
    let stop_kinds = Locations::of(feed);
    let calls = calls(feed, |_| true);
    let ends = ENDS.map(|end| {
        let trip_rows = feed.link(File::Transfers, end.trip, File::Trips, "trip_id");
        let stop_rows = feed.link(File::Transfers, end.stop, File::Stops, "stop_id");
        let [stops, routes, trips] = [end.stop, end.route, end.trip].map(|f| transfers.texts(f));
        (end, trips, trip_rows, routes, stops, stop_rows)
    });
    for row in transfers.rows() {
        for (at, (end, trips, trip_rows, given_routes, stops, stop_rows)) in ends.iter().enumerate()
        {
            let Some(trip_id) = trips.code(row) else { continue };
            let Some(trip) = trip_rows.row(trip_id) else { continue };
            let (given, expected) = (given_routes.get(row), routes.get(trip));
            if given.is_some() && given != expected {
                out.add(&WRONG_ROUTE, |sample| {
                    sample.put("csvRowNumber", transfers.line(row));
                    sample.put("tripFieldName", end.trip).put("tripId", trips.text(trip_id));
                    sample.put("routeFieldName", end.route).put("routeId", given);
                    sample.put("expectedRouteId", expected);
                });
            }
            let Some(stop) = stops.code(row).and_then(|code| stop_rows.row(code)) else { continue };
            let call = calls[row as usize][at];
            let is_served = match stop_kinds.type_of(stop) {
                STOP => call.at_stop,
                STATION => call.at_part,
                _ => false,
            };
            if !is_served {
                out.add(&WRONG_STOP, |sample| {
                    sample.put("csvRowNumber", transfers.line(row));
                    sample.put("tripFieldName", end.trip).put("tripId", trips.text(trip_id));
                    sample.put("stopFieldName", end.stop).put("stopId", stops.get(row));
                });
            }
        }
    }
}
