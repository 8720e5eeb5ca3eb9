//! Attributions that say of nobody what they did.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "attribution_without_role",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("attributionId", "Its id.")],
    page: include_str!("attribution_without_role.md"),
};

const ROLES: [&str; 3] = ["is_producer", "is_operator", "is_authority"];
/// What stands in the field of a role that the organization has.
const ASSIGNED: i32 = 1;

/// O(n). A file that has none of the columns is let be.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Attributions);
    if !ROLES.iter().any(|role| table.has(role)) {
        return;
    }
    let roles = ROLES.map(|role| table.numbers(role));
    for row in table.rows() {
        if roles.iter().all(|role| role.get(row) != Some(ASSIGNED)) {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("attributionId", table.texts("attribution_id").get(row));
            });
        }
    }
}
