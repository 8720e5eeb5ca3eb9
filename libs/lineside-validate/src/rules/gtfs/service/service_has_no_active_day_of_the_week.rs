//! Services whose weeks have no day of service.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, WEEK},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::Calendar], check };

static KIND: Kind = Kind {
    code: "service_has_no_active_day_of_the_week",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("serviceId", "The service.")],
    page: include_str!("service_has_no_active_day_of_the_week.md"),
};

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Calendar);
    let days = WEEK.map(|day| table.numbers(day));
    let ids = table.texts("service_id");
    for row in table.rows().filter(|&row| days.iter().all(|day| day.get(row) == Some(0))) {
        out.add(&KIND, |sample| {
            sample.put("csvRowNumber", table.line(row)).put("serviceId", ids.get(row));
        });
    }
}
