//! Checks of stop times without `timepoint`, and of timepoints without times.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&NO_VALUE, &NO_TIMES],
    files: &[GtfsFile::StopTimes],
    check: check_timepoints,
};

static NO_VALUE: NoticeKind = NoticeKind {
    code: "missing_timepoint_value",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("stopSequence", "The position in the trip."),
    ],
    page: include_str!("missing_timepoint_value.md"),
};

static NO_TIMES: NoticeKind = NoticeKind {
    code: "stop_time_timepoint_without_times",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("stopSequence", "The position in the trip."),
        ("specifiedField", "The field of the missing time."),
    ],
    page: include_str!("stop_time_timepoint_without_times.md"),
};

/// The `timepoint` of exact times.
const EXACT: i32 = 1;

/// O(n).
fn check_timepoints(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    // Without the column all times are exact, as before the column was introduced.
    if !table.has_column("timepoint") {
        return;
    }
    let timepoints = table.number_column("timepoint");
    let times = ["arrival_time", "departure_time"].map(|name| (name, table.number_column(name)));
    let (trips, sequence) = (table.text_column("trip_id"), table.number_column("stop_sequence"));
    for row in table.row_numbers() {
        let begin = |sample: &mut NoticeSample| {
            sample
                .set_field("csvRowNumber", table.line_number(row))
                .set_field("tripId", trips.get(row));
            sample.set_field("stopSequence", sequence.get(row));
        };
        match timepoints.get(row) {
            None if times.iter().any(|(_, times)| times.get(row).is_some()) => {
                out.count_notice_with_sample(&NO_VALUE, begin);
            }
            Some(EXACT) => {
                for (name, _) in times.iter().filter(|(_, times)| times.get(row).is_none()) {
                    out.count_notice_with_sample(&NO_TIMES, |sample| {
                        begin(sample);
                        sample.set_field("specifiedField", *name);
                    });
                }
            }
            _ => {}
        }
    }
}
