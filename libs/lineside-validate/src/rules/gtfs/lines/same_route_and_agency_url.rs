//! Routes whose page is the agency's.

use std::collections::HashMap;

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    // The reference judges the pages of stops in the same breath.
    files: &[File::Agency, File::Routes, File::Stops],
    check,
};

static KIND: Kind = Kind {
    code: "same_route_and_agency_url",
    severity: Severity::Warning,
    fields: &[
        ("routeCsvRowNumber", "The line of the row in routes.txt."),
        ("routeId", "The route."),
        ("agencyName", "The agency with the same page."),
        ("routeUrl", "The address."),
        ("agencyCsvRowNumber", "The line of the row in agency.txt."),
    ],
    page: include_str!("same_route_and_agency_url.md"),
};

/// O(n), and one notice for each pair of a route and an agency.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (agencies, routes) = (feed.table(File::Agency), feed.table(File::Routes));
    let mut by_url: HashMap<String, Vec<u32>> = HashMap::new();
    let agency_urls = agencies.texts("agency_url");
    for row in agencies.rows() {
        if let Some(url) = agency_urls.get(row) {
            by_url.entry(url.to_ascii_lowercase()).or_default().push(row);
        }
    }
    let urls = routes.texts("route_url");
    let same: Vec<&[u32]> = (0..urls.n_codes() as u32)
        .map(|code| {
            by_url.get(&urls.text(code).to_ascii_lowercase()).map_or(&[][..], Vec::as_slice)
        })
        .collect();
    for row in routes.rows() {
        let Some(code) = urls.code(row) else { continue };
        for &agency in same[code as usize] {
            out.add(&KIND, |sample| {
                sample.put("routeCsvRowNumber", routes.line(row));
                sample.put("routeId", routes.texts("route_id").get(row));
                sample.put("agencyName", agencies.texts("agency_name").get(agency));
                sample.put("routeUrl", urls.text(code));
                sample.put("agencyCsvRowNumber", agencies.line(agency));
            });
        }
    }
}
