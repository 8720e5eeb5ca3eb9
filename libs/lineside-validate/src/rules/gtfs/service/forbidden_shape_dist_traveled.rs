//! Check of zones and groups with a distance along the shape.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_forbidden_shape_distances };

static KIND: NoticeKind = NoticeKind {
    code: "forbidden_shape_dist_traveled",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("locationGroupId", "The group of stops, if the row has one."),
        ("locationId", "The zone, if the row has one."),
        ("shapeDistTraveled", "The distance."),
    ],
    page: include_str!("forbidden_shape_dist_traveled.md"),
};

/// O(n).
fn check_forbidden_shape_distances(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    let (groups, zones) =
        (table.text_column("location_group_id"), table.text_column("location_id"));
    if !table.has_column("shape_dist_traveled")
        || (groups.text_code_count() == 0 && zones.text_code_count() == 0)
    {
        return;
    }
    let (stops, distances) =
        (table.text_column("stop_id"), table.float_column("shape_dist_traveled"));
    for row in table.row_numbers() {
        let is_area =
            groups.text_code_of_row(row).is_some() || zones.text_code_of_row(row).is_some();
        let Some(distance) = distances.get(row) else { continue };
        if is_area && stops.text_code_of_row(row).is_none() {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("tripId", table.text_column("trip_id").get(row));
                sample
                    .set_field("locationGroupId", groups.get(row))
                    .set_field("locationId", zones.get(row));
                sample.set_field("shapeDistTraveled", distance);
            });
        }
    }
}
