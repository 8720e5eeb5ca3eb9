//! Transfers between vehicles that do not say where: `missing_required_field`.

use super::{
    GtfsRule,
    transfer_ends::{ENDS, IN_SEAT, NOT_IN_SEAT},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, simple::MISSING_REQUIRED_FIELD},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[], files: &[File::Transfers], check };

/// O(transfers).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let transfers = feed.table(File::Transfers);
    let kinds = transfers.numbers("transfer_type");
    let stops = ENDS.map(|end| (end.stop, transfers.texts(end.stop)));
    for row in transfers.rows() {
        // Riders who stay seated change trips, not places; what kind it is must be said.
        if matches!(kinds.get(row), None | Some(IN_SEAT | NOT_IN_SEAT)) {
            continue;
        }
        for (field, _) in stops.iter().filter(|(_, texts)| texts.code(row).is_none()) {
            out.add(&MISSING_REQUIRED_FIELD, |sample| {
                sample.put("filename", transfers.name());
                sample.put("csvRowNumber", transfers.line(row)).put("fieldName", *field);
            });
        }
    }
}
