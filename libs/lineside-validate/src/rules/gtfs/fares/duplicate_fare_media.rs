//! Check of fare media that cannot be distinguished.

use std::collections::{HashMap, hash_map::Entry};

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::FareMedia], check: check_duplicate_media };

static KIND: NoticeKind = NoticeKind {
    code: "duplicate_fare_media",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber1", "The line of the first one."),
        ("fareMediaId1", "Its id."),
        ("csvRowNumber2", "The line of the second fare media."),
        ("fareMediaId2", "Its id."),
    ],
    page: include_str!("duplicate_fare_media.md"),
};

/// O(n).
fn check_duplicate_media(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FareMedia);
    let ids = table.text_column("fare_media_id");
    let (names, types) =
        (table.text_column("fare_media_name"), table.number_column("fare_media_type"));
    let mut seen = HashMap::new();
    for row in table.row_numbers() {
        let first: u32 = match seen.entry((names.text_code_of_row(row), types.get(row))) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(row);
                continue;
            }
        };
        out.count_notice_with_sample(&KIND, |sample| {
            sample
                .set_field("csvRowNumber1", table.line_number(first))
                .set_field("fareMediaId1", ids.get(first));
            sample
                .set_field("csvRowNumber2", table.line_number(row))
                .set_field("fareMediaId2", ids.get(row));
        });
    }
}
