//! Checks of transfers whose trip does not belong to the route, or does not call at the stop.

use super::{
    GtfsRule,
    locations::{LINE, LocationHierarchy, STATION, STOP},
    transfer_ends::{ENDS, find_calls_at_transfer_ends},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&WRONG_ROUTE, &WRONG_STOP],
    files: &[GtfsFile::Transfers, GtfsFile::Trips, GtfsFile::StopTimes, GtfsFile::Stops],
    check: check_transfer_trips,
};

const TRIP_FIELD: (&str, &str) =
    ("tripFieldName", "The field, which names the end of the transfer.");
const TRIP_ID: (&str, &str) = ("tripId", "The trip.");

static WRONG_ROUTE: NoticeKind = NoticeKind {
    code: "transfer_with_invalid_trip_and_route",
    severity: Severity::Error,
    fields: &[
        LINE,
        TRIP_FIELD,
        TRIP_ID,
        ("routeFieldName", "The field of the route."),
        ("routeId", "The value of that field."),
        ("expectedRouteId", "The route of the trip."),
    ],
    page: include_str!("transfer_with_invalid_trip_and_route.md"),
};

static WRONG_STOP: NoticeKind = NoticeKind {
    code: "transfer_with_invalid_trip_and_stop",
    severity: Severity::Error,
    fields: &[
        LINE,
        TRIP_FIELD,
        TRIP_ID,
        ("stopFieldName", "The field of the stop."),
        ("stopId", "The value of that field."),
    ],
    page: include_str!("transfer_with_invalid_trip_and_stop.md"),
};

/// O(transfers · log transfers + stop times of their trips).
fn check_transfer_trips(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let transfers = feed.table(GtfsFile::Transfers);
    if ENDS.iter().all(|end| transfers.text_column(end.trip).text_code_count() == 0) {
        return;
    }
    let routes = feed.table(GtfsFile::Trips).text_column("route_id");
    let stop_kinds = LocationHierarchy::location_hierarchy_of_feed(feed);
    let calls = find_calls_at_transfer_ends(feed, |_| true);
    let ends = ENDS.map(|end| {
        let trip_rows = feed.rows_referenced_by_field(
            GtfsFile::Transfers,
            end.trip,
            GtfsFile::Trips,
            "trip_id",
        );
        let stop_rows = feed.rows_referenced_by_field(
            GtfsFile::Transfers,
            end.stop,
            GtfsFile::Stops,
            "stop_id",
        );
        let [stops, routes, trips] =
            [end.stop, end.route, end.trip].map(|f| transfers.text_column(f));
        (end, trips, trip_rows, routes, stops, stop_rows)
    });
    for row in transfers.row_numbers() {
        for (at, (end, trips, trip_rows, given_routes, stops, stop_rows)) in ends.iter().enumerate()
        {
            let Some(trip_id) = trips.text_code_of_row(row) else { continue };
            let Some(trip) = trip_rows.row_referenced_by_code(trip_id) else { continue };
            let (actual, expected) = (given_routes.get(row), routes.get(trip));
            if actual.is_some() && actual != expected {
                out.count_notice_with_sample(&WRONG_ROUTE, |sample| {
                    sample.set_field("csvRowNumber", transfers.line_number(row));
                    sample
                        .set_field("tripFieldName", end.trip)
                        .set_field("tripId", trips.text_of_code(trip_id));
                    sample.set_field("routeFieldName", end.route).set_field("routeId", actual);
                    sample.set_field("expectedRouteId", expected);
                });
            }
            let Some(stop) =
                stops.text_code_of_row(row).and_then(|code| stop_rows.row_referenced_by_code(code))
            else {
                continue;
            };
            let call = calls[row as usize][at];
            let is_served = match stop_kinds.location_type(stop) {
                STOP => call.at_stop,
                STATION => call.at_part,
                _ => false,
            };
            if !is_served {
                out.count_notice_with_sample(&WRONG_STOP, |sample| {
                    sample.set_field("csvRowNumber", transfers.line_number(row));
                    sample
                        .set_field("tripFieldName", end.trip)
                        .set_field("tripId", trips.text_of_code(trip_id));
                    sample.set_field("stopFieldName", end.stop).set_field("stopId", stops.get(row));
                });
            }
        }
    }
}
