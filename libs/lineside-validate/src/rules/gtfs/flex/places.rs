//! Check that a stop time has exactly one stop, group of stops or zone.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, simple::MISSING_REQUIRED_FIELD},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_exactly_one_location };

static KIND: NoticeKind = NoticeKind {
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
fn check_exactly_one_location(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    const FIELDS: [&str; 3] = ["stop_id", "location_group_id", "location_id"];
    let table = feed.table(GtfsFile::StopTimes);
    if !FIELDS.iter().any(|field| table.has_column(field)) {
        return;
    }
    let places = FIELDS.map(|field| table.text_column(field));
    for row in table.row_numbers() {
        match places.iter().filter(|place| place.text_code_of_row(row).is_some()).count() {
            1 => {}
            0 => out.count_notice_with_sample(&MISSING_REQUIRED_FIELD, |sample| {
                sample
                    .set_field("filename", table.file_name())
                    .set_field("csvRowNumber", table.line_number(row));
                sample.set_field("fieldName", FIELDS[0]);
            }),
            _ => out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("stopId", places[0].get(row));
                sample.set_field("locationGroupId", places[1].get(row));
                sample.set_field("locationId", places[2].get(row));
            }),
        }
    }
}
