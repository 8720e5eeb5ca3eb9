//! Checks of schedules that end soon according to `feed_info.txt`.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, day_number_from_date, format_gtfs_date},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&WEEK, &MONTH], files: &[], check: check_feed_expiration };

const FIELDS: &[(&str, &str)] = &[
    ("csvRowNumber", "The line of the row."),
    ("currentDate", "Today."),
    ("feedEndDate", "The last day of the schedule."),
    ("suggestedExpirationDate", "The earliest acceptable last day."),
];

static WEEK: NoticeKind = NoticeKind {
    code: "feed_expiration_date7_days",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("feed_expiration_date7_days.md"),
};

static MONTH: NoticeKind = NoticeKind {
    code: "feed_expiration_date30_days",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("feed_expiration_date30_days.md"),
};

/// The days for which a schedule should still be valid, as the GTFS best practices recommend; the
/// shorter span first.
const SPANS: [(&NoticeKind, i32); 2] = [(&WEEK, 7), (&MONTH, 30)];

/// O(n).
fn check_feed_expiration(feed: &GtfsFeed, context: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FeedInfo);
    let ends = table.number_column("feed_end_date");
    let today = day_number_from_date(context.today);
    for row in table.row_numbers() {
        let Some(end) = ends.get(row) else { continue };
        if let Some((kind, days)) = SPANS.into_iter().find(|(_, days)| end < today + days) {
            out.count_notice_with_sample(kind, |sample| {
                sample
                    .set_field("csvRowNumber", table.line_number(row))
                    .set_field("currentDate", format_gtfs_date(today));
                sample.set_field("feedEndDate", format_gtfs_date(end));
                sample.set_field("suggestedExpirationDate", format_gtfs_date(today + days));
            });
        }
    }
}
