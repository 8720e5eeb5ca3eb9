//! Pathways that end where they begin.

use super::{
    GtfsRule,
    locations::{LINE, STOP_ID},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "pathway_loop",
    severity: Severity::Warning,
    fields: &[LINE, ("pathwayId", "The pathway."), STOP_ID],
    page: include_str!("pathway_loop.md"),
};

/// O(pathways).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let pathways = feed.table(File::Pathways);
    let (ids, from) = (pathways.texts("pathway_id"), pathways.texts("from_stop_id"));
    let to = pathways.texts("to_stop_id");
    for row in pathways.rows() {
        if from.get(row).is_some() && from.get(row) == to.get(row) {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", pathways.line(row)).put("pathwayId", ids.get(row));
                sample.put("stopId", from.get(row));
            });
        }
    }
}
