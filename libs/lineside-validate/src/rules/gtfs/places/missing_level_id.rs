//! Check of elevators whose ends have no level.

use super::{
    GtfsRule,
    locations::{LINE, STOP_ID, STOP_NAME, set_stop_fields},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Pathways, GtfsFile::Stops],
    check: check_elevator_level_ids,
};

static KIND: NoticeKind = NoticeKind {
    code: "missing_level_id",
    severity: Severity::Error,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("missing_level_id.md"),
};

/// The `pathway_mode` of an elevator.
const ELEVATOR: i32 = 5;

/// O(pathways + stops).
fn check_elevator_level_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (pathways, stops) = (feed.table(GtfsFile::Pathways), feed.table(GtfsFile::Stops));
    if pathways.is_empty() {
        return;
    }
    let modes = pathways.number_column("pathway_mode");
    let mut has_elevator = vec![false; stops.len() as usize];
    for field in ["from_stop_id", "to_stop_id"] {
        let ends = pathways.text_column(field);
        let stop_rows =
            feed.rows_referenced_by_field(GtfsFile::Pathways, field, GtfsFile::Stops, "stop_id");
        for row in pathways.row_numbers().filter(|&row| modes.get(row) == Some(ELEVATOR)) {
            if let Some(stop) =
                ends.text_code_of_row(row).and_then(|code| stop_rows.row_referenced_by_code(code))
            {
                has_elevator[stop as usize] = true;
            }
        }
    }
    let levels = stops.text_column("level_id");
    for row in stops.row_numbers().filter(|&row| has_elevator[row as usize]) {
        if levels.text_code_of_row(row).is_none() {
            out.count_notice_with_sample(&KIND, |sample| {
                set_stop_fields(sample, stops, row);
            });
        }
    }
}
