//! The service date of a trip whose feed does not state it.

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{Timetable, TripIdx},
    gtfs_rt::proto::trip_update::{StopTimeEvent, StopTimeUpdate},
};

use crate::trip_identity::text_if_nonempty;

/// Returns the service date whose run is nearest to `at` (Unix seconds): the run that contains it, else the closest.
/// Yesterday's trip may still run after midnight, tomorrow's may be announced before it.
pub fn nearest_service_date(timetable: &Timetable, trip: TripIdx, at: i64) -> Date {
    let today = timetable.local_date_at(at);
    let service = timetable.trip(trip).service;
    let (start, end) = first_departure_last_arrival(timetable, trip);
    let near = [
        today.yesterday().and_then(Date::yesterday),
        today.yesterday(),
        Ok(today),
        today.tomorrow(),
    ];
    near.into_iter()
        .flatten()
        .filter(|&date| timetable.is_service_active(service, date))
        .min_by_key(|&date| {
            let zero = timetable.service_time_to_unix(date, 0);
            let (start, end) = (zero + i64::from(start), zero + i64::from(end));
            (start - at).max(at - end).max(0)
        })
        .unwrap_or(today)
}

/// Returns the service date on which a call is nearest to its scheduled time in the update, for the first call with
/// both times; `None` if the trip does not run near that day.
pub fn service_date_from_call_times(
    timetable: &Timetable,
    trip: TripIdx,
    calls: &[StopTimeUpdate],
) -> Option<Date> {
    // The times of a frequency-based trip belong to no run.
    if timetable.trip(trip).has_frequencies {
        return None;
    }
    let (offset, aimed) =
        calls.iter().find_map(|call| scheduled_and_aimed_call_time(timetable, trip, call))?;
    let day = timetable.local_date_at(aimed.saturating_sub(i64::from(offset)));
    let service = timetable.trip(trip).service;
    let near = [day.yesterday(), Ok(day), day.tomorrow()];
    near.into_iter()
        .flatten()
        .filter(|&date| timetable.is_service_active(service, date))
        .min_by_key(|&date| timetable.service_time_to_unix(date, offset).abs_diff(aimed))
}

/// Returns a call's scheduled time in the timetable, in seconds of the service day, and in the message, in Unix
/// seconds.
fn scheduled_and_aimed_call_time(
    timetable: &Timetable,
    trip: TripIdx,
    call: &StopTimeUpdate,
) -> Option<(i32, i64)> {
    let stop = text_if_nonempty(&call.stop_id);
    let known = timetable.trip_stop_times(trip).find(|known| match call.stop_sequence {
        Some(sequence) => known.stop_sequence == sequence,
        None => stop.is_some_and(|stop| timetable.stop(known.stop).id == stop),
    })?;
    let aimed_time = |event: &Option<StopTimeEvent>| {
        let event = event.as_ref()?;
        let by_delay = || event.time?.checked_sub(i64::from(event.delay?));
        event.scheduled_time.or_else(by_delay)
    };
    let departure = known.departure.zip(aimed_time(&call.departure));
    departure.or_else(|| known.arrival.zip(aimed_time(&call.arrival)))
}

/// Returns the first departure and last arrival over all runs, in seconds of the service day.
fn first_departure_last_arrival(timetable: &Timetable, trip: TripIdx) -> (i32, i32) {
    let mut calls = timetable.trip_stop_times(trip);
    let first = calls.next();
    let last = calls.last().or(first);
    let start = first.and_then(|call| call.departure.or(call.arrival)).unwrap_or(0);
    let end = last.and_then(|call| call.arrival.or(call.departure)).unwrap_or(start);
    let frequencies = timetable.frequencies_of_trip(trip);
    match (frequencies.first(), frequencies.last()) {
        (Some(first), Some(last)) => {
            (first.start, last.end.saturating_add(end.saturating_sub(start)))
        }
        _ => (start, end),
    }
}
