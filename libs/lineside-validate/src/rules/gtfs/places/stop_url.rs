//! Stops whose page is that of an agency or of a route.

use super::{GtfsRule, locations::STOP_ID};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Table},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&AS_AGENCY, &AS_ROUTE],
    files: &[File::Agency, File::Routes, File::Stops],
    check,
};

const STOP_LINE: (&str, &str) = ("stopCsvRowNumber", "The line of the stop.");
const STOP_URL: (&str, &str) = ("stopUrl", "The address.");

static AS_AGENCY: Kind = Kind {
    code: "same_stop_and_agency_url",
    severity: Severity::Warning,
    fields: &[
        STOP_LINE,
        STOP_ID,
        ("agencyName", "The agency with the same address."),
        STOP_URL,
        ("agencyCsvRowNumber", "The line of the agency."),
    ],
    page: include_str!("same_stop_and_agency_url.md"),
};

static AS_ROUTE: Kind = Kind {
    code: "same_stop_and_route_url",
    severity: Severity::Warning,
    fields: &[
        STOP_LINE,
        STOP_ID,
        STOP_URL,
        ("routeId", "The route with the same address."),
        ("routeCsvRowNumber", "The line of the route."),
    ],
    page: include_str!("same_stop_and_route_url.md"),
};

/// O(n log n): each distinct address is looked up once, and pairs are counted, not walked.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = feed.table(File::Stops);
    if !stops.has("stop_url") {
        return;
    }
    let (agencies, routes) = (feed.table(File::Agency), feed.table(File::Routes));
    let (names, route_ids) = (agencies.texts("agency_name"), routes.texts("route_id"));
    check_pairs(stops, &Addresses::of(agencies, "agency_url"), &AS_AGENCY, out, |row| {
        [("agencyName", names.get(row).into()), ("agencyCsvRowNumber", agencies.line(row).into())]
    });
    check_pairs(stops, &Addresses::of(routes, "route_url"), &AS_ROUTE, out, |row| {
        [("routeId", route_ids.get(row).into()), ("routeCsvRowNumber", routes.line(row).into())]
    });
}

fn check_pairs(
    stops: &Table,
    others: &Addresses,
    kind: &'static Kind,
    out: &mut Notices,
    about: impl Fn(u32) -> [(&'static str, serde_json::Value); 2],
) {
    let (ids, urls) = (stops.texts("stop_id"), stops.texts("stop_url"));
    let mut buffer = String::new();
    let same: Vec<&[(String, u32)]> = (0..urls.n_codes() as u32)
        .map(|code| {
            buffer.clear();
            buffer.push_str(urls.text(code));
            buffer.make_ascii_lowercase();
            others.find(&buffer)
        })
        .collect();
    for row in stops.rows() {
        let Some(code) = urls.code(row) else { continue };
        let pairs = same[code as usize];
        out.add_many(kind, pairs.len(), |at, sample| {
            sample.put("stopCsvRowNumber", stops.line(row)).put("stopId", ids.get(row));
            sample.put("stopUrl", urls.get(row));
            for (name, value) in pairs.get(at).into_iter().flat_map(|(_, other)| about(*other)) {
                sample.put(name, value);
            }
        });
    }
}

/// The rows of a file by their addresses, in small letters.
struct Addresses(Vec<(String, u32)>);

impl Addresses {
    fn of(table: &Table, field: &'static str) -> Addresses {
        let urls = table.texts(field);
        let entry = |row| urls.get(row).map(|url| (url.to_ascii_lowercase(), row));
        let mut entries: Vec<(String, u32)> = table.rows().filter_map(entry).collect();
        entries.sort_unstable();
        Addresses(entries)
    }

    fn find(&self, url: &str) -> &[(String, u32)] {
        let start = self.0.partition_point(|(other, _)| other.as_str() < url);
        let end = self.0.partition_point(|(other, _)| other.as_str() <= url);
        &self.0[start..end]
    }
}
