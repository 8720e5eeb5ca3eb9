//! Checks of trips with no stop times or a single one.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&UNUSABLE, &UNUSED],
    files: &[GtfsFile::Trips, GtfsFile::StopTimes],
    check: check_trip_use,
};

const FIELDS: &[(&str, &str)] =
    &[("csvRowNumber", "The line of the row."), ("tripId", "The trip.")];

static UNUSABLE: NoticeKind = NoticeKind {
    code: "unusable_trip",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("unusable_trip.md"),
};

static UNUSED: NoticeKind = NoticeKind {
    code: "unused_trip",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("unused_trip.md"),
};

/// O(n).
fn check_trip_use(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let trips = feed.table(GtfsFile::Trips);
    let ids = trips.text_column("trip_id");
    let stop_time_ids = feed.table(GtfsFile::StopTimes).text_column("trip_id");
    let stop_times = feed.row_groups(GtfsFile::StopTimes, "trip_id");
    let to_stop_times = feed.row_link(GtfsFile::Trips, "trip_id", GtfsFile::StopTimes, "trip_id");
    let mut seen = vec![false; ids.count_codes()];
    for row in trips.rows() {
        let Some(id) = ids.code_of_row(row) else { continue };
        let code = to_stop_times.row_of_code(id).and_then(|row| stop_time_ids.code_of_row(row));
        let n_stops = code.map_or(0, |code| stop_times.rows_of_code(code).len());
        if n_stops <= 1 {
            out.add_notice(&UNUSABLE, |sample| {
                sample
                    .set_field("csvRowNumber", trips.line_number(row))
                    .set_field("tripId", ids.text_of_code(id));
            });
        }
        // Duplicate ids are reported elsewhere.
        if n_stops == 0 && !seen[id as usize] {
            out.add_notice(&UNUSED, |sample| {
                sample
                    .set_field("csvRowNumber", trips.line_number(row))
                    .set_field("tripId", ids.text_of_code(id));
            });
        }
        seen[id as usize] = true;
    }
}
