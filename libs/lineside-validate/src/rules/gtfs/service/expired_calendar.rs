//! Services that have run for the last time.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, day_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Calendar, File::CalendarDates], check };

static KIND: Kind = Kind {
    code: "expired_calendar",
    severity: Severity::Warning,
    fields: &[
        (
            "csvRowNumber",
            "The line of the service in calendar.txt; without that file, its first in calendar_dates.txt.",
        ),
        ("serviceId", "The service."),
    ],
    page: include_str!("expired_calendar.md"),
};

/// O(days).
fn check(feed: &Feed, context: &Context, out: &mut Notices) {
    let (calendar, dates) = (feed.table(File::Calendar), feed.table(File::CalendarDates));
    let today = day_of(context.today);
    let services = feed.services();
    let is_over = |day: i32| day < today;
    // Days that are listed one by one pile up behind those to come, and nobody takes them out. Only
    // a schedule of which nothing is left is worth a word.
    if calendar.is_empty() && !services.iter().filter_map(|service| service.last_day()).all(is_over)
    {
        return;
    }
    let table = if calendar.is_empty() { dates } else { calendar };
    let ids = table.texts("service_id");
    for service in services.iter().filter(|service| service.last_day().is_some_and(is_over)) {
        let row = if calendar.is_empty() { service.dates_row() } else { service.calendar_row() };
        let Some(row) = row else { continue };
        out.add(&KIND, |sample| {
            sample.put("csvRowNumber", table.line(row)).put("serviceId", ids.get(row));
        });
    }
}
