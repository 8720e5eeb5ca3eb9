//! Checks of the counts and durations in fare transfer rules.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&LIMIT_WITHOUT_TYPE, &TYPE_WITHOUT_LIMIT, &INVALID, &MISSING, &FORBIDDEN],
    files: &[],
    check: check_transfer_rules,
};

static LIMIT_WITHOUT_TYPE: NoticeKind = NoticeKind {
    code: "fare_transfer_rule_duration_limit_without_type",
    severity: Severity::Error,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("fare_transfer_rule_duration_limit_without_type.md"),
};

static TYPE_WITHOUT_LIMIT: NoticeKind = NoticeKind {
    code: "fare_transfer_rule_duration_limit_type_without_duration_limit",
    severity: Severity::Error,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("fare_transfer_rule_duration_limit_type_without_duration_limit.md"),
};

static INVALID: NoticeKind = NoticeKind {
    code: "fare_transfer_rule_invalid_transfer_count",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("transferCount", "The value of `transfer_count`."),
    ],
    page: include_str!("fare_transfer_rule_invalid_transfer_count.md"),
};

static MISSING: NoticeKind = NoticeKind {
    code: "fare_transfer_rule_without_transfer_count",
    severity: Severity::Error,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("fare_transfer_rule_without_transfer_count.md"),
};

static FORBIDDEN: NoticeKind = NoticeKind {
    code: "fare_transfer_rule_with_forbidden_transfer_count",
    severity: Severity::Error,
    fields: &[("csvRowNumber", "The line of the row.")],
    page: include_str!("fare_transfer_rule_with_forbidden_transfer_count.md"),
};

/// The `transfer_count` for an unlimited number of transfers.
const ANY_NUMBER: i32 = -1;

/// O(n).
fn check_transfer_rules(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FareTransferRules);
    let (from, to) = (table.text_column("from_leg_group_id"), table.text_column("to_leg_group_id"));
    let counts = table.number_column("transfer_count");
    let (limits, types) =
        (table.number_column("duration_limit"), table.number_column("duration_limit_type"));
    for row in table.row_numbers() {
        let say = |kind, out: &mut Notices| {
            out.count_notice_with_sample(kind, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
            });
        };
        match (limits.get(row), types.get(row)) {
            (Some(_), None) => say(&LIMIT_WITHOUT_TYPE, out),
            (None, Some(_)) => say(&TYPE_WITHOUT_LIMIT, out),
            _ => {}
        }
        // A transfer count is valid only within one group of legs.
        let is_same_group = from.get(row).is_some() && from.get(row) == to.get(row);
        match (is_same_group, counts.get(row)) {
            (true, Some(count)) if count < ANY_NUMBER || count == 0 => {
                out.count_notice_with_sample(&INVALID, |sample| {
                    sample
                        .set_field("csvRowNumber", table.line_number(row))
                        .set_field("transferCount", count);
                });
            }
            (true, None) => say(&MISSING, out),
            (false, Some(_)) => say(&FORBIDDEN, out),
            _ => {}
        }
    }
}
