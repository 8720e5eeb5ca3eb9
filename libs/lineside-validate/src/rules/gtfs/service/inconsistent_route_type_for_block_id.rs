//! Vehicles that would have to be a bus and a train.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Trips, File::Routes], check };

static KIND: Kind = Kind {
    code: "inconsistent_route_type_for_block_id",
    severity: Severity::Warning,
    fields: &[
        ("blockId", "The block."),
        ("routeIds", "The routes of its trips, with commas between them."),
        ("routeTypes", "Their types, with commas between them."),
    ],
    page: include_str!("inconsistent_route_type_for_block_id.md"),
};

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let trips = feed.table(File::Trips);
    let (blocks, routes) = (trips.texts("block_id"), trips.texts("route_id"));
    let to_routes = feed.link(File::Trips, "route_id", File::Routes, "route_id");
    let types = feed.table(File::Routes).numbers("route_type");
    let type_of = |row: u32| types.get(to_routes.row(routes.code(row)?)?);
    for (block, rows) in feed.groups(File::Trips, "block_id").iter() {
        let mut found = rows.iter().filter_map(|&row| type_of(row));
        let first = found.next();
        if !found.any(|other| Some(other) != first) {
            continue;
        }
        out.add(&KIND, |sample| {
            let route_ids = distinct(rows.iter().filter_map(|&row| routes.get(row)));
            let types = distinct(rows.iter().filter_map(|&row| type_of(row)).map(name));
            sample.put("blockId", blocks.text(block));
            sample.put("routeIds", route_ids).put("routeTypes", types);
        });
    }
}

/// Routes of one block that a notice names at most.
const NAMES_MAX: usize = 100;

/// Each once, in their order.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.len() < NAMES_MAX && !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen.join(", ")
}

fn name(route_type: i32) -> &'static str {
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
