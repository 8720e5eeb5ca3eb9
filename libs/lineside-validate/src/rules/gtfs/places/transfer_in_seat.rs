//! Checks of in-seat transfers: from the end of one trip to the start of the next.

use super::{
    GtfsRule,
    locations::{LINE, LocationHierarchy, STATION, STOP_ID},
    transfer_ends::{ENDS, IN_SEAT, NOT_IN_SEAT, find_calls_at_transfer_ends},
    transfer_with_invalid_stop_location_type::report_wrong_location_type,
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, simple::MISSING_REQUIRED_FIELD},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Transfers, GtfsFile::Stops, GtfsFile::StopTimes],
    check: check_in_seat_transfers,
};

static KIND: NoticeKind = NoticeKind {
    code: "transfer_with_suspicious_mid_trip_in_seat",
    severity: Severity::Warning,
    fields: &[
        LINE,
        ("tripIdFieldName", "The field, which names the end of the transfer."),
        ("tripId", "The trip."),
        ("stopIdFieldName", "The field of the stop."),
        STOP_ID,
    ],
    page: include_str!("transfer_with_suspicious_mid_trip_in_seat.md"),
};

/// O(transfers · log transfers + stop times of their trips).
fn check_in_seat_transfers(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let transfers = feed.table(GtfsFile::Transfers);
    let kinds = transfers.number_column("transfer_type");
    let is_in_seat = |row: u32| matches!(kinds.get(row), Some(IN_SEAT | NOT_IN_SEAT));
    if !transfers.row_numbers().any(is_in_seat) {
        return;
    }
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let calls = find_calls_at_transfer_ends(feed, is_in_seat);
    let ends = ENDS.map(|end| {
        let stop_rows = feed.rows_referenced_by_field(
            GtfsFile::Transfers,
            end.stop,
            GtfsFile::Stops,
            "stop_id",
        );
        (end, transfers.text_column(end.trip), transfers.text_column(end.stop), stop_rows)
    });
    for row in transfers.row_numbers().filter(|&row| is_in_seat(row)) {
        for (at, (end, trips, places, stop_rows)) in ends.iter().enumerate() {
            if trips.text_code_of_row(row).is_none() {
                out.count_notice_with_sample(&MISSING_REQUIRED_FIELD, |sample| {
                    sample.set_field("filename", transfers.file_name());
                    sample
                        .set_field("csvRowNumber", transfers.line_number(row))
                        .set_field("fieldName", end.trip);
                });
            }
            let Some(stop) = places
                .text_code_of_row(row)
                .and_then(|code| stop_rows.row_referenced_by_code(code))
            else {
                continue;
            };
            // Vehicles stop at platforms, not at a station.
            if stops.location_type(stop) == STATION {
                report_wrong_location_type(transfers, row, *end, STATION, out);
            }
            let is_outermost = || stop_at_trip_end(feed, trips.get(row), at) == places.get(row);
            if calls[row as usize][at].at_stop && !is_outermost() {
                out.count_notice_with_sample(&KIND, |sample| {
                    sample.set_field("csvRowNumber", transfers.line_number(row));
                    sample
                        .set_field("tripIdFieldName", end.trip)
                        .set_field("tripId", trips.get(row));
                    sample
                        .set_field("stopIdFieldName", end.stop)
                        .set_field("stopId", places.get(row));
                });
            }
        }
    }
}

/// Returns the last stop of the trip at the start of a transfer, or the first stop of the trip at
/// its end.
fn stop_at_trip_end<'a>(feed: &'a GtfsFeed, trip: Option<&str>, end: usize) -> Option<&'a str> {
    let stop_times = feed.table(GtfsFile::StopTimes);
    let trip = stop_times.text_column("trip_id").find_text_code(trip?)?;
    let groups = feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id");
    let rows = groups.rows_with_text_code(trip);
    stop_times.text_column("stop_id").get(*if end == 0 { rows.last() } else { rows.first() }?)
}
