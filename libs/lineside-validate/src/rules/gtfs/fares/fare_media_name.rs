//! Cards and apps without a name by which riders ask for them.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, simple},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[], files: &[], check };

/// `fare_media_type` of what goes by a name: transit cards and apps.
const NAMED: [i32; 2] = [2, 4];

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FareMedia);
    let (names, types) = (table.texts("fare_media_name"), table.numbers("fare_media_type"));
    for row in table.rows() {
        if names.code(row).is_none() && types.get(row).is_some_and(|kind| NAMED.contains(&kind)) {
            simple::say_field(
                &simple::MISSING_RECOMMENDED_FIELD,
                table,
                row,
                "fare_media_name",
                out,
            );
        }
    }
}
