//! Check of in-seat transfers between routes of different types.

use super::{GtfsRule, locations::LINE, transfer_ends::IN_SEAT};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, UNRECOGNIZED},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Transfers, GtfsFile::Routes],
    check: check_in_seat_route_types,
};

static KIND: NoticeKind = NoticeKind {
    code: "inconsistent_route_type_for_in_seat_transfer",
    severity: Severity::Warning,
    fields: &[
        LINE,
        ("fromRouteId", "The route before the transfer."),
        ("toRouteId", "The route after the transfer."),
        ("fromRouteType", "The type of the route before the transfer."),
        ("toRouteType", "The type of the route after the transfer."),
    ],
    page: include_str!("inconsistent_route_type_for_in_seat_transfer.md"),
};

/// O(transfers).
fn check_in_seat_route_types(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (transfers, routes) = (feed.table(GtfsFile::Transfers), feed.table(GtfsFile::Routes));
    let kinds = transfers.number_column("transfer_type");
    let (from, to) = (transfers.text_column("from_route_id"), transfers.text_column("to_route_id"));
    let from_rows = feed.rows_referenced_by_field(
        GtfsFile::Transfers,
        "from_route_id",
        GtfsFile::Routes,
        "route_id",
    );
    let to_rows = feed.rows_referenced_by_field(
        GtfsFile::Transfers,
        "to_route_id",
        GtfsFile::Routes,
        "route_id",
    );
    let modes = routes.number_column("route_type");
    for row in transfers.row_numbers().filter(|&row| kinds.get(row) == Some(IN_SEAT)) {
        let from_route =
            from.text_code_of_row(row).and_then(|code| from_rows.row_referenced_by_code(code));
        let to_route =
            to.text_code_of_row(row).and_then(|code| to_rows.row_referenced_by_code(code));
        let (Some(from_route), Some(to_route)) = (from_route, to_route) else { continue };
        let mode = |route| modes.cell_value_or(route, UNRECOGNIZED);
        if mode(from_route) != mode(to_route) {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", transfers.line_number(row));
                sample.set_field("fromRouteId", from.get(row)).set_field("toRouteId", to.get(row));
                sample.set_field("fromRouteType", route_type_report_name(mode(from_route)));
                sample.set_field("toRouteType", route_type_report_name(mode(to_route)));
            });
        }
    }
}

fn route_type_report_name(route_type: i32) -> &'static str {
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
