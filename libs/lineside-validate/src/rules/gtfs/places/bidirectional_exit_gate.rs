//! Check of exit gates that can be passed in both directions.

use super::{GtfsRule, locations::LINE};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_exit_gates };

static KIND: NoticeKind = NoticeKind {
    code: "bidirectional_exit_gate",
    severity: Severity::Error,
    fields: &[
        LINE,
        ("pathwayMode", "The pathway mode."),
        ("isBidirectional", "1 if the pathway is bidirectional."),
    ],
    page: include_str!("bidirectional_exit_gate.md"),
};

/// The `pathway_mode` of an exit gate.
const EXIT_GATE: i32 = 7;

/// O(pathways).
fn check_exit_gates(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let pathways = feed.table(GtfsFile::Pathways);
    let modes = pathways.number_column("pathway_mode");
    let bidirectional = pathways.number_column("is_bidirectional");
    for row in pathways.row_numbers() {
        if modes.get(row) == Some(EXIT_GATE) && bidirectional.get(row) == Some(1) {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", pathways.line_number(row));
                sample.set_field("pathwayMode", EXIT_GATE).set_field("isBidirectional", 1);
            });
        }
    }
}
