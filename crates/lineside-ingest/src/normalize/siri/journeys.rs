//! Mapping of estimated journeys to trip updates.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use lineside_formats::{
    gtfs_rt::proto::{
        FeedEntity, TripDescriptor, TripUpdate,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeUpdate, TripProperties},
    },
    siri::{FramedVehicleJourneyRef, SiriCall, SiriTime, VehicleJourney},
};
use smol_str::{SmolStr, ToSmolStr, format_smolstr};

use super::{
    GRACE_SECONDS, IdKind, MappingRules, SiriEntity, SiriIdMapping, calls::CallMapper,
    calls::latest_time_of_call, first_nonempty_text, incomplete::find_extra_calls_if_incomplete,
    journey_marks::JourneyQualifiers, sequences::CallMatchingHints,
    service_days::list_aimed_call_times, terms, to_timestamp, vehicles::to_vehicle_descriptor,
};
use crate::trip_identity::{format_gtfs_date, text_if_nonempty};

/// The prefix of entity ids of journeys.
pub(super) const PREFIX: &str = "journey";

pub(super) fn map_estimated_journey(
    journey: &VehicleJourney,
    frame_recorded_at: Option<SiriTime>,
    rules: MappingRules<'_>,
) -> SiriEntity {
    let ids = rules.ids;
    let calls = || journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let mut trip = to_trip_descriptor(journey, has_extra_calls(journey, calls()), ids);
    let start = JourneyStart::from_journey(journey, rules.zone);
    // Frequency-based runs share the name of their journey. An extra journey has its own name, with or without a start
    // time.
    trip.start_time = start.time.clone().filter(|_| journey.headway_service == Some(true));
    let id = trip_update_entity_id(&trip, journey);
    start.set_trip_start(&mut trip);
    // A cancelled extra journey was never in the schedule: only this message has its times.
    let is_cancelled = journey.extra_journey == Some(true) && journey.cancellation == Some(true);
    let taking = CallMapper {
        ids,
        is_unscheduled: is_cancelled || has_update_only_calls(&trip),
        is_cancelled,
    };
    let past_calls = journey.recorded_calls.iter().map(|call| (call, true));
    let ahead = journey.estimated_calls.iter().map(|call| (call, false));
    let is_numbered = has_usable_call_order(journey);
    let updates = past_calls.chain(ahead).filter_map(|(call, is_past)| {
        let stop_sequence = call.order.filter(|_| is_numbered);
        let update =
            StopTimeUpdate { stop_sequence, ..taking.map_to_stop_time_update(call, is_past)? };
        Some((call.extra_call == Some(true), update))
    });
    let (is_extra, mut stop_time_update): (Vec<bool>, Vec<_>) = updates.unzip();
    set_occupancy_of_next_call(journey, &mut stop_time_update);
    // Other journeys may get further calls from the schedule.
    if journey.extra_journey == Some(true) {
        set_departure_of_last_call(&mut stop_time_update);
    }
    let update = TripUpdate {
        trip,
        stop_time_update,
        vehicle: to_vehicle_descriptor(journey, ids),
        timestamp: to_timestamp(journey.recorded_at_time.or(frame_recorded_at)),
        delay: None,
        trip_properties: to_trip_properties(journey),
    };
    let extra_calls = find_extra_calls_if_incomplete(journey, &update, is_extra.into_iter());
    let ends = calls().filter_map(latest_time_of_call).max();
    let ends = ends.or(journey.destination_aimed_arrival_time.map(SiriTime::as_seconds));
    let entity = FeedEntity { id: id.into(), trip_update: Some(update), ..FeedEntity::default() };
    let until = ends.map(|ends| ends.saturating_add(GRACE_SECONDS));
    let (marks, aimed) =
        (JourneyQualifiers::from_journey(journey, ids), list_aimed_call_times(journey, ids));
    let hints = CallMatchingHints::from_calls(calls());
    SiriEntity {
        extra_calls,
        marks,
        aimed,
        call_hints: hints,
        ..SiriEntity::from_entity(entity, until)
    }
}

/// Returns true if the journey has calls that are not in the schedule.
pub(super) fn has_extra_calls<'a>(
    journey: &VehicleJourney,
    calls: impl Iterator<Item = &'a SiriCall>,
) -> bool {
    let mut calls = calls;
    journey.extra_journey != Some(true) && calls.any(|call| call.extra_call == Some(true))
}

/// Returns true if the calls of a trip come from its update alone.
fn has_update_only_calls(trip: &TripDescriptor) -> bool {
    crate::trip_identity::is_extra_trip(trip)
}

/// Gives the occupancy of the journey's vehicle to the next call.
fn set_occupancy_of_next_call(journey: &VehicleJourney, calls: &mut [StopTimeUpdate]) {
    if let Some(occupancy) = journey.occupancy.and_then(terms::map_occupancy)
        && let Some(next) = calls.get_mut(journey.recorded_calls.len())
        && next.departure_occupancy_status.is_none()
    {
        next.departure_occupancy_status = Some(occupancy as i32);
    }
}

/// Gives the last call of an extra journey the departure that every row of a timetable has: without one,
/// OpenTripPlanner computes a negative dwell time and drops the trip.
fn set_departure_of_last_call(calls: &mut [StopTimeUpdate]) {
    if let Some(last) = calls.last_mut()
        && last.departure.is_none()
    {
        last.departure.clone_from(&last.arrival);
    }
}

/// Returns the trip of a journey. A cancelled journey stays cancelled, whatever else it says.
pub(super) fn to_trip_descriptor(
    journey: &VehicleJourney,
    has_own_calls: bool,
    ids: &SiriIdMapping,
) -> TripDescriptor {
    let relationship = if journey.cancellation == Some(true) {
        Some(ScheduleRelationship::Canceled)
    } else if journey.extra_journey == Some(true) {
        Some(ScheduleRelationship::New)
    } else if has_own_calls {
        Some(ScheduleRelationship::Replacement)
    } else {
        None
    };
    TripDescriptor {
        trip_id: journey.journey_ref().map(|id| ids.map_to_schedule_id(IdKind::Journey, id).into()),
        start_date: journey.framed_vehicle_journey_ref.as_ref().and_then(date_of_framed_ref),
        start_time: None,
        schedule_relationship: relationship.map(|it| it as i32),
        route_id: journey
            .line_ref
            .as_ref()
            .map(|line| ids.map_to_schedule_id(IdKind::Line, line).into()),
        direction_id: journey.direction_ref.as_deref().and_then(parse_direction),
        modified_trip: None,
        named_start_date: None,
    }
}

/// Returns true if `Order` can serve as `stop_sequence` of an extra journey's calls, which the schedule does not
/// number.
pub(super) fn has_usable_call_order(journey: &VehicleJourney) -> bool {
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let orders = calls.map(|call| call.order.filter(|order| *order > 0));
    journey.extra_journey == Some(true)
        && orders.clone().all(|order| order.is_some())
        && orders.is_sorted_by(|a, b| a < b)
}

/// The start of a journey in GTFS terms.
#[derive(Clone, Debug, Default)]
pub(super) struct JourneyStart {
    pub(super) date: Option<String>,
    /// The start time, only for runs that name and day do not identify: frequency-based runs and extra journeys.
    pub(super) time: Option<String>,
}

impl JourneyStart {
    /// Reads the start of a journey. An extra journey without a date belongs to the day in `zone` on which it starts.
    pub(super) fn from_journey(journey: &VehicleJourney, zone: &TimeZone) -> JourneyStart {
        let is_extra = journey.extra_journey == Some(true);
        let named = journey.framed_vehicle_journey_ref.as_ref().and_then(date_of_framed_ref);
        let starts = journey.origin_aimed_departure_time.map(SiriTime::as_seconds);
        let starts = starts.filter(|_| is_extra || journey.headway_service == Some(true));
        let day = || Some(Timestamp::from_second(starts?).ok()?.to_zoned(zone.clone()).date());
        let date = named.or_else(|| day().filter(|_| is_extra).map(format_gtfs_date));
        let time =
            date.as_deref().zip(starts).and_then(|it| format_service_day_time(it.0, it.1, zone));
        JourneyStart { date, time }
    }

    pub(super) fn set_trip_start(self, trip: &mut TripDescriptor) {
        (trip.start_date, trip.start_time) = (self.date, self.time);
    }
}

/// Formats a Unix time as a time of a service day.
fn format_service_day_time(date: &str, moment: i64, zone: &TimeZone) -> Option<String> {
    let noon = Date::strptime("%Y%m%d", date).ok()?.at(12, 0, 0, 0).to_zoned(zone.clone()).ok()?;
    let midnight = noon.timestamp().as_second() - 12 * 3_600;
    let seconds = u32::try_from(moment - midnight).ok().filter(|seconds| *seconds < 100 * 3_600)?;
    Some(format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60))
}

/// Returns the date of a journey as in GTFS, if its frame is named by date.
pub(super) fn date_of_framed_ref(framed: &FramedVehicleJourneyRef) -> Option<String> {
    let text = framed.data_frame_ref.as_deref()?;
    let digits: String = match text.len() {
        8 => text.to_owned(),
        // A time or time zone after the date is ignored.
        _ => {
            let date = text.get(..10)?;
            let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
            is_date.then(|| date.replace('-', ""))?
        }
    };
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)
}

/// Parses a direction that is 0 or 1 as in GTFS; other names cannot be mapped.
pub(super) fn parse_direction(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&direction| direction <= 1)
}

fn to_trip_properties(journey: &VehicleJourney) -> Option<TripProperties> {
    let trip_headsign = first_nonempty_text(&journey.destination_names).map(str::to_owned);
    let trip_short_name = first_nonempty_text(&journey.vehicle_journey_names).map(str::to_owned);
    let trip_short_name =
        trip_short_name.or(journey.train_number_refs.first().map(ToString::to_string));
    let properties = TripProperties { trip_headsign, trip_short_name, ..TripProperties::default() };
    (properties != TripProperties::default()).then_some(properties)
}

/// Returns the id of a journey's entity. A journey without a reference is identified by its line, its start and other
/// stable properties: several journeys of a line may start at once.
fn trip_update_entity_id(trip: &TripDescriptor, journey: &VehicleJourney) -> SmolStr {
    match text_if_nonempty(&trip.trip_id) {
        Some(trip_id) => {
            let id = journey_entity_id(PREFIX, trip_id, trip.start_date.as_deref());
            match &trip.start_time {
                Some(time) => format_smolstr!("{id}:{time}"),
                None => id,
            }
        }
        None => {
            let first = journey.recorded_calls.first().or(journey.estimated_calls.first());
            format_smolstr!("{PREFIX}:{}", name_from_planned_properties(journey, first))
        }
    }
}

/// Returns a name for a journey without a reference, made of its planned properties.
pub(super) fn name_from_planned_properties(
    journey: &VehicleJourney,
    first: Option<&SiriCall>,
) -> String {
    let mut name = format!(
        "{}:{}",
        journey.line_ref.as_deref().unwrap_or_default(),
        journey.direction_ref.as_deref().unwrap_or_default()
    );
    let starts = journey
        .origin_aimed_departure_time
        .or_else(|| first.and_then(|call| call.aimed_departure_time.or(call.aimed_arrival_time)));
    let starts = starts.map(|starts| starts.to_smolstr());
    let named = journey.vehicle_journey_names.first().map(|name| SmolStr::new(&name.value));
    let parts = [
        starts,
        journey.origin_ref.clone().or(first.and_then(|call| call.stop_point_ref.clone())),
        journey.destination_ref.clone(),
        named.or(journey.train_number_refs.first().cloned()),
    ];
    for part in parts.into_iter().flatten() {
        name.push(':');
        name.push_str(&part);
    }
    name
}

/// Returns the id of an entity of a named journey.
pub(super) fn journey_entity_id(prefix: &str, trip_id: &str, start_date: Option<&str>) -> SmolStr {
    match start_date {
        Some(date) => format_smolstr!("{prefix}:{trip_id}:{date}"),
        None => format_smolstr!("{prefix}:{trip_id}"),
    }
}
