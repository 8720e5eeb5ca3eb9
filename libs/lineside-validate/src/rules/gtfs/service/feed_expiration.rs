//! Schedules that say that they end soon.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, date_text, day_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&WEEK, &MONTH], files: &[], check };

const FIELDS: &[(&str, &str)] = &[
    ("csvRowNumber", "The line of the row."),
    ("currentDate", "Today."),
    ("feedEndDate", "The last day of the schedule."),
    ("suggestedExpirationDate", "The day on which it should end at the earliest."),
];

static WEEK: Kind = Kind {
    code: "feed_expiration_date7_days",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("feed_expiration_date7_days.md"),
};

static MONTH: Kind = Kind {
    code: "feed_expiration_date30_days",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("feed_expiration_date30_days.md"),
};

/// How many days a schedule should still have, as the best practices of GTFS put it: the shorter
/// span first.
const SPANS: [(&Kind, i32); 2] = [(&WEEK, 7), (&MONTH, 30)];

/// O(n).
fn check(feed: &Feed, context: &Context, out: &mut Notices) {
    let table = feed.table(File::FeedInfo);
    let ends = table.numbers("feed_end_date");
    let today = day_of(context.today);
    for row in table.rows() {
        let Some(end) = ends.get(row) else { continue };
        if let Some((kind, days)) = SPANS.into_iter().find(|(_, days)| end < today + days) {
            out.add(kind, |sample| {
                sample.put("csvRowNumber", table.line(row)).put("currentDate", date_text(today));
                sample.put("feedEndDate", date_text(end));
                sample.put("suggestedExpirationDate", date_text(today + days));
            });
        }
    }
}
