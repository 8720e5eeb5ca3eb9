//! Exit gates through which one may go in.

use super::{GtfsRule, locations::LINE};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "bidirectional_exit_gate",
    severity: Severity::Error,
    fields: &[
        LINE,
        ("pathwayMode", "What kind of pathway it is."),
        ("isBidirectional", "Whether it leads both ways."),
    ],
    page: include_str!("bidirectional_exit_gate.md"),
};

/// `pathway_mode` of an exit gate.
const EXIT_GATE: i32 = 7;

/// O(pathways).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let pathways = feed.table(File::Pathways);
    let modes = pathways.numbers("pathway_mode");
    let bidirectional = pathways.numbers("is_bidirectional");
    for row in pathways.rows() {
        if modes.get(row) == Some(EXIT_GATE) && bidirectional.get(row) == Some(1) {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", pathways.line(row));
                sample.put("pathwayMode", EXIT_GATE).put("isBidirectional", 1);
            });
        }
    }
}
