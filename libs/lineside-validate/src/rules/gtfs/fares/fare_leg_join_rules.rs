//! Rules for joining legs at a place of which only one side is named.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, simple},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[], files: &[File::Networks, File::Routes, File::FareLegJoinRules], check };

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FareLegJoinRules);
    let (from, to) = (table.texts("from_stop_id"), table.texts("to_stop_id"));
    for row in table.rows() {
        let missing = match (from.code(row), to.code(row)) {
            (Some(_), None) => "to_stop_id",
            (None, Some(_)) => "from_stop_id",
            _ => continue,
        };
        simple::say_field(&simple::MISSING_REQUIRED_FIELD, table, row, missing, out);
    }
}
