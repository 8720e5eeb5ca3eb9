//! Checks of the days with service against today and against the period of `feed_info.txt`.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, date_from_day_number, day_number_from_date},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&FUTURE, &OUTSIDE, &BEYOND],
    files: &[GtfsFile::Calendar, GtfsFile::CalendarDates, GtfsFile::FeedInfo, GtfsFile::Trips],
    check: check_service_window,
};

static FUTURE: NoticeKind = NoticeKind {
    code: "future_calendar",
    severity: Severity::Info,
    fields: &[
        ("minServiceStartDate", "The first day on which a service runs."),
        ("currentDate", "Today."),
    ],
    page: include_str!("future_calendar.md"),
};

static OUTSIDE: NoticeKind = NoticeKind {
    code: "service_window_outside_feed_period",
    severity: Severity::Info,
    fields: &[
        ("serviceId", "The service."),
        ("serviceWindowStartDate", "The first day on which it runs."),
        ("serviceWindowEndDate", "The last day on which it runs."),
        (
            "daysBeforeFeedStart",
            "The number of days from the start of the service to the start of the schedule.",
        ),
        (
            "daysAfterFeedEnd",
            "The number of days from the end of the schedule to the end of the service.",
        ),
    ],
    page: include_str!("service_window_outside_feed_period.md"),
};

static BEYOND: NoticeKind = NoticeKind {
    code: "feed_valid_beyond_total_service_window",
    severity: Severity::Info,
    fields: &[
        ("feedStartDate", "The first day of the schedule."),
        ("feedEndDate", "The last day of the schedule."),
        ("serviceWindowStartDate", "The first day on which a service runs."),
        ("serviceWindowEndDate", "The last day on which a service runs."),
    ],
    page: include_str!("feed_valid_beyond_total_service_window.md"),
};

/// The days that a feed's period may extend before and after all service.
const SPARE_DAYS: i32 = 14;

/// O(services). Only services with trips count.
fn check_service_window(feed: &GtfsFeed, context: &ValidationContext, out: &mut Notices) {
    let services = feed.service_calendar();
    if services.has_backward_period() {
        return;
    }
    let ids = feed.table(GtfsFile::Trips).text_column("service_id");
    let window = |code| {
        let service = services.get(services.service_number_for_trips_code(code)?)?;
        Some((code, service.first_day()?, service.last_day()?))
    };
    let used = feed.rows_grouped_by_field(GtfsFile::Trips, "service_id");
    let windows: Vec<_> = used.iter().filter_map(|(code, _)| window(code)).collect();
    let first = windows.iter().map(|(_, start, _)| *start).min();
    let last = windows.iter().map(|(_, _, end)| *end).max();
    let (Some(first), Some(last)) = (first, last) else { return };
    let today = day_number_from_date(context.today);
    if first > today {
        out.count_notice_with_sample(&FUTURE, |sample| {
            sample
                .set_field("minServiceStartDate", format_iso_date(first))
                .set_field("currentDate", format_iso_date(today));
        });
    }
    let info = feed.table(GtfsFile::FeedInfo);
    let feed_start = info.number_column("feed_start_date").get(0);
    let feed_end = info.number_column("feed_end_date").get(0);
    let (Some(feed_start), Some(feed_end)) = (feed_start, feed_end) else { return };
    for (code, start, end) in windows {
        let (before, after) = ((feed_start - start).max(0), (end - feed_end).max(0));
        if before == 0 && after == 0 {
            continue;
        }
        out.count_notice_with_sample(&OUTSIDE, |sample| {
            sample.set_field("serviceId", ids.text_of_code(code));
            sample.set_field("serviceWindowStartDate", format_iso_date(start));
            sample.set_field("serviceWindowEndDate", format_iso_date(end));
            sample.set_field("daysBeforeFeedStart", before).set_field("daysAfterFeedEnd", after);
        });
    }
    if feed_start < first - SPARE_DAYS || feed_end > last + SPARE_DAYS {
        out.count_notice_with_sample(&BEYOND, |sample| {
            sample
                .set_field("feedStartDate", format_iso_date(feed_start))
                .set_field("feedEndDate", format_iso_date(feed_end));
            sample.set_field("serviceWindowStartDate", format_iso_date(first));
            sample.set_field("serviceWindowEndDate", format_iso_date(last));
        });
    }
}

/// Formats a day as `YYYY-MM-DD`, as in the reports of these rules.
fn format_iso_date(day: i32) -> String {
    date_from_day_number(day).to_string()
}
