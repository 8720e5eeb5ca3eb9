//! Journeys after midnight whose producer uses the calendar date, while the timetable has them on the preceding service
//! day with times from 24:00 on.
//!
//! Only the aimed times decide: a trip that runs every day runs on the named date, too.

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{Timetable, TripIdx},
    gtfs_rt::proto::TripDescriptor,
    siri::{SiriCall, VehicleJourney},
};
use smol_str::SmolStr;

use super::{IdKind, SiriEntity, SiriIdMapping, calls::CallQuays, visits::monitored_journey_calls};
use crate::trip_forecast::parse_gtfs_date;
use crate::trip_identity::{format_gtfs_date, text_if_nonempty};

/// Maximum difference in seconds between the times of producer and timetable for the times to decide the day. Both may
/// round, and the plan may have changed a little; a larger difference means another plan.
const FITS_SECONDS_MAX: u64 = 5 * 60;
/// Maximum number of a journey's calls whose aimed times are compared until the timetable has one.
const AIMED_MAX: usize = 4;

/// The producer's aimed times of a call.
#[derive(Clone, Debug)]
pub(crate) struct AimedCallTimes {
    /// The stop; `None` means the first one of the trip.
    stop_id: Option<SmolStr>,
    arrival: Option<i64>,
    departure: Option<i64>,
}

/// Returns the aimed times of a journey: of its first calls that may be in a timetable, and of its start.
pub(super) fn list_aimed_call_times(
    journey: &VehicleJourney,
    ids: &SiriIdMapping,
) -> Vec<AimedCallTimes> {
    let reported_calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let calls = reported_calls.chain(monitored_journey_calls(journey).map(|(call, _)| call));
    let to_aimed_call = |call: &SiriCall| {
        let stop = CallQuays::from_call(call).planned.or(call.stop_point_ref.as_ref())?;
        let arrival = super::to_unix_seconds(call.aimed_arrival_time);
        let departure = super::to_unix_seconds(call.aimed_departure_time);
        let is_planned = call.extra_call != Some(true) && arrival.or(departure).is_some();
        let stop_id = Some(ids.map_to_schedule_id(IdKind::Stop, stop));
        is_planned.then_some(AimedCallTimes { stop_id, arrival, departure })
    };
    let departure = super::to_unix_seconds(journey.origin_aimed_departure_time);
    let start = departure.map(|_| AimedCallTimes { stop_id: None, arrival: None, departure });
    calls.filter_map(to_aimed_call).take(AIMED_MAX).chain(start).collect()
}

/// Moves a journey to the service day before the date in its reference, if its aimed times require it.
pub(super) fn correct_service_day(entity: &mut SiriEntity, timetable: &Timetable) {
    let aimed = std::mem::take(&mut entity.aimed);
    let update = entity.entity.trip_update.as_mut().map(|update| &mut update.trip);
    let vehicle = entity.entity.vehicle.as_mut().and_then(|vehicle| vehicle.trip.as_mut());
    for trip in update.into_iter().chain(vehicle) {
        if let Some(date) = find_previous_service_day(trip, &aimed, timetable) {
            trip.named_start_date = trip.start_date.replace(format_gtfs_date(date));
        }
    }
}

/// Returns the service day of a trip if it is the one before the date in its reference.
fn find_previous_service_day(
    trip: &TripDescriptor,
    aimed: &[AimedCallTimes],
    timetable: &Timetable,
) -> Option<Date> {
    let named = parse_gtfs_date(text_if_nonempty(&trip.start_date)?)?;
    let before = named.yesterday().ok()?;
    let known = timetable.find_trip(text_if_nonempty(&trip.trip_id)?)?;
    // The times of a frequency-based trip belong to no run.
    if timetable.trip(known).has_frequencies {
        return None;
    }
    let (planned, at) =
        aimed.iter().find_map(|aimed| scheduled_and_aimed_time(timetable, known, aimed))?;
    let service = timetable.trip(known).service;
    let fits = |date: Date| {
        timetable.is_service_active(service, date)
            && timetable.service_time_to_unix(date, planned).abs_diff(at) <= FITS_SECONDS_MAX
    };
    (!fits(named) && fits(before)).then_some(before)
}

/// Returns a call's scheduled time in seconds of the service day, and its aimed time in Unix seconds.
fn scheduled_and_aimed_time(
    timetable: &Timetable,
    trip: TripIdx,
    aimed: &AimedCallTimes,
) -> Option<(i32, i64)> {
    let mut calls = timetable.trip_stop_times(trip);
    let call = match aimed.stop_id.as_deref() {
        Some(stop) => calls.find(|call| timetable.stop(call.stop).id == stop),
        None => calls.next(),
    }?;
    call.departure.zip(aimed.departure).or(call.arrival.zip(aimed.arrival))
}
