//! Check of services that have ended.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, day_number_from_date},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Calendar, GtfsFile::CalendarDates],
    check: check_expired_calendars,
};

static KIND: NoticeKind = NoticeKind {
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
fn check_expired_calendars(feed: &GtfsFeed, context: &ValidationContext, out: &mut Notices) {
    let (calendar, dates) = (feed.table(GtfsFile::Calendar), feed.table(GtfsFile::CalendarDates));
    let today = day_number_from_date(context.today);
    let services = feed.service_calendar();
    let has_ended = |day: i32| day < today;
    // Expired single days often remain in `calendar_dates.txt`. They are reported only if no future
    // day is left.
    if calendar.is_empty()
        && !services.iter().filter_map(|service| service.last_day()).all(has_ended)
    {
        return;
    }
    let table = if calendar.is_empty() { dates } else { calendar };
    let ids = table.text_column("service_id");
    for service in services.iter().filter(|service| service.last_day().is_some_and(has_ended)) {
        let row =
            if calendar.is_empty() { service.calendar_dates_row() } else { service.calendar_row() };
        let Some(row) = row else { continue };
        out.count_notice_with_sample(&KIND, |sample| {
            sample
                .set_field("csvRowNumber", table.line_number(row))
                .set_field("serviceId", ids.get(row));
        });
    }
}
