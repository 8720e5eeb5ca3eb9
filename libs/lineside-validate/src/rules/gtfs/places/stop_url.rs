//! Checks of stops with the URL of an agency or of a route.

use super::{GtfsRule, locations::STOP_ID};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, GtfsTable},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&AS_AGENCY, &AS_ROUTE],
    files: &[GtfsFile::Agency, GtfsFile::Routes, GtfsFile::Stops],
    check: check_stop_urls,
};

const STOP_LINE: (&str, &str) = ("stopCsvRowNumber", "The line of the stop.");
const STOP_URL: (&str, &str) = ("stopUrl", "The address.");

static AS_AGENCY: NoticeKind = NoticeKind {
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

static AS_ROUTE: NoticeKind = NoticeKind {
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

/// O(n log n): each distinct URL is looked up once, and pairs are counted, not visited.
fn check_stop_urls(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = feed.table(GtfsFile::Stops);
    if !stops.has_column("stop_url") {
        return;
    }
    let (agencies, routes) = (feed.table(GtfsFile::Agency), feed.table(GtfsFile::Routes));
    let (names, route_ids) = (agencies.text_column("agency_name"), routes.text_column("route_id"));
    check_urls_shared_with(
        stops,
        &RowsByUrl::index_rows_by_url(agencies, "agency_url"),
        &AS_AGENCY,
        out,
        |row| {
            [
                ("agencyName", names.get(row).into()),
                ("agencyCsvRowNumber", agencies.line_number(row).into()),
            ]
        },
    );
    check_urls_shared_with(
        stops,
        &RowsByUrl::index_rows_by_url(routes, "route_url"),
        &AS_ROUTE,
        out,
        |row| {
            [
                ("routeId", route_ids.get(row).into()),
                ("routeCsvRowNumber", routes.line_number(row).into()),
            ]
        },
    );
}

fn check_urls_shared_with(
    stops: &GtfsTable,
    others: &RowsByUrl,
    kind: &'static NoticeKind,
    out: &mut Notices,
    about: impl Fn(u32) -> [(&'static str, serde_json::Value); 2],
) {
    let (ids, urls) = (stops.text_column("stop_id"), stops.text_column("stop_url"));
    let mut buffer = String::new();
    let same: Vec<&[(String, u32)]> = (0..urls.text_code_count() as u32)
        .map(|code| {
            buffer.clear();
            buffer.push_str(urls.text_of_code(code));
            buffer.make_ascii_lowercase();
            others.rows_with_url(&buffer)
        })
        .collect();
    for row in stops.row_numbers() {
        let Some(code) = urls.text_code_of_row(row) else { continue };
        let pairs = same[code as usize];
        out.count_notices_with_samples(kind, pairs.len(), |at, sample| {
            sample
                .set_field("stopCsvRowNumber", stops.line_number(row))
                .set_field("stopId", ids.get(row));
            sample.set_field("stopUrl", urls.get(row));
            for (name, value) in pairs.get(at).into_iter().flat_map(|(_, other)| about(*other)) {
                sample.set_field(name, value);
            }
        });
    }
}

/// The rows of a file by their URLs in lower case.
struct RowsByUrl(Vec<(String, u32)>);

impl RowsByUrl {
    fn index_rows_by_url(table: &GtfsTable, field: &'static str) -> RowsByUrl {
        let urls = table.text_column(field);
        let entry = |row| urls.get(row).map(|url| (url.to_ascii_lowercase(), row));
        let mut entries: Vec<(String, u32)> = table.row_numbers().filter_map(entry).collect();
        entries.sort_unstable();
        RowsByUrl(entries)
    }

    fn rows_with_url(&self, url: &str) -> &[(String, u32)] {
        let start = self.0.partition_point(|(other, _)| other.as_str() < url);
        let end = self.0.partition_point(|(other, _)| other.as_str() <= url);
        &self.0[start..end]
    }
}
