//! Riders who stay seated while a bus becomes a train.

use super::{GtfsRule, locations::LINE, transfer_ends::IN_SEAT};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, UNRECOGNIZED},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Transfers, File::Routes], check };

static KIND: Kind = Kind {
    code: "inconsistent_route_type_for_in_seat_transfer",
    severity: Severity::Warning,
    fields: &[
        LINE,
        ("fromRouteId", "The route before the transfer."),
        ("toRouteId", "The route after it."),
        ("fromRouteType", "How the route before it runs."),
        ("toRouteType", "How the route after it runs."),
    ],
    page: include_str!("inconsistent_route_type_for_in_seat_transfer.md"),
};

/// O(transfers).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (transfers, routes) = (feed.table(File::Transfers), feed.table(File::Routes));
    let kinds = transfers.numbers("transfer_type");
    let (from, to) = (transfers.texts("from_route_id"), transfers.texts("to_route_id"));
    let from_rows = feed.link(File::Transfers, "from_route_id", File::Routes, "route_id");
    let to_rows = feed.link(File::Transfers, "to_route_id", File::Routes, "route_id");
    let modes = routes.numbers("route_type");
    for row in transfers.rows().filter(|&row| kinds.get(row) == Some(IN_SEAT)) {
        let from_route = from.code(row).and_then(|code| from_rows.row(code));
        let to_route = to.code(row).and_then(|code| to_rows.row(code));
        let (Some(from_route), Some(to_route)) = (from_route, to_route) else { continue };
        let mode = |route| modes.get_or(route, UNRECOGNIZED);
        if mode(from_route) != mode(to_route) {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", transfers.line(row));
                sample.put("fromRouteId", from.get(row)).put("toRouteId", to.get(row));
                sample.put("fromRouteType", mode_name(mode(from_route)));
                sample.put("toRouteType", mode_name(mode(to_route)));
            });
        }
    }
}

fn mode_name(route_type: i32) -> &'static str {
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
