//! Check of locations whose type requires or forbids a parent.

use super::{
    GtfsRule,
    locations::{
        BOARDING_AREA, ENTRANCE, GENERIC_NODE, LINE, LOCATION_TYPE, LocationHierarchy, PARENT,
        STATION, STOP, STOP_ID, STOP_NAME, set_stop_fields,
    },
};
use crate::{
    Notices, ValidationContext,
    gtfs::GtfsFeed,
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&WITHOUT_PARENT, &PLATFORM, &STATION_WITH_PARENT],
    files: &[],
    check: check_location_types,
};

static WITHOUT_PARENT: NoticeKind = NoticeKind {
    code: "location_without_parent_station",
    severity: Severity::Error,
    fields: &[LINE, STOP_ID, STOP_NAME, LOCATION_TYPE],
    page: include_str!("location_without_parent_station.md"),
};

static PLATFORM: NoticeKind = NoticeKind {
    code: "platform_without_parent_station",
    severity: Severity::Info,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("platform_without_parent_station.md"),
};

static STATION_WITH_PARENT: NoticeKind = NoticeKind {
    code: "station_with_parent_station",
    severity: Severity::Error,
    fields: &[LINE, STOP_ID, STOP_NAME, PARENT],
    page: include_str!("station_with_parent_station.md"),
};

/// O(stops).
fn check_location_types(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let platforms = stops.table.text_column("platform_code");
    for row in stops.table.row_numbers() {
        let kind = match (stops.location_type(row), stops.parents.text_code_of_row(row).is_some()) {
            (STATION, true) => &STATION_WITH_PARENT,
            // A stop with a platform code is part of something.
            (STOP, false) if platforms.text_code_of_row(row).is_some() => &PLATFORM,
            (ENTRANCE | GENERIC_NODE | BOARDING_AREA, false) => &WITHOUT_PARENT,
            _ => continue,
        };
        out.count_notice_with_sample(kind, |sample| {
            set_stop_fields(sample, stops.table, row);
            if kind.code == WITHOUT_PARENT.code {
                sample.set_field("locationType", stops.location_type(row));
            }
            sample.set_field("parentStation", stops.parents.get(row));
        });
    }
}
