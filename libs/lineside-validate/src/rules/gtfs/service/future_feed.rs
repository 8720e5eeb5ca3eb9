//! Check of schedules that are not valid yet.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, day_number_from_date, format_gtfs_date},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::FeedInfo], check: check_future_feed };

static KIND: NoticeKind = NoticeKind {
    code: "future_feed",
    severity: Severity::Info,
    fields: &[("feedStartDate", "The first day of the schedule."), ("currentDate", "Today.")],
    page: include_str!("future_feed.md"),
};

/// O(n).
fn check_future_feed(feed: &GtfsFeed, context: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FeedInfo);
    let starts = table.number_column("feed_start_date");
    let today = day_number_from_date(context.today);
    if let Some(start) = table.row_numbers().filter_map(|row| starts.get(row)).min()
        && start > today
    {
        out.count_notice_with_sample(&KIND, |sample| {
            sample
                .set_field("feedStartDate", format_gtfs_date(start))
                .set_field("currentDate", format_gtfs_date(today));
        });
    }
}
