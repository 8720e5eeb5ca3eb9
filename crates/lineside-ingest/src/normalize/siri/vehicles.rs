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
    journeys::{date_of, name_by_content, start_time, trip_of},
    seconds, terms, timestamp,
    visits::calls_of,
};
use crate::normalize::is_extra;

/// An activity as an entity; none if it tells of no journey.
pub(super) fn entity_of(activity: &VehicleActivity, rules: Rules<'_>) -> Option<SiriEntity> {
    let journey = activity.monitored_vehicle_journey.as_deref()?;
    let at = journey.location_recorded_at_time.or(activity.recorded_at_time);
    let mut trip = trip_of(journey, false, rules.ids);
    trip.start_time = start_time(journey, trip.start_date.as_deref(), rules.zone);
    let id = entity_id(activity, journey);
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
        vehicle: journey.vehicle_ref.as_ref().map(|id| VehicleDescriptor {
            id: Some(id.to_string()),
            ..VehicleDescriptor::default()
        }),
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
    Some(SiriEntity { entity, until, visits: None })
}

/// What a vehicle tells of its journey: how late it is, or what is expected at its calls.
fn update_of(journey: &VehicleJourney, rules: Rules<'_>) -> Option<TripUpdate> {
    let ids = rules.ids;
    let mut trip = trip_of(journey, false, ids);
    trip.start_time = start_time(journey, trip.start_date.as_deref(), rules.zone);
    trip.trip_id.as_ref()?;
    let taking = Calls { ids, is_own: is_extra(&trip) };
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
fn entity_id(activity: &VehicleActivity, journey: &VehicleJourney) -> SmolStr {
    let names = [
        journey.vehicle_ref.as_ref(),
        activity.vehicle_monitoring_ref.as_ref(),
        activity.item_identifier.as_ref(),
        journey.journey_ref(),
    ];
    match names.into_iter().flatten().find(|name| !name.is_empty()) {
        Some(name) => format_smolstr!("vehicle:{name}"),
        None => format_smolstr!("vehicle:{}", name_by_content(journey, None)),
    }
}

/// What a vehicle's cancellation takes back.
pub(super) fn cancelled(activity: &VehicleActivityCancellation, ids: &SiriIds) -> Cancelled {
    let journey = activity.vehicle_journey_ref.as_ref();
    let trip_id = journey.and_then(|it| it.dated_vehicle_journey_ref.as_deref());
    let named = activity.vehicle_monitoring_ref.as_deref();
    let trip = trip_id.map(|id| TripRef {
        trip_id: ids.map(IdKind::Journey, id),
        start_date: journey.and_then(date_of).map(SmolStr::from),
    });
    Cancelled::Vehicle {
        entity_id: named.map(|name| format_smolstr!("vehicle:{name}")),
        item: activity.item_ref.clone(),
        trip,
    }
}
