//! Check of leg join rules that name only one of the two stops.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, simple},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[],
    files: &[GtfsFile::Networks, GtfsFile::Routes, GtfsFile::FareLegJoinRules],
    check: check_leg_join_rules,
};

/// O(n).
fn check_leg_join_rules(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FareLegJoinRules);
    let (from, to) = (table.text_column("from_stop_id"), table.text_column("to_stop_id"));
    for row in table.row_numbers() {
        let missing = match (from.text_code_of_row(row), to.text_code_of_row(row)) {
            (Some(_), None) => "to_stop_id",
            (None, Some(_)) => "from_stop_id",
            _ => continue,
        };
        simple::report_field_notice(&simple::MISSING_REQUIRED_FIELD, table, row, missing, out);
    }
}
