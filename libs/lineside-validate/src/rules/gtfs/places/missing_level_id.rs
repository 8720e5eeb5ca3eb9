//! Elevators that lead from nowhere known to nowhere known: their ends have no level.

use super::{
    GtfsRule,
    locations::{LINE, STOP_ID, STOP_NAME, put_stop},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Pathways, File::Stops], check };

static KIND: Kind = Kind {
    code: "missing_level_id",
    severity: Severity::Error,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("missing_level_id.md"),
};

/// `pathway_mode` of an elevator.
const ELEVATOR: i32 = 5;

/// O(pathways + stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (pathways, stops) = (feed.table(File::Pathways), feed.table(File::Stops));
    if pathways.is_empty() {
        return;
    }
    let modes = pathways.numbers("pathway_mode");
    let mut has_elevator = vec![false; stops.len() as usize];
    for field in ["from_stop_id", "to_stop_id"] {
        let ends = pathways.texts(field);
        let stop_rows = feed.link(File::Pathways, field, File::Stops, "stop_id");
        for row in pathways.rows().filter(|&row| modes.get(row) == Some(ELEVATOR)) {
            if let Some(stop) = ends.code(row).and_then(|code| stop_rows.row(code)) {
                has_elevator[stop as usize] = true;
            }
        }
    }
    let levels = stops.texts("level_id");
    for row in stops.rows().filter(|&row| has_elevator[row as usize]) {
        if levels.code(row).is_none() {
            out.add(&KIND, |sample| {
                put_stop(sample, stops, row);
            });
        }
    }
}
