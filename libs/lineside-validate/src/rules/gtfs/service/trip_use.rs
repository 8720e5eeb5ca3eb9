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
    check: check_trips_have_stop_times,
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
fn check_trips_have_stop_times(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let trips = feed.table(GtfsFile::Trips);
    let ids = trips.text_column("trip_id");
    let stop_time_ids = feed.table(GtfsFile::StopTimes).text_column("trip_id");
    let stop_times = feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id");
    let to_stop_times =
        feed.rows_referenced_by_field(GtfsFile::Trips, "trip_id", GtfsFile::StopTimes, "trip_id");
    let mut seen = vec![false; ids.text_code_count()];
    for row in trips.row_numbers() {
        let Some(id) = ids.text_code_of_row(row) else { continue };
        let code = to_stop_times
            .row_referenced_by_code(id)
            .and_then(|row| stop_time_ids.text_code_of_row(row));
        let n_stops = code.map_or(0, |code| stop_times.rows_with_text_code(code).len());
        if n_stops <= 1 {
            out.count_notice_with_sample(&UNUSABLE, |sample| {
                sample
                    .set_field("csvRowNumber", trips.line_number(row))
                    .set_field("tripId", ids.text_of_code(id));
            });
        }
        // Duplicate ids are reported elsewhere.
        if n_stops == 0 && !seen[id as usize] {
            out.count_notice_with_sample(&UNUSED, |sample| {
                sample
                    .set_field("csvRowNumber", trips.line_number(row))
                    .set_field("tripId", ids.text_of_code(id));
            });
        }
        seen[id as usize] = true;
    }
}
