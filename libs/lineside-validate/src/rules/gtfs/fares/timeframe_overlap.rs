//! Check of overlapping timeframes of one group and service.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::Timeframes], check: check_timeframe_overlaps };

static KIND: NoticeKind = NoticeKind {
    code: "timeframe_overlap",
    severity: Severity::Error,
    fields: &[
        ("prevCsvRowNumber", "The line of the timeframe that begins first."),
        ("prevEndTime", "The end."),
        ("currCsvRowNumber", "The line of the timeframe that begins before the first one ends."),
        ("currStartTime", "The start."),
        ("timeframeGroupId", "The group of both."),
        ("serviceId", "The service of both."),
    ],
    page: include_str!("timeframe_overlap.md"),
};

/// O(n log n): each timeframe is compared with the one that begins before it.
fn check_timeframe_overlaps(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Timeframes);
    let (groups, services) =
        (table.text_column("timeframe_group_id"), table.text_column("service_id"));
    let (starts, ends) = (table.number_column("start_time"), table.number_column("end_time"));
    let key = |row: u32| (groups.text_code_of_row(row), services.text_code_of_row(row));
    // A timeframe without times is valid all day; as an empty span it overlaps with nothing here.
    let span = |row: u32| (starts.cell_value_or(row, 0), ends.cell_value_or(row, 0));
    let mut rows: Vec<u32> = table.row_numbers().collect();
    rows.sort_by_key(|&row| (key(row), span(row)));
    for pair in rows.windows(2) {
        let &[previous, row] = pair else { continue };
        let (end, start) = (span(previous).1, span(row).0);
        if key(previous) == key(row) && start < end {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("prevCsvRowNumber", table.line_number(previous));
                sample.set_field("prevEndTime", gtfs::format_gtfs_time(end));
                sample.set_field("currCsvRowNumber", table.line_number(row));
                sample.set_field("currStartTime", gtfs::format_gtfs_time(start));
                sample.set_field("timeframeGroupId", groups.get(row));
                sample.set_field("serviceId", services.get(row));
            });
        }
    }
}
