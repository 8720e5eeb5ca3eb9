//! Check of overlapping frequencies of one trip.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, format_gtfs_time},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::Frequencies], check: check_frequency_overlaps };

static KIND: NoticeKind = NoticeKind {
    code: "overlapping_frequency",
    severity: Severity::Error,
    fields: &[
        ("prevCsvRowNumber", "The line of the row that begins first."),
        ("prevEndTime", "The end."),
        ("currCsvRowNumber", "The line of the row that begins before that."),
        ("currStartTime", "The start."),
        ("tripId", "The trip."),
    ],
    page: include_str!("overlapping_frequency.md"),
};

/// O(n log n).
fn check_frequency_overlaps(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Frequencies);
    let (starts, ends) = (table.number_column("start_time"), table.number_column("end_time"));
    let (headways, ids) = (table.number_column("headway_secs"), table.text_column("trip_id"));
    let mut sorted = Vec::new();
    for (code, rows) in feed.rows_grouped_by_field(GtfsFile::Frequencies, "trip_id").iter() {
        sorted.clear();
        sorted.extend(rows.iter().filter_map(|&row| {
            Some((starts.get(row)?, ends.get(row)?, headways.cell_value_or(row, 0), row))
        }));
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            let [(_, end, _, one), (start, _, _, other)] = *pair else { continue };
            if start < end {
                out.count_notice_with_sample(&KIND, |sample| {
                    sample.set_field("prevCsvRowNumber", table.line_number(one));
                    sample.set_field("prevEndTime", format_gtfs_time(end));
                    sample.set_field("currCsvRowNumber", table.line_number(other));
                    sample
                        .set_field("currStartTime", format_gtfs_time(start))
                        .set_field("tripId", ids.text_of_code(code));
                });
            }
        }
    }
}
