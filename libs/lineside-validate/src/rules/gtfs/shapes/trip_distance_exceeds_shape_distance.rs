//! Checks of trips that are longer than their shapes.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, haversine_distance_m},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&FAR, &NEAR],
    files: &[GtfsFile::Trips, GtfsFile::StopTimes, GtfsFile::Stops, GtfsFile::Shapes],
    check: check_trip_not_longer_than_shape,
};

static FAR: NoticeKind = NoticeKind {
    code: "trip_distance_exceeds_shape_distance",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("trip_distance_exceeds_shape_distance.md"),
};

static NEAR: NoticeKind = NoticeKind {
    code: "trip_distance_exceeds_shape_distance_below_threshold",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("trip_distance_exceeds_shape_distance_below_threshold.md"),
};

const FIELDS: &[(&str, &str)] = &[
    ("tripId", "The trip."),
    ("shapeId", "Its shape."),
    ("maxTripDistanceTraveled", "The distance of its last stop."),
    ("maxShapeDistanceTraveled", "The greatest distance of the shape."),
    (
        "geoDistanceToShape",
        "The distance from the last stop to the point with that distance, in meters.",
    ),
];

/// The distance in meters from which the last stop is not at the end of the shape: 0.0001 degrees
/// of a great circle.
const FAR_METERS: f64 = 11.1;

/// O(trips + shape points).
fn check_trip_not_longer_than_shape(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (trips, times) = (feed.table(GtfsFile::Trips), feed.table(GtfsFile::StopTimes));
    let (stops, shapes) = (feed.table(GtfsFile::Stops), feed.table(GtfsFile::Shapes));
    if !times.has_column("shape_dist_traveled") || !shapes.has_column("shape_dist_traveled") {
        return;
    }
    let ends = find_furthest_shape_points(feed);
    let rows_of_trip = feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id");
    let time_of_trip =
        feed.rows_referenced_by_field(GtfsFile::Trips, "trip_id", GtfsFile::StopTimes, "trip_id");
    let point_of_shape =
        feed.rows_referenced_by_field(GtfsFile::Trips, "shape_id", GtfsFile::Shapes, "shape_id");
    let stop_of_time =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "stop_id", GtfsFile::Stops, "stop_id");
    let (trip_ids, shape_ids) = (trips.text_column("trip_id"), trips.text_column("shape_id"));
    let (time_trips, time_stops) = (times.text_column("trip_id"), times.text_column("stop_id"));
    let (distances, point_shapes) =
        (times.float_column("shape_dist_traveled"), shapes.text_column("shape_id"));
    let (stop_lat, stop_lon) = (stops.float_column("stop_lat"), stops.float_column("stop_lon"));
    let (lat, lon) = (shapes.float_column("shape_pt_lat"), shapes.float_column("shape_pt_lon"));
    // Returns the row and distance of the last stop, and the row of the shape's end.
    let find_ends = |trip: u32| -> Option<(u32, f64, u32)> {
        let end = ends[point_shapes.text_code_of_row(
            point_of_shape.row_referenced_by_code(shape_ids.text_code_of_row(trip)?)?,
        )? as usize];
        let group = time_trips.text_code_of_row(
            time_of_trip.row_referenced_by_code(trip_ids.text_code_of_row(trip)?)?,
        )?;
        let last = *rows_of_trip.rows_with_text_code(group).last()?;
        let stop = stop_of_time.row_referenced_by_code(time_stops.text_code_of_row(last)?)?;
        let distance = distances.get(last).filter(|&distance| end.1 > 0.0 && distance > end.1)?;
        Some((stop, distance, end.0))
    };
    for trip in trips.row_numbers() {
        let Some((stop, distance, end)) = find_ends(trip) else { continue };
        // A stop without coordinates is at 0, 0.
        let place = (stop_lat.get(stop).unwrap_or(0.0), stop_lon.get(stop).unwrap_or(0.0));
        let end_place = (lat.get(end).unwrap_or(0.0), lon.get(end).unwrap_or(0.0));
        let meters = haversine_distance_m(end_place, place);
        out.count_notice_with_sample(if meters > FAR_METERS { &FAR } else { &NEAR }, |sample| {
            sample
                .set_field("tripId", trip_ids.get(trip))
                .set_field("shapeId", shape_ids.get(trip));
            sample.set_field("maxTripDistanceTraveled", distance);
            sample.set_field(
                "maxShapeDistanceTraveled",
                shapes.float_column("shape_dist_traveled").get(end),
            );
            sample.set_field("geoDistanceToShape", meters);
        });
    }
}

/// Returns the first point with the greatest distance of each shape: its row and distance, by the
/// code of the shape.
fn find_furthest_shape_points(feed: &GtfsFeed) -> Vec<(u32, f64)> {
    let shapes = feed.table(GtfsFile::Shapes);
    let distances = shapes.float_column("shape_dist_traveled");
    let mut ends = vec![(0, 0.0); shapes.text_column("shape_id").text_code_count()];
    for (shape, rows) in feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id").iter() {
        for &row in rows {
            let distance = distances.get(row).unwrap_or(0.0);
            if distance > ends[shape as usize].1 {
                ends[shape as usize] = (row, distance);
            }
        }
    }
    ends
}
