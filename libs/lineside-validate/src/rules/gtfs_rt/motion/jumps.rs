//! Checks of vehicles that moved further since the last message than they can have driven.

use std::collections::HashMap;

use lineside_formats::gtfs_rt::proto::{FeedMessage, VehiclePosition};

use crate::{
    Notices,
    gtfs::haversine_distance_m,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{DISTANCE, ENTITY, LATITUDE, LONGITUDE, TRIP, VEHICLE, new_warning_kind},
        subject::VehicleWithSchedule,
        time::timestamp_unless_zero,
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&JUMP], on_update: None, on_message: Some(check_vehicle_jumps) };

static JUMP: NoticeKind = new_warning_kind(
    "vehicle_jump",
    &[
        ENTITY,
        TRIP,
        VEHICLE,
        LATITUDE,
        LONGITUDE,
        DISTANCE,
        ("seconds", "The seconds between the two reports."),
        ("speed", "The resulting speed, in meters per second."),
    ],
    include_str!("vehicle_jump.md"),
);

/// A shorter distance is never a jump, in meters: satellite positions err by as much.
const DISTANCE_MIN_M: f64 = 500.0;
/// Kilometers per hour in one meter per second.
const KM_PER_H: f64 = 3.6;

/// Returns the highest plausible speed of a vehicle, in meters per second, by its route type.
fn max_vehicle_speed(route_type: Option<i32>) -> f64 {
    let km_per_h = match route_type {
        // Trams, cable trams, gondolas, funiculars, ferries.
        Some(0 | 4..=7) => 120.0,
        // Underground, buses, trolleybuses, monorails.
        Some(1 | 3 | 11 | 12) => 180.0,
        // Trains, and unknown types: the fastest in service.
        _ => 500.0,
    };
    km_per_h / KM_PER_H
}

/// O(vehicles of both messages).
fn check_vehicle_jumps(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let Some(previous) = subject.previous else { return };
    if subject.vehicles.is_empty() {
        return;
    }
    let mut previous_vehicles = PreviousVehicles::new(previous);
    for (at, vehicle) in subject.vehicles.iter().enumerate() {
        if let Some(last) =
            vehicle.vehicle_id().and_then(|id| previous_vehicles.find_previous_vehicle(at, id))
        {
            check_vehicle_jump(subject, vehicle, last, previous, out);
        }
    }
}

/// The vehicles of the previous message. They are usually in the same order; the map is built only
/// if not.
struct PreviousVehicles<'a> {
    vehicles: Vec<(&'a str, &'a VehiclePosition)>,
    by_id: Option<HashMap<&'a str, &'a VehiclePosition>>,
}

impl<'a> PreviousVehicles<'a> {
    fn new(message: &'a FeedMessage) -> PreviousVehicles<'a> {
        let vehicles = message.entity.iter().filter_map(|entity| entity.vehicle.as_ref());
        let named = |vehicle: &'a VehiclePosition| {
            (vehicle.vehicle.as_ref().and_then(|it| it.id.as_deref()).unwrap_or_default(), vehicle)
        };
        PreviousVehicles { vehicles: vehicles.map(named).collect(), by_id: None }
    }

    fn find_previous_vehicle(&mut self, at: usize, id: &str) -> Option<&'a VehiclePosition> {
        if id.is_empty() {
            return None;
        }
        if let Some((_, vehicle)) = self.vehicles.get(at).filter(|(other, _)| *other == id) {
            return Some(vehicle);
        }
        let vehicles = &self.vehicles;
        self.by_id.get_or_insert_with(|| vehicles.iter().copied().collect()).get(id).copied()
    }
}

fn check_vehicle_jump(
    subject: &MessageWithContext<'_>,
    vehicle: &VehicleWithSchedule<'_>,
    last: &VehiclePosition,
    previous: &FeedMessage,
    out: &mut Notices,
) {
    let (Some(to), Some(from)) = (&vehicle.position.position, &last.position) else { return };
    let place = |lat: f32, lon: f32| (f64::from(lat), f64::from(lon));
    let (from, here) = (place(from.latitude, from.longitude), place(to.latitude, to.longitude));
    let is_same = from == here;
    if is_same {
        return;
    }
    let distance = haversine_distance_m(from, here);
    let own = timestamp_unless_zero(vehicle.position.timestamp)
        .zip(timestamp_unless_zero(last.timestamp));
    let header =
        || subject.header_timestamp().zip(timestamp_unless_zero(previous.header.timestamp));
    // If a vehicle's timestamp did not advance, the messages' timestamps give the elapsed time.
    let later = |(after, before): &(i64, i64)| after > before;
    let Some((after, before)) = own.filter(later).or_else(|| header().filter(later)) else {
        return;
    };
    let seconds = after.saturating_sub(before);
    let speed = distance / seconds as f64;
    let route_type = vehicle.trip.and_then(|trip| subject.timetable.route_type_of_trip(trip));
    if distance > DISTANCE_MIN_M && speed > max_vehicle_speed(route_type) {
        out.count_notice_with_sample(&JUMP, |sample| {
            let descriptor = vehicle.position.trip.as_ref();
            sample
                .set_field("entityId", vehicle.entity.id.as_str())
                .set_field("vehicleId", vehicle.vehicle_id());
            sample.set_field("tripId", descriptor.and_then(|trip| trip.trip_id.as_deref()));
            sample.set_field("latitude", to.latitude).set_field("longitude", to.longitude);
            sample.set_field("distance", distance.round() as u64).set_field("seconds", seconds);
            sample.set_field("speed", speed.round() as u64);
        });
    }
}
