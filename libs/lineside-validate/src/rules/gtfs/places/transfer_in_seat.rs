//! Transfers within the same vehicle: from the end of one trip to the beginning of the next.

use super::{
    GtfsRule,
    locations::{LINE, Locations, STATION, STOP_ID},
    transfer_ends::{ENDS, IN_SEAT, NOT_IN_SEAT, calls},
    transfer_with_invalid_stop_location_type::say,
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, simple::MISSING_REQUIRED_FIELD},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Transfers, File::Stops, File::StopTimes], check };

static KIND: Kind = Kind {
    code: "transfer_with_suspicious_mid_trip_in_seat",
    severity: Severity::Warning,
    fields: &[
        LINE,
        ("tripIdFieldName", "At which end of the transfer it is."),
        ("tripId", "The trip."),
        ("stopIdFieldName", "The field of the stop."),
        STOP_ID,
    ],
    page: include_str!("transfer_with_suspicious_mid_trip_in_seat.md"),
};

/// O(transfers · log transfers + stop times of their trips).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let transfers = feed.table(File::Transfers);
    let kinds = transfers.numbers("transfer_type");
    let is_in_seat = |row: u32| matches!(kinds.get(row), Some(IN_SEAT | NOT_IN_SEAT));
    if !transfers.rows().any(is_in_seat) {
        return;
    }
    let stops = Locations::of(feed);
    let calls = calls(feed, is_in_seat);
    let ends = ENDS.map(|end| {
        let stop_rows = feed.link(File::Transfers, end.stop, File::Stops, "stop_id");
        (end, transfers.texts(end.trip), transfers.texts(end.stop), stop_rows)
    });
    for row in transfers.rows().filter(|&row| is_in_seat(row)) {
        for (at, (end, trips, places, stop_rows)) in ends.iter().enumerate() {
            if trips.code(row).is_none() {
                out.add(&MISSING_REQUIRED_FIELD, |sample| {
                    sample.put("filename", transfers.name());
                    sample.put("csvRowNumber", transfers.line(row)).put("fieldName", end.trip);
                });
            }
            let Some(stop) = places.code(row).and_then(|code| stop_rows.row(code)) else {
                continue;
            };
            // Nothing stops at a station as such, only at its platforms.
            if stops.type_of(stop) == STATION {
                say(transfers, row, *end, STATION, out);
            }
            let is_outermost = || outermost_stop(feed, trips.get(row), at) == places.get(row);
            if calls[row as usize][at].at_stop && !is_outermost() {
                out.add(&KIND, |sample| {
                    sample.put("csvRowNumber", transfers.line(row));
                    sample.put("tripIdFieldName", end.trip).put("tripId", trips.get(row));
                    sample.put("stopIdFieldName", end.stop).put("stopId", places.get(row));
                });
            }
        }
    }
}

/// The last stop of the trip that a transfer begins at, or the first of the one that it ends at.
fn outermost_stop<'a>(feed: &'a Feed, trip: Option<&str>, end: usize) -> Option<&'a str> {
    let stop_times = feed.table(File::StopTimes);
    let trip = stop_times.texts("trip_id").find(trip?)?;
    let groups = feed.groups(File::StopTimes, "trip_id");
    let rows = groups.rows(trip);
    stop_times.texts("stop_id").get(*if end == 0 { rows.last() } else { rows.first() }?)
}
