//! Check of transfers between vehicles without stops: `missing_required_field`.

use super::{
    GtfsRule,
    transfer_ends::{ENDS, IN_SEAT, NOT_IN_SEAT},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, simple::MISSING_REQUIRED_FIELD},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[], files: &[GtfsFile::Transfers], check: check_transfer_stop_ids };

/// O(transfers).
fn check_transfer_stop_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let transfers = feed.table(GtfsFile::Transfers);
    let kinds = transfers.number_column("transfer_type");
    let stops = ENDS.map(|end| (end.stop, transfers.text_column(end.stop)));
    for row in transfers.row_numbers() {
        // In-seat transfers need no stops. A missing type is reported elsewhere.
        if matches!(kinds.get(row), None | Some(IN_SEAT | NOT_IN_SEAT)) {
            continue;
        }
        for (field, _) in stops.iter().filter(|(_, texts)| texts.text_code_of_row(row).is_none()) {
            out.count_notice_with_sample(&MISSING_REQUIRED_FIELD, |sample| {
                sample.set_field("filename", transfers.file_name());
                sample
                    .set_field("csvRowNumber", transfers.line_number(row))
                    .set_field("fieldName", *field);
            });
        }
    }
}
