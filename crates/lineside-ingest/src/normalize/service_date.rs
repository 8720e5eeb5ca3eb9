//! The service date of a trip whose feed does not say it.

use jiff::civil::Date;
use lineside_formats::gtfs::{Timetable, TripIdx};

/// The date on which the trip runs nearest to `at` (Unix seconds): the one whose span holds it, else whose span is
/// closest. Yesterday's trip still runs after midnight, tomorrow's may be announced before it.
pub(super) fn nearest_service_date(timetable: &Timetable, trip: TripIdx, at: i64) -> Date {
    let today = timetable.local_date(at);
    let service = timetable.trip(trip).service;
    let (start, end) = span(timetable, trip);
    let near = [
        today.yesterday().and_then(Date::yesterday),
        today.yesterday(),
        Ok(today),
        today.tomorrow(),
    ];
    near.into_iter()
        .flatten()
        .filter(|&date| timetable.is_active(service, date))
        .min_by_key(|&date| {
            let zero = timetable.service_time(date, 0);
            let (start, end) = (zero + i64::from(start), zero + i64::from(end));
            (start - at).max(at - end).max(0)
        })
        .unwrap_or(today)
}

/// First departure and last arrival in seconds of the service day, over all its runs.
fn span(timetable: &Timetable, trip: TripIdx) -> (i32, i32) {
    let mut calls = timetable.stop_times(trip);
    let first = calls.next();
    let last = calls.last().or(first);
    let start = first.and_then(|call| call.departure.or(call.arrival)).unwrap_or(0);
    let end = last.and_then(|call| call.arrival.or(call.departure)).unwrap_or(start);
    let frequencies = timetable.frequencies(trip);
    match (frequencies.first(), frequencies.last()) {
        (Some(first), Some(last)) => {
            (first.start, last.end.saturating_add(end.saturating_sub(start)))
        }
        _ => (start, end),
    }
}
