//! Routes of one agency that nobody can tell apart by name.

use std::collections::{HashMap, hash_map::Entry};

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, UNRECOGNIZED},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::Routes], check };

static KIND: Kind = Kind {
    code: "duplicate_route_name",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber1", "The line of the first route with these names."),
        ("routeId1", "Its id."),
        ("csvRowNumber2", "The line of the route that has them again."),
        ("routeId2", "Its id."),
        ("routeShortName", "The short name of both."),
        ("routeLongName", "The long name of both."),
        ("routeTypeValue", "The route type of both."),
        ("agencyId", "The agency of both."),
    ],
    page: include_str!("duplicate_route_name.md"),
};

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Routes);
    let ids = table.texts("route_id");
    let (short, long) = (table.texts("route_short_name"), table.texts("route_long_name"));
    let (types, agencies) = (table.numbers("route_type"), table.texts("agency_id"));
    let mut seen = HashMap::new();
    for row in table.rows() {
        let key = (short.code(row), long.code(row), types.get(row), agencies.code(row));
        let first: u32 = match seen.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(row);
                continue;
            }
        };
        out.add(&KIND, |sample| {
            sample.put("csvRowNumber1", table.line(first)).put("routeId1", ids.get(first));
            sample.put("csvRowNumber2", table.line(row)).put("routeId2", ids.get(row));
            sample.put("routeShortName", short.get(row)).put("routeLongName", long.get(row));
            sample.put("routeTypeValue", types.get_or(row, UNRECOGNIZED));
            sample.put("agencyId", agencies.get(row));
        });
    }
}
