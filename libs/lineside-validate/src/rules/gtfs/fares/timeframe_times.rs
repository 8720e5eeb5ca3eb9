//! Check of timeframes with only one of both times, or with a time after midnight.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&HALF, &BEYOND], files: &[], check: check_timeframe_times };

static HALF: NoticeKind = NoticeKind {
    code: "timeframe_only_start_or_end_time_specified",
    severity: Severity::Error,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("timeframe_only_start_or_end_time_specified.md"),
};

static BEYOND: NoticeKind = NoticeKind {
    code: "timeframe_start_or_end_time_greater_than_twenty_four_hours",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("fieldName", "The field of the time."),
        ("time", "The time."),
    ],
    page: include_str!("timeframe_start_or_end_time_greater_than_twenty_four_hours.md"),
};

/// The end of the day, in seconds. Timeframes use local days, which end at midnight.
const MIDNIGHT: i32 = 24 * 3_600;

/// O(n).
fn check_timeframe_times(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Timeframes);
    let (starts, ends) = (table.number_column("start_time"), table.number_column("end_time"));
    for row in table.row_numbers() {
        let (start, end) = (starts.get(row), ends.get(row));
        if start.is_some() != end.is_some() {
            out.count_notice_with_sample(&HALF, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
            });
        }
        for (field, time) in [("start_time", start), ("end_time", end)] {
            let Some(time) = time.filter(|&time| time > MIDNIGHT) else { continue };
            out.count_notice_with_sample(&BEYOND, |sample| {
                sample
                    .set_field("csvRowNumber", table.line_number(row))
                    .set_field("fieldName", field);
                sample.set_field("time", gtfs::format_gtfs_time(time));
            });
        }
    }
}
