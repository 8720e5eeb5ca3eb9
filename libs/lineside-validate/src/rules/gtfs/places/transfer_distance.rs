//! Check of transfers between stops that are too far apart to walk.

use super::{GtfsRule, locations::LINE};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, SpherePoint},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&ABOVE_2_KM, &TOO_LARGE],
    files: &[GtfsFile::Transfers, GtfsFile::Stops],
    check: check_transfer_distances,
};

const FIELDS: &[(&str, &str)] = &[
    LINE,
    ("fromStopId", "The stop where the transfer begins."),
    ("toStopId", "The stop where the transfer ends."),
    ("distanceKm", "The distance, in kilometers."),
];

static ABOVE_2_KM: NoticeKind = NoticeKind {
    code: "transfer_distance_above_2_km",
    severity: Severity::Info,
    fields: FIELDS,
    page: include_str!("transfer_distance_above_2_km.md"),
};

static TOO_LARGE: NoticeKind = NoticeKind {
    code: "transfer_distance_too_large",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("transfer_distance_too_large.md"),
};

/// The distance in meters that few riders walk.
const FAR_M: f64 = 2_000.0;
/// The distance in meters that no rider walks.
const TOO_FAR_M: f64 = 10_000.0;

/// O(transfers + stops).
fn check_transfer_distances(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let transfers = feed.table(GtfsFile::Transfers);
    let (from, to) = (transfers.text_column("from_stop_id"), transfers.text_column("to_stop_id"));
    let from_rows = feed.rows_referenced_by_field(
        GtfsFile::Transfers,
        "from_stop_id",
        GtfsFile::Stops,
        "stop_id",
    );
    let to_rows = feed.rows_referenced_by_field(
        GtfsFile::Transfers,
        "to_stop_id",
        GtfsFile::Stops,
        "stop_id",
    );
    let points = feed.stop_positions();
    // The reference validator places a stop without coordinates at 0, 0: so far away that the
    // transfer is reported as too long.
    let point = |row: Option<u32>| {
        row.and_then(|row| points.get(row as usize).copied().flatten())
            .unwrap_or(SpherePoint::ORIGIN)
    };
    for row in transfers.row_numbers() {
        let (Some(from_code), Some(to_code)) =
            (from.text_code_of_row(row), to.text_code_of_row(row))
        else {
            continue;
        };
        let meters = point(from_rows.row_referenced_by_code(from_code))
            .distance_m(point(to_rows.row_referenced_by_code(to_code)));
        let kind = match meters {
            meters if meters > TOO_FAR_M => &TOO_LARGE,
            meters if meters > FAR_M => &ABOVE_2_KM,
            _ => continue,
        };
        out.count_notice_with_sample(kind, |sample| {
            sample.set_field("csvRowNumber", transfers.line_number(row));
            sample
                .set_field("fromStopId", from.text_of_code(from_code))
                .set_field("toStopId", to.text_of_code(to_code));
            sample.set_field("distanceKm", meters / 1_000.0);
        });
    }
}
