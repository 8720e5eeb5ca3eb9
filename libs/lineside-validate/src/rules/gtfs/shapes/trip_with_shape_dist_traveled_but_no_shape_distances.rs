//! Check of trips with distances along shapes that have none.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Trips, GtfsFile::StopTimes, GtfsFile::Shapes],
    check: check_missing_shape_distances,
};

static KIND: NoticeKind = NoticeKind {
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
fn check_missing_shape_distances(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (trips, times) = (feed.table(GtfsFile::Trips), feed.table(GtfsFile::StopTimes));
    let shapes = feed.table(GtfsFile::Shapes);
    if !times.has_column("shape_dist_traveled") {
        return;
    }
    let point_shapes = shapes.text_column("shape_id");
    let point_distances = shapes.float_column("shape_dist_traveled");
    let mut lacks_distance = vec![false; point_shapes.text_code_count()];
    for row in shapes.row_numbers().filter(|&row| point_distances.get(row).is_none()) {
        if let Some(shape) = point_shapes.text_code_of_row(row) {
            lacks_distance[shape as usize] = true;
        }
    }
    if !lacks_distance.contains(&true) {
        return;
    }
    let trip_rows =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "trip_id", GtfsFile::Trips, "trip_id");
    let point_of_shape =
        feed.rows_referenced_by_field(GtfsFile::Trips, "shape_id", GtfsFile::Shapes, "shape_id");
    let (distances, shape_ids) =
        (times.float_column("shape_dist_traveled"), trips.text_column("shape_id"));
    let is_wanting = |trip| {
        let point = shape_ids
            .text_code_of_row(trip)
            .and_then(|shape| point_of_shape.row_referenced_by_code(shape));
        let shape = point.and_then(|point| point_shapes.text_code_of_row(point));
        shape.is_some_and(|shape| lacks_distance[shape as usize])
    };
    for (trip, rows) in feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter() {
        let Some(trip) = trip_rows.row_referenced_by_code(trip).filter(|&trip| is_wanting(trip))
        else {
            continue;
        };
        let first = rows.iter().copied().find(|&row| distances.get(row).is_some());
        let Some(first) = first else { continue };
        out.count_notice_with_sample(&KIND, |sample| {
            sample.set_field("tripCsvRowNumber", trips.line_number(trip));
            sample.set_field("tripId", trips.text_column("trip_id").get(trip));
            sample.set_field("shapeId", shape_ids.get(trip));
            sample.set_field("stopTimeCsvRowNumber", times.line_number(first));
        });
    }
}
