//! Schedules that have not begun.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, date_text, day_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::FeedInfo], check };

static KIND: Kind = Kind {
    code: "future_feed",
    severity: Severity::Info,
    fields: &[("feedStartDate", "The first day of the schedule."), ("currentDate", "Today.")],
    page: include_str!("future_feed.md"),
};

/// O(n).
fn check(feed: &Feed, context: &Context, out: &mut Notices) {
    let table = feed.table(File::FeedInfo);
    let starts = table.numbers("feed_start_date");
    let today = day_of(context.today);
    if let Some(start) = table.rows().filter_map(|row| starts.get(row)).min()
        && start > today
    {
        out.add(&KIND, |sample| {
            sample.put("feedStartDate", date_text(start)).put("currentDate", date_text(today));
        });
    }
}
