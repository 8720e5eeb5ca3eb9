//! Check of amounts with more or fewer decimals than their currency has.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, currency_decimals, decimal_place_count},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_currency_amounts };

static KIND: NoticeKind = NoticeKind {
    code: "invalid_currency_amount",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("currencyCode", "The currency."),
        ("fieldName", "The field of the amount."),
        ("amount", "The amount."),
    ],
    page: include_str!("invalid_currency_amount.md"),
};

/// O(n).
fn check_currency_amounts(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FareProducts);
    let (amounts, currencies) = (table.text_column("amount"), table.text_column("currency"));
    for row in table.row_numbers() {
        let (Some(amount), Some(currency)) = (amounts.get(row), currencies.get(row)) else {
            continue;
        };
        if currency_decimals(currency) != decimal_place_count(amount) {
            out.count_notice_with_sample(&KIND, |sample| {
                sample
                    .set_field("filename", table.file_name())
                    .set_field("csvRowNumber", table.line_number(row));
                sample.set_field("currencyCode", currency).set_field("fieldName", "amount");
                sample.set_field("amount", amount);
            });
        }
    }
}
