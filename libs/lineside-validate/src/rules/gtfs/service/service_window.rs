//! The days on which anything runs, beside today and the days that the schedule claims to cover.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, date_of, day_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&FUTURE, &OUTSIDE, &BEYOND],
    files: &[File::Calendar, File::CalendarDates, File::FeedInfo, File::Trips],
    check,
};

static FUTURE: Kind = Kind {
    code: "future_calendar",
    severity: Severity::Info,
    fields: &[
        ("minServiceStartDate", "The first day on which a service runs."),
        ("currentDate", "Today."),
    ],
    page: include_str!("future_calendar.md"),
};

static OUTSIDE: Kind = Kind {
    code: "service_window_outside_feed_period",
    severity: Severity::Info,
    fields: &[
        ("serviceId", "The service."),
        ("serviceWindowStartDate", "The first day on which it runs."),
        ("serviceWindowEndDate", "The last day on which it runs."),
        ("daysBeforeFeedStart", "How many days before the schedule it begins."),
        ("daysAfterFeedEnd", "How many days after the schedule it ends."),
    ],
    page: include_str!("service_window_outside_feed_period.md"),
};

static BEYOND: Kind = Kind {
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

/// How many days a schedule may go on before and after all service.
const SPARE_DAYS: i32 = 14;

/// O(services). Only services with trips count.
fn check(feed: &Feed, context: &Context, out: &mut Notices) {
    let services = feed.services();
    if services.has_backward_period() {
        return;
    }
    let ids = feed.table(File::Trips).texts("service_id");
    let window = |code| {
        let service = services.get(services.of_trips(code)?)?;
        Some((code, service.first_day()?, service.last_day()?))
    };
    let used = feed.groups(File::Trips, "service_id");
    let windows: Vec<_> = used.iter().filter_map(|(code, _)| window(code)).collect();
    let first = windows.iter().map(|(_, start, _)| *start).min();
    let last = windows.iter().map(|(_, _, end)| *end).max();
    let (Some(first), Some(last)) = (first, last) else { return };
    let today = day_of(context.today);
    if first > today {
        out.add(&FUTURE, |sample| {
            sample.put("minServiceStartDate", text(first)).put("currentDate", text(today));
        });
    }
    let info = feed.table(File::FeedInfo);
    let feed_start = info.numbers("feed_start_date").get(0);
    let feed_end = info.numbers("feed_end_date").get(0);
    let (Some(feed_start), Some(feed_end)) = (feed_start, feed_end) else { return };
    for (code, start, end) in windows {
        let (before, after) = ((feed_start - start).max(0), (end - feed_end).max(0));
        if before == 0 && after == 0 {
            continue;
        }
        out.add(&OUTSIDE, |sample| {
            sample.put("serviceId", ids.text(code));
            sample.put("serviceWindowStartDate", text(start));
            sample.put("serviceWindowEndDate", text(end));
            sample.put("daysBeforeFeedStart", before).put("daysAfterFeedEnd", after);
        });
    }
    if feed_start < first - SPARE_DAYS || feed_end > last + SPARE_DAYS {
        out.add(&BEYOND, |sample| {
            sample.put("feedStartDate", text(feed_start)).put("feedEndDate", text(feed_end));
            sample.put("serviceWindowStartDate", text(first));
            sample.put("serviceWindowEndDate", text(last));
        });
    }
}

/// `YYYY-MM-DD`, as the reports write these.
fn text(day: i32) -> String {
    date_of(day).to_string()
}
