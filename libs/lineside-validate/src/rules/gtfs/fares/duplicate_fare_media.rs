//! Cards and tickets that nobody can tell apart.

use std::collections::{HashMap, hash_map::Entry};

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::FareMedia], check };

static KIND: Kind = Kind {
    code: "duplicate_fare_media",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber1", "The line of the first one."),
        ("fareMediaId1", "Its id."),
        ("csvRowNumber2", "The line of the one like it."),
        ("fareMediaId2", "Its id."),
    ],
    page: include_str!("duplicate_fare_media.md"),
};

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FareMedia);
    let ids = table.texts("fare_media_id");
    let (names, types) = (table.texts("fare_media_name"), table.numbers("fare_media_type"));
    let mut seen = HashMap::new();
    for row in table.rows() {
        let first: u32 = match seen.entry((names.code(row), types.get(row))) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(row);
                continue;
            }
        };
        out.add(&KIND, |sample| {
            sample.put("csvRowNumber1", table.line(first)).put("fareMediaId1", ids.get(first));
            sample.put("csvRowNumber2", table.line(row)).put("fareMediaId2", ids.get(row));
        });
    }
}
