//! Services with weeks without service, and services that go on for years.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, date_of, day_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&GAP, &FAR], files: &[File::Calendar, File::CalendarDates], check };

static GAP: Kind = Kind {
    code: "big_gap_in_service",
    severity: Severity::Info,
    fields: &[
        ("serviceId", "The service."),
        ("gapStartDate", "The last day on which it runs before the gap."),
        ("gapEndDate", "The first day on which it runs after the gap."),
        ("gapDurationDays", "How many days lie between them."),
    ],
    page: include_str!("big_gap_in_service.md"),
};

static FAR: Kind = Kind {
    code: "service_extends_far_in_the_future",
    severity: Severity::Info,
    fields: &[
        ("serviceId", "The service."),
        ("serviceWindowEndDate", "The last day on which it runs."),
    ],
    page: include_str!("service_extends_far_in_the_future.md"),
};

/// Days in a row without service that are still usual: holidays.
const GAP_DAYS_MAX: i32 = 13;
/// How many days from today on a service is planned at most.
const AHEAD_DAYS_MAX: i32 = 2 * 365;

/// O(days of the services). Only those of `calendar.txt` count: days that are listed one by one
/// stand apart on purpose.
fn check(feed: &Feed, context: &Context, out: &mut Notices) {
    let table = feed.table(File::Calendar);
    let ids = table.texts("service_id");
    let services = feed.services();
    if services.has_backward_period() {
        return;
    }
    let today = day_of(context.today);
    for code in table.rows().filter_map(|row| ids.code(row)) {
        let Some(service) = services.of_calendar(code) else { continue };
        let Some(mut last) = service.first_day() else { continue };
        for day in service.days() {
            let gap = day - last - 1;
            if gap > GAP_DAYS_MAX {
                out.add(&GAP, |sample| {
                    sample.put("serviceId", ids.text(code));
                    sample.put("gapStartDate", date_of(last).to_string());
                    sample.put("gapEndDate", date_of(day).to_string());
                    sample.put("gapDurationDays", gap);
                });
            }
            last = day;
        }
        if last - today > AHEAD_DAYS_MAX {
            out.add(&FAR, |sample| {
                sample.put("serviceId", ids.text(code));
                sample.put("serviceWindowEndDate", date_of(last).to_string());
            });
        }
    }
}
