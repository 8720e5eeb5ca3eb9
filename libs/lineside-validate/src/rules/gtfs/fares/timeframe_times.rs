//! Timeframes with half a span, or beyond the day.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&HALF, &BEYOND], files: &[], check };

static HALF: Kind = Kind {
    code: "timeframe_only_start_or_end_time_specified",
    severity: Severity::Error,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("timeframe_only_start_or_end_time_specified.md"),
};

static BEYOND: Kind = Kind {
    code: "timeframe_start_or_end_time_greater_than_twenty_four_hours",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("fieldName", "The field of the time."),
        ("time", "The time."),
    ],
    page: include_str!("timeframe_start_or_end_time_greater_than_twenty_four_hours.md"),
};

/// The end of the day, in seconds; days in timeframes are local ones, which end at midnight.
const MIDNIGHT: i32 = 24 * 3_600;

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Timeframes);
    let (starts, ends) = (table.numbers("start_time"), table.numbers("end_time"));
    for row in table.rows() {
        let (start, end) = (starts.get(row), ends.get(row));
        if start.is_some() != end.is_some() {
            out.add(&HALF, |sample| {
                sample.put("csvRowNumber", table.line(row));
            });
        }
        for (field, time) in [("start_time", start), ("end_time", end)] {
            let Some(time) = time.filter(|&time| time > MIDNIGHT) else { continue };
            out.add(&BEYOND, |sample| {
                sample.put("csvRowNumber", table.line(row)).put("fieldName", field);
                sample.put("time", gtfs::time_text(time));
            });
        }
    }
}
