//! Checks of services with weeks without service, and of services that extend for years.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, date_from_day_number, day_number_from_date},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&GAP, &FAR],
    files: &[GtfsFile::Calendar, GtfsFile::CalendarDates],
    check: check_service_gaps_and_length,
};

static GAP: NoticeKind = NoticeKind {
    code: "big_gap_in_service",
    severity: Severity::Info,
    fields: &[
        ("serviceId", "The service."),
        ("gapStartDate", "The last day on which it runs before the gap."),
        ("gapEndDate", "The first day on which it runs after the gap."),
        ("gapDurationDays", "The length of the gap, in days."),
    ],
    page: include_str!("big_gap_in_service.md"),
};

static FAR: NoticeKind = NoticeKind {
    code: "service_extends_far_in_the_future",
    severity: Severity::Info,
    fields: &[
        ("serviceId", "The service."),
        ("serviceWindowEndDate", "The last day on which it runs."),
    ],
    page: include_str!("service_extends_far_in_the_future.md"),
};

/// The longest run of days without service that is usual: holidays.
const GAP_DAYS_MAX: i32 = 13;
/// The largest number of days from today for which a service is plausible.
const AHEAD_DAYS_MAX: i32 = 2 * 365;

/// O(days of the services). Only services of `calendar.txt` count: single dates are far apart on
/// purpose.
fn check_service_gaps_and_length(feed: &GtfsFeed, context: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Calendar);
    let ids = table.text_column("service_id");
    let services = feed.service_calendar();
    if services.has_backward_period() {
        return;
    }
    let today = day_number_from_date(context.today);
    for code in table.row_numbers().filter_map(|row| ids.text_code_of_row(row)) {
        let Some(service) = services.service_for_calendar_code(code) else { continue };
        let Some(mut last) = service.first_day() else { continue };
        for day in service.active_days() {
            let gap = day - last - 1;
            if gap > GAP_DAYS_MAX {
                out.count_notice_with_sample(&GAP, |sample| {
                    sample.set_field("serviceId", ids.text_of_code(code));
                    sample.set_field("gapStartDate", date_from_day_number(last).to_string());
                    sample.set_field("gapEndDate", date_from_day_number(day).to_string());
                    sample.set_field("gapDurationDays", gap);
                });
            }
            last = day;
        }
        if last - today > AHEAD_DAYS_MAX {
            out.count_notice_with_sample(&FAR, |sample| {
                sample.set_field("serviceId", ids.text_of_code(code));
                sample.set_field("serviceWindowEndDate", date_from_day_number(last).to_string());
            });
        }
    }
}
