//! Amounts of money with more or fewer decimals than the currency has.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, currency_decimals, decimals_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
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
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FareProducts);
    let (amounts, currencies) = (table.texts("amount"), table.texts("currency"));
    for row in table.rows() {
        let (Some(amount), Some(currency)) = (amounts.get(row), currencies.get(row)) else {
            continue;
        };
        if currency_decimals(currency) != decimals_of(amount) {
            out.add(&KIND, |sample| {
                sample.put("filename", table.name()).put("csvRowNumber", table.line(row));
                sample.put("currencyCode", currency).put("fieldName", "amount");
                sample.put("amount", amount);
            });
        }
    }
}
