//! Mapping of vehicle activities to vehicles, and to trip updates if nothing else reports their journeys.

use lineside_formats::{
    gtfs_rt::proto::{
        FeedEntity, Position, TripUpdate, VehicleDescriptor, VehiclePosition,
        vehicle_position::{CongestionLevel, VehicleStopStatus},
    },
    siri::{VehicleActivity, VehicleActivityCancellation, VehicleJourney},
};
use smol_str::{SmolStr, format_smolstr};

use super::{
    CancelledEntity, GRACE_SECONDS, IdKind, MappingRules, SiriEntity, SiriIdMapping, TripRef,
    calls::CallMapper,
    journey_marks::JourneyQualifiers,
    journeys::{
        JourneyStart, date_of_framed_ref, name_from_planned_properties, to_trip_descriptor,
    },
    sequences::CallMatchingHints,
    service_days::list_aimed_call_times,
    terms, to_timestamp, to_unix_seconds,
    visits::monitored_journey_calls,
};
use crate::trip_identity::is_extra_trip;

/// Maps an activity to an entity; `None` without a journey.
pub(super) fn map_activity_to_vehicle(
    activity: &VehicleActivity,
    rules: MappingRules<'_>,
) -> Option<SiriEntity> {
    let journey = activity.monitored_vehicle_journey.as_deref()?;
    let at = journey.location_recorded_at_time.or(activity.recorded_at_time);
    let mut trip = to_trip_descriptor(journey, false, rules.ids);
    JourneyStart::from_journey(journey, rules.zone).set_trip_start(&mut trip);
    let id = vehicle_entity_id(activity, journey, rules.ids);
    let call = journey.monitored_call.as_deref();
    let stop = call.and_then(|call| call.stop_point_ref.as_deref());
    let is_at_stop = call.is_some_and(|call| call.vehicle_at_stop == Some(true));
    let status =
        if is_at_stop { VehicleStopStatus::StoppedAt } else { VehicleStopStatus::InTransitTo };
    let vehicle = VehiclePosition {
        position: map_position(journey),
        stop_id: stop.map(|stop| rules.ids.map_to_schedule_id(IdKind::Stop, stop).into()),
        current_status: stop.map(|_| status as i32),
        timestamp: to_timestamp(at),
        congestion_level: journey
            .in_congestion
            .filter(|in_congestion| *in_congestion)
            .map(|_| CongestionLevel::Congestion as i32),
        vehicle: to_vehicle_descriptor(journey, rules.ids),
        occupancy_status: journey.occupancy.and_then(terms::map_occupancy).map(|it| it as i32),
        trip: Some(trip).filter(|trip| trip.trip_id.is_some() || trip.route_id.is_some()),
        ..VehiclePosition::default()
    };
    let trip_update =
        rules.has_vehicle_delays.then(|| trip_update_from_vehicle(journey, rules)).flatten();
    let trip_update = trip_update.map(|update| TripUpdate {
        timestamp: to_timestamp(at),
        vehicle: vehicle.vehicle.clone(),
        ..update
    });
    let seen_until = to_unix_seconds(at).map(|at| at.saturating_add(GRACE_SECONDS));
    let until = to_unix_seconds(activity.valid_until_time).or(seen_until);
    let entity =
        FeedEntity { id: id.into(), vehicle: Some(vehicle), trip_update, ..FeedEntity::default() };
    let names = vehicle_names(activity, journey).into_iter().flatten().cloned();
    let (names, marks) = (names.collect(), JourneyQualifiers::from_journey(journey, rules.ids));
    let aimed = list_aimed_call_times(journey, rules.ids);
    let hints =
        CallMatchingHints::from_calls(monitored_journey_calls(journey).map(|(call, _)| call));
    let near = call.filter(|_| stop.is_some()).map(CallMatchingHints::from_call);
    Some(SiriEntity {
        names,
        marks,
        aimed,
        call_hints: hints,
        vehicle_call_hints: near,
        ..SiriEntity::from_entity(entity, until)
    })
}

/// Returns the producer's names of a vehicle, the most reliable first.
pub(super) fn vehicle_names<'a>(
    activity: &'a VehicleActivity,
    journey: &'a VehicleJourney,
) -> [Option<&'a SmolStr>; 3] {
    let names = [
        journey.vehicle_ref.as_ref(),
        activity.vehicle_monitoring_ref.as_ref(),
        activity.item_identifier.as_ref(),
    ];
    names.map(|name| name.filter(|name| !name.is_empty()))
}

/// Returns the vehicle of a journey; `None` without a name. If other producers may use the same name, it becomes the
/// label and the id gets a prefix.
pub(super) fn to_vehicle_descriptor(
    journey: &VehicleJourney,
    ids: &SiriIdMapping,
) -> Option<VehicleDescriptor> {
    let name = journey.vehicle_ref.as_ref().filter(|name| !name.is_empty())?;
    let id = unique_vehicle_id(name, journey, ids);
    let label = (id != *name).then(|| name.to_string());
    Some(VehicleDescriptor { id: Some(id.into()), label, ..VehicleDescriptor::default() })
}

/// Returns a vehicle's name, made unique within the feed. A feed may have several producers, each with its own vehicle
/// numbers, so the producer prefixes the name, whether or not another one currently uses it: a vehicle must not change
/// its id when another appears.
fn unique_vehicle_id(name: &SmolStr, journey: &VehicleJourney, ids: &SiriIdMapping) -> SmolStr {
    match find_vehicle_prefix(name, journey, ids) {
        Some((_, scope)) => format_smolstr!("{scope}:{name}"),
        None => name.clone(),
    }
}

/// The origin of a vehicle name's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VehiclePrefixOrigin {
    /// The source of the data.
    Source,
    /// The issuer of the line's id.
    Line,
    Operator,
}

/// Returns the prefix of a vehicle's name and its origin; `None` if the name is unique by itself.
pub(super) fn find_vehicle_prefix(
    name: &str,
    journey: &VehicleJourney,
    ids: &SiriIdMapping,
) -> Option<(VehiclePrefixOrigin, SmolStr)> {
    let is_given = |it: &&SmolStr| !it.is_empty();
    let source = journey.data_source.as_ref().filter(is_given).cloned();
    let line = || Some((VehiclePrefixOrigin::Line, netex_codespace(journey.line_ref.as_deref()?)?));
    let operator = || journey.operator_ref.as_ref().filter(is_given);
    let operator = || {
        operator()
            .map(|it| (VehiclePrefixOrigin::Operator, ids.map_to_schedule_id(IdKind::Operator, it)))
    };
    let scope = source.map(|it| (VehiclePrefixOrigin::Source, it)).or_else(line).or_else(operator);
    let is_own = |scope: &SmolStr| {
        let rest = name.strip_prefix(scope.as_str());
        rest.is_some_and(|rest| rest.starts_with(':'))
    };
    scope.filter(|(_, scope)| netex_codespace(name).is_none() && !is_own(scope))
}

/// Returns the issuer of a NeTEx id, such as `RUT` of `RUT:Line:18`; `None` for other ids.
pub(super) fn netex_codespace(id: &str) -> Option<SmolStr> {
    let (space, rest) = id.split_once(':')?;
    let is_id = !space.is_empty() && rest.split_once(':').is_some();
    is_id.then(|| SmolStr::new(space))
}

/// Returns a vehicle's data about its journey as a trip update: the delay, or predictions for its calls.
pub(super) fn trip_update_from_vehicle(
    journey: &VehicleJourney,
    rules: MappingRules<'_>,
) -> Option<TripUpdate> {
    let ids = rules.ids;
    let mut trip = to_trip_descriptor(journey, false, ids);
    JourneyStart::from_journey(journey, rules.zone).set_trip_start(&mut trip);
    trip.trip_id.as_ref()?;
    let taking = CallMapper { ids, is_unscheduled: is_extra_trip(&trip), is_cancelled: false };
    let calls = monitored_journey_calls(journey)
        .filter_map(|(call, is_past)| taking.map_to_stop_time_update(call, is_past));
    let mut stop_time_update: Vec<_> = calls.collect();
    let has_times = |it: &_| has_call_times(it);
    if !stop_time_update.iter().any(has_times) {
        stop_time_update.clear();
    }
    let delay = journey.delay.map(|delay| delay.0);
    let is_cancelled = journey.cancellation == Some(true);
    (delay.is_some() || is_cancelled || !stop_time_update.is_empty()).then(|| TripUpdate {
        trip,
        stop_time_update,
        delay,
        ..TripUpdate::default()
    })
}

fn has_call_times(update: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeUpdate) -> bool {
    update.arrival.is_some() || update.departure.is_some()
}

fn map_position(journey: &VehicleJourney) -> Option<Position> {
    let location = journey.vehicle_location.as_ref()?;
    Some(Position {
        latitude: location.latitude? as f32,
        longitude: location.longitude? as f32,
        bearing: journey.bearing.map(|bearing| bearing as f32),
        odometer: None,
        speed: journey.velocity.map(|velocity| velocity as f32),
    })
}

/// Returns the id of a vehicle's entity: stable across journeys if the producer names vehicles. Without a vehicle or
/// journey name, the journey's line and start identify it.
fn vehicle_entity_id(
    activity: &VehicleActivity,
    journey: &VehicleJourney,
    ids: &SiriIdMapping,
) -> SmolStr {
    let name = vehicle_names(activity, journey).into_iter().flatten().next();
    let unnamed = || journey.journey_ref().filter(|name| !name.is_empty());
    match name.or_else(unnamed) {
        Some(name) => format_smolstr!("vehicle:{}", unique_vehicle_id(name, journey, ids)),
        None => format_smolstr!("vehicle:{}", name_from_planned_properties(journey, None)),
    }
}

/// Maps the cancellation of a vehicle activity.
pub(super) fn map_vehicle_cancellation(
    activity: &VehicleActivityCancellation,
    ids: &SiriIdMapping,
) -> CancelledEntity {
    let journey = activity.vehicle_journey_ref.as_ref();
    let trip_id = journey.and_then(|it| it.dated_vehicle_journey_ref.as_deref());
    let trip = trip_id.map(|id| TripRef {
        trip_id: ids.map_to_schedule_id(IdKind::Journey, id),
        start_date: journey.and_then(date_of_framed_ref).map(SmolStr::from),
    });
    let names = [&activity.vehicle_monitoring_ref, &activity.item_ref];
    CancelledEntity::Vehicle { names: names.into_iter().flatten().cloned().collect(), trip }
}
