//! Where a stop time takes place: at one stop, in one group of stops or in one zone.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, simple::MISSING_REQUIRED_FIELD},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "forbidden_geography_id",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the stop time."),
        ("stopId", "The stop."),
        ("locationGroupId", "The group of stops."),
        ("locationId", "The zone."),
    ],
    page: include_str!("forbidden_geography_id.md"),
};

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    const FIELDS: [&str; 3] = ["stop_id", "location_group_id", "location_id"];
    let table = feed.table(File::StopTimes);
    if !FIELDS.iter().any(|field| table.has(field)) {
        return;
    }
    let places = FIELDS.map(|field| table.texts(field));
    for row in table.rows() {
        match places.iter().filter(|place| place.code(row).is_some()).count() {
            1 => {}
            0 => out.add(&MISSING_REQUIRED_FIELD, |sample| {
                sample.put("filename", table.name()).put("csvRowNumber", table.line(row));
                sample.put("fieldName", FIELDS[0]);
            }),
            _ => out.add(&KIND, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("stopId", places[0].get(row));
                sample.put("locationGroupId", places[1].get(row));
                sample.put("locationId", places[2].get(row));
            }),
        }
    }
}
