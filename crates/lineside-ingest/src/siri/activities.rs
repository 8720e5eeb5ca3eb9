//! Vehicles as monitored vehicles.

use lineside_formats::{
    gtfs_rt::proto::{
        TripDescriptor, VehiclePosition,
        vehicle_position::{CongestionLevel, VehicleStopStatus},
    },
    siri::{Call, Location, Seconds, VehicleActivity, VehicleJourney},
};
use smol_str::SmolStr;

use super::{
    Look, VEHICLE_VALID_FOR,
    calls::Telling,
    journeys::{Subject, is_off},
    moment,
    monitored::put_monitored,
    terms, texts,
};
use crate::{
    departures::said_of,
    normalize::{TripKey, given},
    record::Record,
};

/// The activity of a vehicle.
pub(super) fn of_vehicle(
    look: Look<'_>,
    record: &Record,
    vehicle: &VehiclePosition,
) -> VehicleActivity {
    let at = look.made_at(vehicle.timestamp);
    let valid_until = at.saturating_add(VEHICLE_VALID_FOR.as_secs() as i64);
    VehicleActivity {
        recorded_at_time: moment(at),
        valid_until_time: moment(valid_until),
        vehicle_monitoring_ref: Some(record.id.clone()),
        monitored_vehicle_journey: Some(Box::new(journey(look, record, vehicle, at))),
        ..VehicleActivity::default()
    }
}

fn journey(look: Look<'_>, record: &Record, vehicle: &VehiclePosition, at: i64) -> VehicleJourney {
    let none = TripDescriptor::default();
    let trip = vehicle.trip.as_ref().unwrap_or(&none);
    let mut journey = on_its_way(look, record, vehicle, trip, at);
    journey.line_ref = journey.line_ref.or_else(|| record.join.route_id.clone());
    if journey.destination_names.is_empty() {
        journey.destination_names = texts(record.join.headsign.as_deref());
    }
    journey.monitored = Some(true);
    journey.in_congestion = vehicle.congestion_level.and_then(congested);
    journey.data_source = Some(SmolStr::new(record.feed.as_str()));
    if let Some(position) = &vehicle.position {
        journey.vehicle_location = Some(Location {
            longitude: Some(degrees(position.longitude)),
            latitude: Some(degrees(position.latitude)),
            ..Location::default()
        });
        journey.bearing = position.bearing.map(degrees);
        // SIRI has whole metres a second, not negative.
        let speed = position.speed.filter(|speed| *speed >= 0.0);
        journey.velocity = speed.map(|speed| f64::from(speed.round()));
    }
    let occupancy =
        vehicle.occupancy_status.and_then(|_| terms::occupancy(vehicle.occupancy_status()));
    journey.occupancy = occupancy.or(journey.occupancy);
    journey.delay = record.join.delay.map(Seconds);
    let own = vehicle.vehicle.as_ref().and_then(|vehicle| given(&vehicle.id));
    journey.vehicle_ref = own.map(SmolStr::new);
    journey
}

/// The journey, with the call that the vehicle is at or heads for.
fn on_its_way(
    look: Look<'_>,
    record: &Record,
    vehicle: &VehiclePosition,
    trip: &TripDescriptor,
    at: i64,
) -> VehicleJourney {
    let said = TripKey::of(trip).and_then(|key| said_of(look.state, key, at));
    let update = said.map(|said| said.update);
    let subject = match update {
        Some(update) => Subject::of(look, trip, update),
        None => Subject::named(look, trip),
    };
    let planned = subject.calls(update);
    let is_at_stop = vehicle.current_status() == VehicleStopStatus::StoppedAt;
    let sequence = vehicle.current_stop_sequence;
    let stop_id = given(&vehicle.stop_id).or(record.join.next_stop_id.as_deref());
    let by_sequence = sequence
        .and_then(|sequence| planned.iter().position(|call| call.sequence == Some(sequence)));
    let index = by_sequence.or_else(|| planned.iter().position(|call| call.stop_id == stop_id));
    let telling = Telling {
        timetable: look.timetable,
        at,
        is_off: is_off(trip) || update.is_some_and(|update| is_off(&update.trip)),
        headsign: subject.headsign.or(record.join.headsign.as_deref()),
        is_cut: subject.is_cut(&planned),
        is_numbered: subject.is_numbered(&planned),
    };
    let mut call = match index.filter(|&index| planned[index].stop_id.is_some()) {
        Some(index) => Some(telling.call(&planned, index, false)),
        None => stop_id.map(|id| Call {
            stop_point_ref: Some(SmolStr::new(id)),
            stop_point_names: look.stop_name(id),
            ..Call::default()
        }),
    };
    if let Some(call) = &mut call {
        call.vehicle_at_stop = vehicle.current_status.map(|_| is_at_stop);
    }
    let mut journey = subject.journey(&planned);
    if let Some(call) = call {
        put_monitored(&mut journey, call);
    }
    journey
}

/// A decimal as the producer's 32 bits have it, without digits that nobody gave.
fn degrees(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

fn congested(level: i32) -> Option<bool> {
    match CongestionLevel::try_from(level).ok()? {
        CongestionLevel::UnknownCongestionLevel => None,
        CongestionLevel::RunningSmoothly => Some(false),
        CongestionLevel::StopAndGo
        | CongestionLevel::Congestion
        | CongestionLevel::SevereCongestion => Some(true),
    }
}
