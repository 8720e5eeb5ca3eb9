//! Check of routes of one agency with the same names.

use std::collections::{HashMap, hash_map::Entry};

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, UNRECOGNIZED},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::Routes], check: check_duplicate_route_names };

static KIND: NoticeKind = NoticeKind {
    code: "duplicate_route_name",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber1", "The line of the first route with these names."),
        ("routeId1", "Its id."),
        ("csvRowNumber2", "The line of the later route with these names."),
        ("routeId2", "Its id."),
        ("routeShortName", "The short name of both."),
        ("routeLongName", "The long name of both."),
        ("routeTypeValue", "The route type of both."),
        ("agencyId", "The agency of both."),
    ],
    page: include_str!("duplicate_route_name.md"),
};

/// O(n).
fn check_duplicate_route_names(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Routes);
    let ids = table.text_column("route_id");
    let (short, long) =
        (table.text_column("route_short_name"), table.text_column("route_long_name"));
    let (types, agencies) = (table.number_column("route_type"), table.text_column("agency_id"));
    let mut seen = HashMap::new();
    for row in table.row_numbers() {
        let key = (
            short.text_code_of_row(row),
            long.text_code_of_row(row),
            types.get(row),
            agencies.text_code_of_row(row),
        );
        let first: u32 = match seen.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(row);
                continue;
            }
        };
        out.count_notice_with_sample(&KIND, |sample| {
            sample
                .set_field("csvRowNumber1", table.line_number(first))
                .set_field("routeId1", ids.get(first));
            sample
                .set_field("csvRowNumber2", table.line_number(row))
                .set_field("routeId2", ids.get(row));
            sample
                .set_field("routeShortName", short.get(row))
                .set_field("routeLongName", long.get(row));
            sample.set_field("routeTypeValue", types.cell_value_or(row, UNRECOGNIZED));
            sample.set_field("agencyId", agencies.get(row));
        });
    }
}
