//! Encoding of vehicles as vehicle activities.

use lineside_formats::{
    gtfs_rt::proto::{
        TripDescriptor, VehiclePosition,
        vehicle_position::{CongestionLevel, VehicleStopStatus},
    },
    siri::{DurationSeconds, Location, SiriCall, VehicleActivity, VehicleJourney},
};
use smol_str::SmolStr;

use super::{
    RecordEncodingContext, VEHICLE_VALID_FOR,
    calls::CallEncoder,
    journeys::{ResolvedTrip, is_cancelled_trip},
    monitored::set_monitored_call,
    terms, text_without_language, to_siri_time,
};
use crate::{
    departures::find_best_run_update,
    record::Record,
    trip_identity::{TripKey, text_if_nonempty},
};

/// Encodes a vehicle as a vehicle activity.
pub(super) fn encode_vehicle_activity(
    context: RecordEncodingContext<'_>,
    record: &Record,
    vehicle: &VehiclePosition,
) -> VehicleActivity {
    let at = context.recorded_at(vehicle.timestamp);
    let valid_until = at.saturating_add(VEHICLE_VALID_FOR.as_secs() as i64);
    VehicleActivity {
        recorded_at_time: to_siri_time(at),
        valid_until_time: to_siri_time(valid_until),
        vehicle_monitoring_ref: Some(record.id.clone()),
        monitored_vehicle_journey: Some(Box::new(encode_vehicle_journey(
            context, record, vehicle, at,
        ))),
        ..VehicleActivity::default()
    }
}

fn encode_vehicle_journey(
    context: RecordEncodingContext<'_>,
    record: &Record,
    vehicle: &VehiclePosition,
    at: i64,
) -> VehicleJourney {
    let none = TripDescriptor::default();
    let trip = vehicle.trip.as_ref().unwrap_or(&none);
    let mut journey = encode_journey_with_call(context, record, vehicle, trip, at);
    journey.line_ref = journey.line_ref.or_else(|| record.join.route_id.clone());
    if journey.destination_names.is_empty() {
        journey.destination_names = text_without_language(record.join.headsign.as_deref());
    }
    journey.monitored = Some(true);
    journey.in_congestion = vehicle.congestion_level.and_then(to_in_congestion);
    journey.data_source = Some(SmolStr::new(record.feed.as_str()));
    if let Some(position) = &vehicle.position {
        journey.vehicle_location = Some(Location {
            longitude: Some(to_shortest_f64(position.longitude)),
            latitude: Some(to_shortest_f64(position.latitude)),
            ..Location::default()
        });
        journey.bearing = position.bearing.map(to_shortest_f64);
        // SIRI requires whole, non-negative metres per second.
        let speed = position.speed.filter(|speed| *speed >= 0.0);
        journey.velocity = speed.map(|speed| f64::from(speed.round()));
    }
    let occupancy =
        vehicle.occupancy_status.and_then(|_| terms::map_occupancy(vehicle.occupancy_status()));
    journey.occupancy = occupancy.or(journey.occupancy);
    journey.delay = record.join.delay.map(DurationSeconds);
    let own = vehicle.vehicle.as_ref().and_then(|vehicle| text_if_nonempty(&vehicle.id));
    journey.vehicle_ref = own.map(SmolStr::new);
    journey
}

/// Encodes the journey with the call at which the vehicle is or to which it is heading.
fn encode_journey_with_call(
    context: RecordEncodingContext<'_>,
    record: &Record,
    vehicle: &VehiclePosition,
    trip: &TripDescriptor,
    at: i64,
) -> VehicleJourney {
    let run_update =
        TripKey::from_descriptor(trip).and_then(|key| find_best_run_update(context.state, key, at));
    let update = run_update.map(|run_update| run_update.update);
    let subject = match update {
        Some(update) => ResolvedTrip::from_update(context, trip, update),
        None => ResolvedTrip::from_descriptor(context, trip),
    };
    let planned = subject.list_calls_to_encode(update);
    let is_at_stop = vehicle.current_status() == VehicleStopStatus::StoppedAt;
    let sequence = vehicle.current_stop_sequence;
    let stop_id = text_if_nonempty(&vehicle.stop_id).or(record.join.next_stop_id.as_deref());
    let by_sequence = sequence
        .and_then(|sequence| planned.iter().position(|call| call.sequence == Some(sequence)));
    let index = by_sequence.or_else(|| planned.iter().position(|call| call.stop_id == stop_id));
    let encoder = CallEncoder {
        timetable: context.timetable,
        at,
        is_cancelled: is_cancelled_trip(trip)
            || update.is_some_and(|update| is_cancelled_trip(&update.trip)),
        headsign: subject.headsign.or(record.join.headsign.as_deref()),
        is_truncated: subject.lacks_first_calls(&planned),
        is_numbered: subject.has_valid_call_order(&planned),
    };
    let mut call = match index.filter(|&index| planned[index].stop_id.is_some()) {
        Some(index) => Some(encoder.encode_call(&planned, index, false)),
        None => stop_id.map(|id| SiriCall {
            stop_point_ref: Some(SmolStr::new(id)),
            stop_point_names: context.stop_name_text(id),
            ..SiriCall::default()
        }),
    };
    if let Some(call) = &mut call {
        call.vehicle_at_stop = vehicle.current_status.map(|_| is_at_stop);
    }
    let mut journey = subject.encode_journey_identity(&planned);
    if let Some(call) = call {
        set_monitored_call(&mut journey, call);
    }
    journey
}

/// Converts a 32-bit value to the shortest equal decimal, without meaningless digits.
fn to_shortest_f64(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

fn to_in_congestion(level: i32) -> Option<bool> {
    match CongestionLevel::try_from(level).ok()? {
        CongestionLevel::UnknownCongestionLevel => None,
        CongestionLevel::RunningSmoothly => Some(false),
        CongestionLevel::StopAndGo
        | CongestionLevel::Congestion
        | CongestionLevel::SevereCongestion => Some(true),
    }
}
