//! Check of ferry trips without `bikes_allowed`.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Trips, GtfsFile::Routes],
    check: check_bike_allowance,
};

static KIND: NoticeKind = NoticeKind {
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
fn check_bike_allowance(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (routes, trips) = (feed.table(GtfsFile::Routes), feed.table(GtfsFile::Trips));
    let types = routes.number_column("route_type");
    if !routes.row_numbers().any(|row| types.get(row) == Some(FERRY)) {
        return;
    }
    let (route_ids, ids) = (trips.text_column("route_id"), trips.text_column("trip_id"));
    let bikes = trips.number_column("bikes_allowed");
    let of_route = feed.rows_grouped_by_field(GtfsFile::Trips, "route_id");
    let to_trips =
        feed.rows_referenced_by_field(GtfsFile::Routes, "route_id", GtfsFile::Trips, "route_id");
    let ids_of_routes = routes.text_column("route_id");
    for route in routes.row_numbers().filter(|&row| types.get(row) == Some(FERRY)) {
        let first = ids_of_routes
            .text_code_of_row(route)
            .and_then(|code| to_trips.row_referenced_by_code(code));
        let Some(code) = first.and_then(|row| route_ids.text_code_of_row(row)) else { continue };
        for &row in of_route.rows_with_text_code(code) {
            if !matches!(bikes.get(row), Some(1 | 2)) {
                out.count_notice_with_sample(&KIND, |sample| {
                    sample.set_field("csvRowNumber", trips.line_number(row));
                    sample
                        .set_field("routeId", route_ids.text_of_code(code))
                        .set_field("tripId", ids.get(row));
                });
            }
        }
    }
}
