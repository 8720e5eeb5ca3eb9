//! Transfers between stops that nobody walks between.

use super::{GtfsRule, locations::LINE};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Point},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&ABOVE_2_KM, &TOO_LARGE], files: &[File::Transfers, File::Stops], check };

const FIELDS: &[(&str, &str)] = &[
    LINE,
    ("fromStopId", "Where the transfer begins."),
    ("toStopId", "Where it ends."),
    ("distanceKm", "How far that is, in kilometers."),
];

static ABOVE_2_KM: Kind = Kind {
    code: "transfer_distance_above_2_km",
    severity: Severity::Info,
    fields: FIELDS,
    page: include_str!("transfer_distance_above_2_km.md"),
};

static TOO_LARGE: Kind = Kind {
    code: "transfer_distance_too_large",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("transfer_distance_too_large.md"),
};

/// Meters that few riders walk.
const FAR_M: f64 = 2_000.0;
/// Meters that no rider walks.
const TOO_FAR_M: f64 = 10_000.0;

/// O(transfers + stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let transfers = feed.table(File::Transfers);
    let (from, to) = (transfers.texts("from_stop_id"), transfers.texts("to_stop_id"));
    let from_rows = feed.link(File::Transfers, "from_stop_id", File::Stops, "stop_id");
    let to_rows = feed.link(File::Transfers, "to_stop_id", File::Stops, "stop_id");
    let points = feed.stop_points();
    // The reference validator takes a stop that has no place to be at 0, 0: so far away that the
    // transfer is said to be too long.
    let point = |row: Option<u32>| {
        row.and_then(|row| points.get(row as usize).copied().flatten()).unwrap_or(Point::ORIGIN)
    };
    for row in transfers.rows() {
        let (Some(from_code), Some(to_code)) = (from.code(row), to.code(row)) else { continue };
        let meters = point(from_rows.row(from_code)).distance_m(point(to_rows.row(to_code)));
        let kind = match meters {
            meters if meters > TOO_FAR_M => &TOO_LARGE,
            meters if meters > FAR_M => &ABOVE_2_KM,
            _ => continue,
        };
        out.add(kind, |sample| {
            sample.put("csvRowNumber", transfers.line(row));
            sample.put("fromStopId", from.text(from_code)).put("toStopId", to.text(to_code));
            sample.put("distanceKm", meters / 1_000.0);
        });
    }
}
