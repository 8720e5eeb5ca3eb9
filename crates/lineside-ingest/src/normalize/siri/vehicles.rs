//! What vehicles do, as vehicles, and as trip updates where nothing else tells of their journeys.

use lineside_formats::{
    gtfs_rt::proto::{
        FeedEntity, Position, TripUpdate, VehicleDescriptor, VehiclePosition,
        vehicle_position::{CongestionLevel, VehicleStopStatus},
    },
    siri::{VehicleActivity, VehicleActivityCancellation, VehicleJourney},
};
use smol_str::{SmolStr, format_smolstr};

use super::{
    Cancelled, GRACE_SECONDS, IdKind, Rules, SiriEntity, SiriIds, TripRef,
    calls::Calls,
    journeys::{Start, date_of, name_by_content, trip_of},
    producers::Marks,
    seconds,
    sequences::Told,
    service_days::aimed_of,
    terms, timestamp,
    visits::calls_of,
};
use crate::normalize::is_extra;

/// An activity as an entity; none if it tells of no journey.
pub(super) fn entity_of(activity: &VehicleActivity, rules: Rules<'_>) -> Option<SiriEntity> {
    let journey = activity.monitored_vehicle_journey.as_deref()?;
    let at = journey.location_recorded_at_time.or(activity.recorded_at_time);
    let mut trip = trip_of(journey, false, rules.ids);
    Start::of(journey, rules.zone).put(&mut trip);
    let id = entity_id(activity, journey, rules.ids);
    let call = journey.monitored_call.as_deref();
    let stop = call.and_then(|call| call.stop_point_ref.as_deref());
    let stands = call.is_some_and(|call| call.vehicle_at_stop == Some(true));
    let status = if stands { VehicleStopStatus::StoppedAt } else { VehicleStopStatus::InTransitTo };
    let vehicle = VehiclePosition {
        position: position(journey),
        stop_id: stop.map(|stop| rules.ids.map(IdKind::Stop, stop).into()),
        current_status: stop.map(|_| status as i32),
        timestamp: timestamp(at),
        congestion_level: journey
            .in_congestion
            .filter(|in_congestion| *in_congestion)
            .map(|_| CongestionLevel::Congestion as i32),
        vehicle: descriptor(journey, rules.ids),
        occupancy_status: journey.occupancy.and_then(terms::occupancy).map(|it| it as i32),
        trip: Some(trip).filter(|trip| trip.trip_id.is_some() || trip.route_id.is_some()),
        ..VehiclePosition::default()
    };
    let trip_update = rules.vehicles_tell_delays.then(|| update_of(journey, rules)).flatten();
    let trip_update = trip_update.map(|update| TripUpdate {
        timestamp: timestamp(at),
        vehicle: vehicle.vehicle.clone(),
        ..update
    });
    let seen_until = seconds(at).map(|at| at.saturating_add(GRACE_SECONDS));
    let until = seconds(activity.valid_until_time).or(seen_until);
    let entity =
        FeedEntity { id: id.into(), vehicle: Some(vehicle), trip_update, ..FeedEntity::default() };
    let names = names_of(activity, journey).into_iter().flatten().cloned();
    let (names, marks) = (names.collect(), Marks::of(journey, rules.ids));
    let aimed = aimed_of(journey, rules.ids);
    let told = Told::of_each(calls_of(journey).map(|(call, _)| call));
    let near = call.filter(|_| stop.is_some()).map(Told::of);
    Some(SiriEntity { names, marks, aimed, told, near, ..SiriEntity::of(entity, until) })
}

/// What a producer calls a vehicle, the surest name first.
pub(super) fn names_of<'a>(
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

/// The vehicle on a journey; none where it has no name. Where its producer's name may be another's too, that is its label
/// and its id says whose it is.
pub(super) fn descriptor(journey: &VehicleJourney, ids: &SiriIds) -> Option<VehicleDescriptor> {
    let name = journey.vehicle_ref.as_ref().filter(|name| !name.is_empty())?;
    let id = scoped(name, journey, ids);
    let label = (id != *name).then(|| name.to_string());
    Some(VehicleDescriptor { id: Some(id.into()), label, ..VehicleDescriptor::default() })
}

/// A vehicle's name, unlike that of any other vehicle of the feed. A feed may be of several producers, and each numbers its
/// vehicles as it likes; the one that is meant stands before the name, whether or not another uses it at the time, so that
/// a vehicle does not change its id when another appears.
fn scoped(name: &SmolStr, journey: &VehicleJourney, ids: &SiriIds) -> SmolStr {
    match scope_of(name, journey, ids) {
        Some((_, scope)) => format_smolstr!("{scope}:{name}"),
        None => name.clone(),
    }
}

/// What says whose a vehicle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Where the data come from.
    Source,
    /// Who gives the line its id.
    Line,
    Operator,
}

/// What stands before a vehicle's name, and from where it is; none where the name says it by itself.
pub(super) fn scope_of(
    name: &str,
    journey: &VehicleJourney,
    ids: &SiriIds,
) -> Option<(Scope, SmolStr)> {
    let is_given = |it: &&SmolStr| !it.is_empty();
    let source = journey.data_source.as_ref().filter(is_given).cloned();
    let line = || Some((Scope::Line, codespace(journey.line_ref.as_deref()?)?));
    let operator = || journey.operator_ref.as_ref().filter(is_given);
    let operator = || operator().map(|it| (Scope::Operator, ids.map(IdKind::Operator, it)));
    let scope = source.map(|it| (Scope::Source, it)).or_else(line).or_else(operator);
    let is_own = |scope: &SmolStr| {
        let rest = name.strip_prefix(scope.as_str());
        rest.is_some_and(|rest| rest.starts_with(':'))
    };
    scope.filter(|(_, scope)| codespace(name).is_none() && !is_own(scope))
}

/// Who gives an id of NeTEx out, such as `RUT` of `RUT:Line:18`; none of other ids.
pub(super) fn codespace(id: &str) -> Option<SmolStr> {
    let (space, rest) = id.split_once(':')?;
    let is_id = !space.is_empty() && rest.split_once(':').is_some();
    is_id.then(|| SmolStr::new(space))
}

/// What a vehicle tells of its journey: how late it is, or what is expected at its calls.
pub(super) fn update_of(journey: &VehicleJourney, rules: Rules<'_>) -> Option<TripUpdate> {
    let ids = rules.ids;
    let mut trip = trip_of(journey, false, ids);
    Start::of(journey, rules.zone).put(&mut trip);
    trip.trip_id.as_ref()?;
    let taking = Calls { ids, is_own: is_extra(&trip), is_off: false };
    let calls = calls_of(journey).filter_map(|(call, is_over)| taking.update_of(call, is_over));
    let mut stop_time_update: Vec<_> = calls.collect();
    let tells = |it: &_| has_times(it);
    if !stop_time_update.iter().any(tells) {
        stop_time_update.clear();
    }
    let delay = journey.delay.map(|delay| delay.0);
    let is_off = journey.cancellation == Some(true);
    (delay.is_some() || is_off || !stop_time_update.is_empty()).then(|| TripUpdate {
        trip,
        stop_time_update,
        delay,
        ..TripUpdate::default()
    })
}

fn has_times(update: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeUpdate) -> bool {
    update.arrival.is_some() || update.departure.is_some()
}

fn position(journey: &VehicleJourney) -> Option<Position> {
    let location = journey.vehicle_location.as_ref()?;
    Some(Position {
        latitude: location.latitude? as f32,
        longitude: location.longitude? as f32,
        bearing: journey.bearing.map(|bearing| bearing as f32),
        odometer: None,
        speed: journey.velocity.map(|velocity| velocity as f32),
    })
}

/// The id of a vehicle's entity: it stays the same from one journey to the next where the producer names vehicles. Where
/// it names neither vehicle nor journey it is known by where and when it began.
fn entity_id(activity: &VehicleActivity, journey: &VehicleJourney, ids: &SiriIds) -> SmolStr {
    let name = names_of(activity, journey).into_iter().flatten().next();
    let unnamed = || journey.journey_ref().filter(|name| !name.is_empty());
    match name.or_else(unnamed) {
        Some(name) => format_smolstr!("vehicle:{}", scoped(name, journey, ids)),
        None => format_smolstr!("vehicle:{}", name_by_content(journey, None)),
    }
}

/// What a vehicle's cancellation takes back.
pub(super) fn cancelled(activity: &VehicleActivityCancellation, ids: &SiriIds) -> Cancelled {
    let journey = activity.vehicle_journey_ref.as_ref();
    let trip_id = journey.and_then(|it| it.dated_vehicle_journey_ref.as_deref());
    let trip = trip_id.map(|id| TripRef {
        trip_id: ids.map(IdKind::Journey, id),
        start_date: journey.and_then(date_of).map(SmolStr::from),
    });
    let names = [&activity.vehicle_monitoring_ref, &activity.item_ref];
    Cancelled::Vehicle { names: names.into_iter().flatten().cloned().collect(), trip }
}
