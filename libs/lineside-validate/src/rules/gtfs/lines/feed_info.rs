//! Checks of the contact and the validity period in `feed_info.txt`.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&CONTACT, &DATE], files: &[], check: check_feed_contact_and_validity };

static CONTACT: NoticeKind = NoticeKind {
    code: "missing_feed_contact_email_and_url",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("missing_feed_contact_email_and_url.md"),
};

static DATE: NoticeKind = NoticeKind {
    code: "missing_feed_info_date",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("fieldName", "The field that is empty.")],
    page: include_str!("missing_feed_info_date.md"),
};

/// O(n); usually there is one row.
fn check_feed_contact_and_validity(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FeedInfo);
    let (mails, urls) =
        (table.text_column("feed_contact_email"), table.text_column("feed_contact_url"));
    let (starts, ends) =
        (table.number_column("feed_start_date"), table.number_column("feed_end_date"));
    for row in table.row_numbers() {
        if mails.text_code_of_row(row).is_none() && urls.text_code_of_row(row).is_none() {
            out.count_notice_with_sample(&CONTACT, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
            });
        }
        let missing = match (starts.get(row), ends.get(row)) {
            (Some(_), None) => "feed_end_date",
            (None, Some(_)) => "feed_start_date",
            _ => continue,
        };
        out.count_notice_with_sample(&DATE, |sample| {
            sample
                .set_field("csvRowNumber", table.line_number(row))
                .set_field("fieldName", missing);
        });
    }
}
