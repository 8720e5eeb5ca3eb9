//! Check of pathways that end where they begin.

use super::{
    GtfsRule,
    locations::{LINE, STOP_ID},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_pathway_loops };

static KIND: NoticeKind = NoticeKind {
    code: "pathway_loop",
    severity: Severity::Warning,
    fields: &[LINE, ("pathwayId", "The pathway."), STOP_ID],
    page: include_str!("pathway_loop.md"),
};

/// O(pathways).
fn check_pathway_loops(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let pathways = feed.table(GtfsFile::Pathways);
    let (ids, from) = (pathways.text_column("pathway_id"), pathways.text_column("from_stop_id"));
    let to = pathways.text_column("to_stop_id");
    for row in pathways.row_numbers() {
        if from.get(row).is_some() && from.get(row) == to.get(row) {
            out.count_notice_with_sample(&KIND, |sample| {
                sample
                    .set_field("csvRowNumber", pathways.line_number(row))
                    .set_field("pathwayId", ids.get(row));
                sample.set_field("stopId", from.get(row));
            });
        }
    }
}
