//! Zones that claim to lie at one point of a shape.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
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
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    let (groups, zones) = (table.texts("location_group_id"), table.texts("location_id"));
    if !table.has("shape_dist_traveled") || (groups.n_codes() == 0 && zones.n_codes() == 0) {
        return;
    }
    let (stops, distances) = (table.texts("stop_id"), table.floats("shape_dist_traveled"));
    for row in table.rows() {
        let is_area = groups.code(row).is_some() || zones.code(row).is_some();
        let Some(distance) = distances.get(row) else { continue };
        if is_area && stops.code(row).is_none() {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("tripId", table.texts("trip_id").get(row));
                sample.put("locationGroupId", groups.get(row)).put("locationId", zones.get(row));
                sample.put("shapeDistTraveled", distance);
            });
        }
    }
}
