//! Check of routes with the URL of an agency.

use std::collections::HashMap;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    // The reference validator's rule also checks stops, so it needs their file.
    files: &[GtfsFile::Agency, GtfsFile::Routes, GtfsFile::Stops],
    check: check_route_urls,
};

static KIND: NoticeKind = NoticeKind {
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
fn check_route_urls(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (agencies, routes) = (feed.table(GtfsFile::Agency), feed.table(GtfsFile::Routes));
    let mut by_url: HashMap<String, Vec<u32>> = HashMap::new();
    let agency_urls = agencies.text_column("agency_url");
    for row in agencies.row_numbers() {
        if let Some(url) = agency_urls.get(row) {
            by_url.entry(url.to_ascii_lowercase()).or_default().push(row);
        }
    }
    let urls = routes.text_column("route_url");
    let same: Vec<&[u32]> = (0..urls.text_code_count() as u32)
        .map(|code| {
            by_url.get(&urls.text_of_code(code).to_ascii_lowercase()).map_or(&[][..], Vec::as_slice)
        })
        .collect();
    for row in routes.row_numbers() {
        let Some(code) = urls.text_code_of_row(row) else { continue };
        for &agency in same[code as usize] {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("routeCsvRowNumber", routes.line_number(row));
                sample.set_field("routeId", routes.text_column("route_id").get(row));
                sample.set_field("agencyName", agencies.text_column("agency_name").get(agency));
                sample.set_field("routeUrl", urls.text_of_code(code));
                sample.set_field("agencyCsvRowNumber", agencies.line_number(agency));
            });
        }
    }
}
