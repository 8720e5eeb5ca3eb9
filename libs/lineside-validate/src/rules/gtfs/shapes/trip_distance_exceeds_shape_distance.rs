//! Trips that are longer than the shapes they follow.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, haversine_m},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&FAR, &NEAR],
    files: &[File::Trips, File::StopTimes, File::Stops, File::Shapes],
    check,
};

static FAR: Kind = Kind {
    code: "trip_distance_exceeds_shape_distance",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("trip_distance_exceeds_shape_distance.md"),
};

static NEAR: Kind = Kind {
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
    ("geoDistanceToShape", "From the last stop to that point of the shape, in meters."),
];

/// Meters beyond which the last stop is not where the shape ends: 0.0001 degrees of a great circle.
const FAR_METERS: f64 = 11.1;

/// O(trips + shape points).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (trips, times) = (feed.table(File::Trips), feed.table(File::StopTimes));
    let (stops, shapes) = (feed.table(File::Stops), feed.table(File::Shapes));
    if !times.has("shape_dist_traveled") || !shapes.has("shape_dist_traveled") {
        return;
    }
    let ends = ends(feed);
    let rows_of_trip = feed.groups(File::StopTimes, "trip_id");
    let time_of_trip = feed.link(File::Trips, "trip_id", File::StopTimes, "trip_id");
    let point_of_shape = feed.link(File::Trips, "shape_id", File::Shapes, "shape_id");
    let stop_of_time = feed.link(File::StopTimes, "stop_id", File::Stops, "stop_id");
    let (trip_ids, shape_ids) = (trips.texts("trip_id"), trips.texts("shape_id"));
    let (time_trips, time_stops) = (times.texts("trip_id"), times.texts("stop_id"));
    let (distances, point_shapes) = (times.floats("shape_dist_traveled"), shapes.texts("shape_id"));
    let (stop_lat, stop_lon) = (stops.floats("stop_lat"), stops.floats("stop_lon"));
    let (lat, lon) = (shapes.floats("shape_pt_lat"), shapes.floats("shape_pt_lon"));
    // The last stop's row and distance, and the row of the shape's end.
    let look = |trip: u32| -> Option<(u32, f64, u32)> {
        let end = ends[point_shapes.code(point_of_shape.row(shape_ids.code(trip)?)?)? as usize];
        let group = time_trips.code(time_of_trip.row(trip_ids.code(trip)?)?)?;
        let last = *rows_of_trip.rows(group).last()?;
        let stop = stop_of_time.row(time_stops.code(last)?)?;
        let distance = distances.get(last).filter(|&distance| end.1 > 0.0 && distance > end.1)?;
        Some((stop, distance, end.0))
    };
    for trip in trips.rows() {
        let Some((stop, distance, end)) = look(trip) else { continue };
        // A stop without coordinates counts as one at 0, 0.
        let place = (stop_lat.get(stop).unwrap_or(0.0), stop_lon.get(stop).unwrap_or(0.0));
        let end_place = (lat.get(end).unwrap_or(0.0), lon.get(end).unwrap_or(0.0));
        let meters = haversine_m(end_place, place);
        out.add(if meters > FAR_METERS { &FAR } else { &NEAR }, |sample| {
            sample.put("tripId", trip_ids.get(trip)).put("shapeId", shape_ids.get(trip));
            sample.put("maxTripDistanceTraveled", distance);
            sample.put("maxShapeDistanceTraveled", shapes.floats("shape_dist_traveled").get(end));
            sample.put("geoDistanceToShape", meters);
        });
    }
}

/// The first point with the greatest distance of each shape: its row and distance, by the code of
/// the shape.
fn ends(feed: &Feed) -> Vec<(u32, f64)> {
    let shapes = feed.table(File::Shapes);
    let distances = shapes.floats("shape_dist_traveled");
    let mut ends = vec![(0, 0.0); shapes.texts("shape_id").n_codes()];
    for (shape, rows) in feed.groups(File::Shapes, "shape_id").iter() {
        for &row in rows {
            let distance = distances.get(row).unwrap_or(0.0);
            if distance > ends[shape as usize].1 {
                ends[shape as usize] = (row, distance);
            }
        }
    }
    ends
}
