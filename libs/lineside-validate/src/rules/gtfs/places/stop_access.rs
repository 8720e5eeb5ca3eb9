//! Checks of `stop_access` on locations that are not stops, or not part of a station.

use super::{
    GtfsRule,
    locations::{
        LINE, LOCATION_TYPE, LocationHierarchy, STOP, STOP_ID, STOP_NAME,
        location_type_report_name, set_stop_fields,
    },
};
use crate::{
    Notices, ValidationContext,
    gtfs::GtfsFeed,
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&NO_STOP, &NO_PARENT], files: &[], check: check_stop_access };

const FIELDS: &[(&str, &str)] =
    &[LINE, STOP_ID, STOP_NAME, ("stopAccess", "The value of `stop_access`."), LOCATION_TYPE];

static NO_STOP: NoticeKind = NoticeKind {
    code: "stop_access_specified_for_incorrect_location",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("stop_access_specified_for_incorrect_location.md"),
};

static NO_PARENT: NoticeKind = NoticeKind {
    code: "stop_access_specified_for_stop_with_no_parent_station",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("stop_access_specified_for_stop_with_no_parent_station.md"),
};

/// O(stops).
fn check_stop_access(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    if !stops.table.has_column("stop_access") {
        return;
    }
    let access = stops.table.number_column("stop_access");
    for row in stops.table.row_numbers() {
        let Some(access) = access.get(row) else { continue };
        let kind = match (stops.location_type(row), stops.parents.text_code_of_row(row)) {
            (STOP, Some(_)) => continue,
            (STOP, None) => &NO_PARENT,
            _ => &NO_STOP,
        };
        out.count_notice_with_sample(kind, |sample| {
            set_stop_fields(sample, stops.table, row)
                .set_field("stopAccess", stop_access_report_name(access));
            sample.set_field("locationType", location_type_report_name(stops.location_type(row)));
        });
    }
}

fn stop_access_report_name(access: i32) -> &'static str {
    match access {
        0 => "ACCESSIBLE_VIA_PATHWAYS",
        1 => "NOT_ACCESSIBLE_VIA_PATHWAYS",
        _ => "UNRECOGNIZED",
    }
}
