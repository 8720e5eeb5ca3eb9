//! Check of cards and apps without a name.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, simple},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[], files: &[], check: check_media_names };

/// The values of `fare_media_type` that need a name: transit cards and apps.
const NAMED: [i32; 2] = [2, 4];

/// O(n).
fn check_media_names(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FareMedia);
    let (names, types) =
        (table.text_column("fare_media_name"), table.number_column("fare_media_type"));
    for row in table.row_numbers() {
        if names.text_code_of_row(row).is_none()
            && types.get(row).is_some_and(|kind| NAMED.contains(&kind))
        {
            simple::report_field_notice(
                &simple::MISSING_RECOMMENDED_FIELD,
                table,
                row,
                "fare_media_name",
                out,
            );
        }
    }
}
