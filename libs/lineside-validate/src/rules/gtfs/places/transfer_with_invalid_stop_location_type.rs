//! Check of transfers to locations that are neither stops nor stations.

use super::{
    GtfsRule,
    locations::{LINE, LocationHierarchy, STATION, STOP, STOP_ID, location_type_report_name},
    transfer_ends::{ENDS, TransferEndFields},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, GtfsTable},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Transfers, GtfsFile::Stops],
    check: check_transfer_location_types,
};

static KIND: NoticeKind = NoticeKind {
    code: "transfer_with_invalid_stop_location_type",
    severity: Severity::Error,
    fields: &[
        LINE,
        ("stopIdFieldName", "The field, which names the end of the transfer."),
        STOP_ID,
        ("locationTypeValue", "The location type, as a number."),
        ("locationTypeName", "The name of the location type."),
    ],
    page: include_str!("transfer_with_invalid_stop_location_type.md"),
};

/// O(transfers).
fn check_transfer_location_types(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let transfers = feed.table(GtfsFile::Transfers);
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let ends = ENDS.map(|end| {
        let stop_rows = feed.rows_referenced_by_field(
            GtfsFile::Transfers,
            end.stop,
            GtfsFile::Stops,
            "stop_id",
        );
        (end, transfers.text_column(end.stop), stop_rows)
    });
    for row in transfers.row_numbers() {
        for (end, texts, stop_rows) in &ends {
            let stop =
                texts.text_code_of_row(row).and_then(|code| stop_rows.row_referenced_by_code(code));
            let Some(location_type) = stop.map(|stop| stops.location_type(stop)) else { continue };
            if !matches!(location_type, STOP | STATION) {
                report_wrong_location_type(transfers, row, *end, location_type, out);
            }
        }
    }
}

pub(super) fn report_wrong_location_type(
    transfers: &GtfsTable,
    row: u32,
    end: TransferEndFields,
    location_type: i32,
    out: &mut Notices,
) {
    out.count_notice_with_sample(&KIND, |sample| {
        sample
            .set_field("csvRowNumber", transfers.line_number(row))
            .set_field("stopIdFieldName", end.stop);
        sample.set_field("stopId", transfers.text_column(end.stop).get(row));
        sample.set_field("locationTypeValue", location_type);
        sample.set_field("locationTypeName", location_type_report_name(location_type));
    });
}
