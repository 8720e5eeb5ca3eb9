//! Checks of distances along a shape that do not increase from point to point.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, haversine_distance_m},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&DECREASING, &EQUAL_APART, &EQUAL_NEAR, &EQUAL_SAME],
    files: &[GtfsFile::Shapes],
    check: check_shape_distances,
};

static DECREASING: NoticeKind = NoticeKind {
    code: "decreasing_shape_distance",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("decreasing_shape_distance.md"),
};

static EQUAL_APART: NoticeKind = NoticeKind {
    code: "equal_shape_distance_diff_coordinates",
    severity: Severity::Error,
    fields: FIELDS_APART,
    page: include_str!("equal_shape_distance_diff_coordinates.md"),
};

static EQUAL_NEAR: NoticeKind = NoticeKind {
    code: "equal_shape_distance_diff_coordinates_distance_below_threshold",
    severity: Severity::Warning,
    fields: FIELDS_APART,
    page: include_str!("equal_shape_distance_diff_coordinates_distance_below_threshold.md"),
};

static EQUAL_SAME: NoticeKind = NoticeKind {
    code: "equal_shape_distance_same_coordinates",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("equal_shape_distance_same_coordinates.md"),
};

const SHAPE_ID: (&str, &str) = ("shapeId", "The shape.");
const ROW: (&str, &str) = ("csvRowNumber", "The line of the point.");
const DISTANCE: (&str, &str) = ("shapeDistTraveled", "The distance of the point along the shape.");
const SEQUENCE: (&str, &str) = ("shapePtSequence", "The `shape_pt_sequence` of the point.");
const PREV_ROW: (&str, &str) = ("prevCsvRowNumber", "The line of the previous point.");
const PREV_DISTANCE: (&str, &str) =
    ("prevShapeDistTraveled", "The distance of the previous point along the shape.");
const PREV_SEQUENCE: (&str, &str) =
    ("prevShapePtSequence", "The `shape_pt_sequence` of the previous point.");
const APART: (&str, &str) =
    ("actualDistanceBetweenShapePoints", "The distance between the points, in meters.");

const FIELDS: &[(&str, &str)] =
    &[SHAPE_ID, ROW, DISTANCE, SEQUENCE, PREV_ROW, PREV_DISTANCE, PREV_SEQUENCE];
const FIELDS_APART: &[(&str, &str)] =
    &[SHAPE_ID, ROW, DISTANCE, SEQUENCE, PREV_ROW, PREV_DISTANCE, PREV_SEQUENCE, APART];

/// The distance in meters from which two points differ: 0.00001 degrees of a great circle, the last
/// digit in most feeds.
const APART_METERS: f64 = 1.11;

/// O(n): each point is compared with the one before it.
fn check_shape_distances(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let shapes = feed.table(GtfsFile::Shapes);
    if !shapes.has_column("shape_dist_traveled") {
        return;
    }
    let (lat, lon) = (shapes.float_column("shape_pt_lat"), shapes.float_column("shape_pt_lon"));
    let distances = shapes.float_column("shape_dist_traveled");
    let place = |row| (lat.get(row).unwrap_or(0.0), lon.get(row).unwrap_or(0.0));
    for (_, rows) in feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id").iter() {
        for (&prev, &row) in rows.iter().zip(&rows[1..]) {
            let (Some(previous_distance), Some(distance)) =
                (distances.get(prev), distances.get(row))
            else {
                continue;
            };
            if previous_distance < distance {
                continue;
            }
            if previous_distance > distance {
                out.count_notice_with_sample(&DECREASING, |sample| {
                    set_shape_point_fields(feed, prev, row, sample)
                });
            } else if place(prev) == place(row) {
                out.count_notice_with_sample(&EQUAL_SAME, |sample| {
                    set_shape_point_fields(feed, prev, row, sample)
                });
            } else {
                let meters = haversine_distance_m(place(row), place(prev));
                let kind = if meters >= APART_METERS { &EQUAL_APART } else { &EQUAL_NEAR };
                if meters > 0.0 {
                    out.count_notice_with_sample(kind, |sample| {
                        set_shape_point_fields(feed, prev, row, sample);
                        sample.set_field("actualDistanceBetweenShapePoints", meters);
                    });
                }
            }
        }
    }
}

fn set_shape_point_fields(feed: &GtfsFeed, prev: u32, row: u32, sample: &mut NoticeSample) {
    let shapes = feed.table(GtfsFile::Shapes);
    let distances = shapes.float_column("shape_dist_traveled");
    let sequences = shapes.number_column("shape_pt_sequence");
    sample.set_field("shapeId", shapes.text_column("shape_id").get(row));
    sample.set_field("csvRowNumber", shapes.line_number(row));
    sample.set_field("shapeDistTraveled", distances.get(row));
    sample.set_field("shapePtSequence", sequences.get(row));
    sample.set_field("prevCsvRowNumber", shapes.line_number(prev));
    sample.set_field("prevShapeDistTraveled", distances.get(prev));
    sample.set_field("prevShapePtSequence", sequences.get(prev));
}
