//! Check of services without a day of the week.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, WEEK},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::Calendar], check: check_active_weekdays };

static KIND: NoticeKind = NoticeKind {
    code: "service_has_no_active_day_of_the_week",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("serviceId", "The service.")],
    page: include_str!("service_has_no_active_day_of_the_week.md"),
};

/// O(n).
fn check_active_weekdays(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Calendar);
    let days = WEEK.map(|day| table.number_column(day));
    let ids = table.text_column("service_id");
    for row in table.row_numbers().filter(|&row| days.iter().all(|day| day.get(row) == Some(0))) {
        out.count_notice_with_sample(&KIND, |sample| {
            sample
                .set_field("csvRowNumber", table.line_number(row))
                .set_field("serviceId", ids.get(row));
        });
    }
}
