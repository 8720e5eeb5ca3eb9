//! Checks of parents of the wrong type, and of stations without children.

use super::{
    GtfsRule,
    locations::{
        BOARDING_AREA, ENTRANCE, GENERIC_NODE, LINE, LOCATION_TYPE, LocationHierarchy, PARENT,
        STATION, STOP, STOP_ID, STOP_NAME, set_stop_fields,
    },
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&WRONG_PARENT, &UNUSED],
    files: &[GtfsFile::Stops],
    check: check_parent_stations,
};

static WRONG_PARENT: NoticeKind = NoticeKind {
    code: "wrong_parent_location_type",
    severity: Severity::Error,
    fields: &[
        LINE,
        STOP_ID,
        STOP_NAME,
        LOCATION_TYPE,
        ("parentCsvRowNumber", "The line of the parent."),
        PARENT,
        ("parentStopName", "The parent's name."),
        ("parentLocationType", "The location type of the parent."),
        ("expectedLocationType", "The required location type of the parent."),
    ],
    page: include_str!("wrong_parent_location_type.md"),
};

static UNUSED: NoticeKind = NoticeKind {
    code: "unused_station",
    severity: Severity::Info,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("unused_station.md"),
};

/// O(stops).
fn check_parent_stations(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let mut has_stops = vec![false; stops.table.len() as usize];
    for row in stops.table.row_numbers() {
        let location_type = stops.location_type(row);
        let Some(parent) = stops.parent_row(row).filter(|_| location_type != STATION) else {
            continue;
        };
        has_stops[parent as usize] |= location_type == STOP;
        let expected = match location_type {
            STOP | ENTRANCE | GENERIC_NODE => STATION,
            BOARDING_AREA => STOP,
            _ => continue,
        };
        if stops.location_type(parent) != expected {
            out.count_notice_with_sample(&WRONG_PARENT, |sample| {
                set_stop_fields(sample, stops.table, row).set_field("locationType", location_type);
                sample.set_field("parentCsvRowNumber", stops.table.line_number(parent));
                sample.set_field("parentStation", stops.parents.get(row));
                sample
                    .set_field("parentStopName", stops.table.text_column("stop_name").get(parent));
                sample.set_field("parentLocationType", stops.location_type(parent));
                sample.set_field("expectedLocationType", expected);
            });
        }
    }
    for row in stops.table.row_numbers().filter(|&row| stops.location_type(row) == STATION) {
        // Rows with the same id are one station.
        let first = stops.first_row_of_id(row).unwrap_or(row);
        if !std::mem::replace(&mut has_stops[first as usize], true) {
            out.count_notice_with_sample(&UNUSED, |sample| {
                set_stop_fields(sample, stops.table, first);
            });
        }
    }
}
