//! Check of attributions without a role.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_attribution_roles };

static KIND: NoticeKind = NoticeKind {
    code: "attribution_without_role",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("attributionId", "Its id.")],
    page: include_str!("attribution_without_role.md"),
};

const ROLES: [&str; 3] = ["is_producer", "is_operator", "is_authority"];
/// The value of a role field if the organization has the role.
const ASSIGNED: i32 = 1;

/// O(n). A file without any role column is not checked.
fn check_attribution_roles(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Attributions);
    if !ROLES.iter().any(|role| table.has_column(role)) {
        return;
    }
    let roles = ROLES.map(|role| table.number_column(role));
    for row in table.row_numbers() {
        if roles.iter().all(|role| role.get(row) != Some(ASSIGNED)) {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("attributionId", table.text_column("attribution_id").get(row));
            });
        }
    }
}
