//! Trips with distances along shapes that have none.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Trips, File::StopTimes, File::Shapes], check };

static KIND: Kind = Kind {
    code: "trip_with_shape_dist_traveled_but_no_shape_distances",
    severity: Severity::Info,
    fields: &[
        ("tripCsvRowNumber", "The line of the trip."),
        ("tripId", "The trip."),
        ("shapeId", "Its shape."),
        ("stopTimeCsvRowNumber", "The line of its first stop with a distance."),
    ],
    page: include_str!("trip_with_shape_dist_traveled_but_no_shape_distances.md"),
};

/// O(stop times + shape points).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (trips, times) = (feed.table(File::Trips), feed.table(File::StopTimes));
    let shapes = feed.table(File::Shapes);
    if !times.has("shape_dist_traveled") {
        return;
    }
    let point_shapes = shapes.texts("shape_id");
    let point_distances = shapes.floats("shape_dist_traveled");
    let mut lacks_distance = vec![false; point_shapes.n_codes()];
    for row in shapes.rows().filter(|&row| point_distances.get(row).is_none()) {
        if let Some(shape) = point_shapes.code(row) {
            lacks_distance[shape as usize] = true;
        }
    }
    if !lacks_distance.contains(&true) {
        return;
    }
    let trip_rows = feed.link(File::StopTimes, "trip_id", File::Trips, "trip_id");
    let point_of_shape = feed.link(File::Trips, "shape_id", File::Shapes, "shape_id");
    let (distances, shape_ids) = (times.floats("shape_dist_traveled"), trips.texts("shape_id"));
    let is_wanting = |trip| {
        let point = shape_ids.code(trip).and_then(|shape| point_of_shape.row(shape));
        let shape = point.and_then(|point| point_shapes.code(point));
        shape.is_some_and(|shape| lacks_distance[shape as usize])
    };
    for (trip, rows) in feed.groups(File::StopTimes, "trip_id").iter() {
        let Some(trip) = trip_rows.row(trip).filter(|&trip| is_wanting(trip)) else { continue };
        let first = rows.iter().copied().find(|&row| distances.get(row).is_some());
        let Some(first) = first else { continue };
        out.add(&KIND, |sample| {
            sample.put("tripCsvRowNumber", trips.line(trip));
            sample.put("tripId", trips.texts("trip_id").get(trip));
            sample.put("shapeId", shape_ids.get(trip));
            sample.put("stopTimeCsvRowNumber", times.line(first));
        });
    }
}
