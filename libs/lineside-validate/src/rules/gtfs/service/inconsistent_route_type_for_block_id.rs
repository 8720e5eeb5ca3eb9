//! Check of blocks whose trips have different route types.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Trips, GtfsFile::Routes],
    check: check_block_route_types,
};

static KIND: NoticeKind = NoticeKind {
    code: "inconsistent_route_type_for_block_id",
    severity: Severity::Warning,
    fields: &[
        ("blockId", "The block."),
        ("routeIds", "The routes of the trips in the block, separated by commas."),
        ("routeTypes", "The types of these routes, separated by commas."),
    ],
    page: include_str!("inconsistent_route_type_for_block_id.md"),
};

/// O(n).
fn check_block_route_types(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let trips = feed.table(GtfsFile::Trips);
    let (blocks, routes) = (trips.text_column("block_id"), trips.text_column("route_id"));
    let to_routes =
        feed.rows_referenced_by_field(GtfsFile::Trips, "route_id", GtfsFile::Routes, "route_id");
    let types = feed.table(GtfsFile::Routes).number_column("route_type");
    let type_of =
        |row: u32| types.get(to_routes.row_referenced_by_code(routes.text_code_of_row(row)?)?);
    for (block, rows) in feed.rows_grouped_by_field(GtfsFile::Trips, "block_id").iter() {
        let mut found = rows.iter().filter_map(|&row| type_of(row));
        let first = found.next();
        if !found.any(|other| Some(other) != first) {
            continue;
        }
        out.count_notice_with_sample(&KIND, |sample| {
            let route_ids = join_distinct_names(rows.iter().filter_map(|&row| routes.get(row)));
            let types = join_distinct_names(
                rows.iter().filter_map(|&row| type_of(row)).map(route_type_name),
            );
            sample.set_field("blockId", blocks.text_of_code(block));
            sample.set_field("routeIds", route_ids).set_field("routeTypes", types);
        });
    }
}

/// The largest number of routes that a notice lists.
const NAMES_MAX: usize = 100;

/// Joins distinct names in order.
fn join_distinct_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.len() < NAMES_MAX && !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen.join(", ")
}

fn route_type_name(route_type: i32) -> &'static str {
    match route_type {
        0 => "LIGHT_RAIL",
        1 => "SUBWAY",
        2 => "RAIL",
        3 => "BUS",
        4 => "FERRY",
        5 => "CABLE_TRAM",
        6 => "AERIAL_LIFT",
        7 => "FUNICULAR",
        11 => "TROLLEYBUS",
        12 => "MONORAIL",
        _ => "UNRECOGNIZED",
    }
}
