//! Check of stops without coordinates.

use super::{
    GtfsRule,
    locations::{
        ENTRANCE, LINE, LOCATION_TYPE, LocationHierarchy, STATION, STOP, STOP_ID,
        location_type_report_name,
    },
};
use crate::{
    Notices, ValidationContext,
    gtfs::GtfsFeed,
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_stop_locations };

static KIND: NoticeKind = NoticeKind {
    code: "stop_without_location",
    severity: Severity::Error,
    fields: &[LINE, LOCATION_TYPE, STOP_ID],
    page: include_str!("stop_without_location.md"),
};

/// O(stops).
fn check_stop_locations(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let (lat, lon) = (stops.table.float_column("stop_lat"), stops.table.float_column("stop_lon"));
    for row in stops.table.row_numbers() {
        let location_type = stops.location_type(row);
        let is_placed = lat.get(row).is_some() && lon.get(row).is_some();
        if matches!(location_type, STOP | STATION | ENTRANCE) && !is_placed {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", stops.table.line_number(row));
                sample.set_field("locationType", location_type_report_name(location_type));
                sample.set_field("stopId", stops.ids.get(row));
            });
        }
    }
}
