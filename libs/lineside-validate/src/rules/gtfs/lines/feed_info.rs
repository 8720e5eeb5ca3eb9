//! What a feed says of itself: whom to write to, and from when to when it holds.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&CONTACT, &DATE], files: &[], check };

static CONTACT: Kind = Kind {
    code: "missing_feed_contact_email_and_url",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("missing_feed_contact_email_and_url.md"),
};

static DATE: Kind = Kind {
    code: "missing_feed_info_date",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("fieldName", "The field that is empty.")],
    page: include_str!("missing_feed_info_date.md"),
};

/// O(n), for what is one row as a rule.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FeedInfo);
    let (mails, urls) = (table.texts("feed_contact_email"), table.texts("feed_contact_url"));
    let (starts, ends) = (table.numbers("feed_start_date"), table.numbers("feed_end_date"));
    for row in table.rows() {
        if mails.code(row).is_none() && urls.code(row).is_none() {
            out.add(&CONTACT, |sample| {
                sample.put("csvRowNumber", table.line(row));
            });
        }
        let missing = match (starts.get(row), ends.get(row)) {
            (Some(_), None) => "feed_end_date",
            (None, Some(_)) => "feed_start_date",
            _ => continue,
        };
        out.add(&DATE, |sample| {
            sample.put("csvRowNumber", table.line(row)).put("fieldName", missing);
        });
    }
}
