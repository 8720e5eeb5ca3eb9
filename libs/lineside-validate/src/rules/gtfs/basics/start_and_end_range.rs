//! Check of time spans that end before they begin, or are empty.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&EQUAL, &OUT_OF_ORDER], files: &[], check: check_start_end_ranges };

static EQUAL: NoticeKind = NoticeKind {
    code: "start_and_end_range_equal",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("entityId", "The row's id, if the file has one."),
        ("startFieldName", "The field of the start."),
        ("endFieldName", "The field of the end."),
        ("value", "The value of both."),
    ],
    page: include_str!("start_and_end_range_equal.md"),
};

static OUT_OF_ORDER: NoticeKind = NoticeKind {
    code: "start_and_end_range_out_of_order",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("entityId", "The row's id, if the file has one."),
        ("startFieldName", "The field of the start."),
        ("startValue", "The beginning."),
        ("endFieldName", "The field of the end."),
        ("endValue", "The end."),
    ],
    page: include_str!("start_and_end_range_out_of_order.md"),
};

/// A span: its file and id, its start and end fields, a flag that allows empty spans, and the
/// format of its values.
type StartEndFields =
    (GtfsFile, Option<&'static str>, &'static str, &'static str, bool, fn(i32) -> String);

const SPANS: [StartEndFields; 5] = [
    (
        GtfsFile::Calendar,
        Some("service_id"),
        "start_date",
        "end_date",
        true,
        gtfs::format_gtfs_date,
    ),
    (GtfsFile::FeedInfo, None, "feed_start_date", "feed_end_date", true, gtfs::format_gtfs_date),
    (GtfsFile::Frequencies, None, "start_time", "end_time", false, gtfs::format_gtfs_time),
    (GtfsFile::StopTimes, None, "arrival_time", "departure_time", true, gtfs::format_gtfs_time),
    (GtfsFile::Timeframes, None, "start_time", "end_time", false, gtfs::format_gtfs_time),
];

/// O(n).
fn check_start_end_ranges(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    for (file, id, start_field, end_field, may_be_equal, text) in SPANS {
        let table = feed.table(file);
        let (starts, ends) = (table.number_column(start_field), table.number_column(end_field));
        for row in table.row_numbers() {
            let (Some(start), Some(end)) = (starts.get(row), ends.get(row)) else { continue };
            if start < end || (start == end && may_be_equal) {
                continue;
            }
            let begin = |sample: &mut NoticeSample| {
                sample
                    .set_field("filename", table.file_name())
                    .set_field("csvRowNumber", table.line_number(row));
                sample.set_field("entityId", id.and_then(|id| table.text_column(id).get(row)));
                sample
                    .set_field("startFieldName", start_field)
                    .set_field("endFieldName", end_field);
            };
            if start > end {
                out.count_notice_with_sample(&OUT_OF_ORDER, |sample| {
                    begin(sample);
                    sample.set_field("startValue", text(start)).set_field("endValue", text(end));
                });
            } else {
                out.count_notice_with_sample(&EQUAL, |sample| {
                    begin(sample);
                    sample.set_field("value", text(start));
                });
            }
        }
    }
}
