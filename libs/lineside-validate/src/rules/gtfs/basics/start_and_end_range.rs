//! Spans of time that end before they begin, or at once.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File},
    notice::{Kind, Sample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&EQUAL, &OUT_OF_ORDER], files: &[], check };

static EQUAL: Kind = Kind {
    code: "start_and_end_range_equal",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("entityId", "The row's id, if the file has one."),
        ("startFieldName", "The field of the beginning."),
        ("endFieldName", "The field of the end."),
        ("value", "The value of both."),
    ],
    page: include_str!("start_and_end_range_equal.md"),
};

static OUT_OF_ORDER: Kind = Kind {
    code: "start_and_end_range_out_of_order",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("entityId", "The row's id, if the file has one."),
        ("startFieldName", "The field of the beginning."),
        ("startValue", "The beginning."),
        ("endFieldName", "The field of the end."),
        ("endValue", "The end."),
    ],
    page: include_str!("start_and_end_range_out_of_order.md"),
};

/// A span: its file and id, its fields, whether it may be empty, and how its values are written.
type Span = (File, Option<&'static str>, &'static str, &'static str, bool, fn(i32) -> String);

const SPANS: [Span; 5] = [
    (File::Calendar, Some("service_id"), "start_date", "end_date", true, gtfs::date_text),
    (File::FeedInfo, None, "feed_start_date", "feed_end_date", true, gtfs::date_text),
    (File::Frequencies, None, "start_time", "end_time", false, gtfs::time_text),
    (File::StopTimes, None, "arrival_time", "departure_time", true, gtfs::time_text),
    (File::Timeframes, None, "start_time", "end_time", false, gtfs::time_text),
];

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    for (file, id, start_field, end_field, may_be_equal, text) in SPANS {
        let table = feed.table(file);
        let (starts, ends) = (table.numbers(start_field), table.numbers(end_field));
        for row in table.rows() {
            let (Some(start), Some(end)) = (starts.get(row), ends.get(row)) else { continue };
            if start < end || (start == end && may_be_equal) {
                continue;
            }
            let begin = |sample: &mut Sample| {
                sample.put("filename", table.name()).put("csvRowNumber", table.line(row));
                sample.put("entityId", id.and_then(|id| table.texts(id).get(row)));
                sample.put("startFieldName", start_field).put("endFieldName", end_field);
            };
            if start > end {
                out.add(&OUT_OF_ORDER, |sample| {
                    begin(sample);
                    sample.put("startValue", text(start)).put("endValue", text(end));
                });
            } else {
                out.add(&EQUAL, |sample| {
                    begin(sample);
                    sample.put("value", text(start));
                });
            }
        }
    }
}
