//! How far vehicles are from the shape of their trip, in meters along the surface.

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{DISTANCE, ENTITY, LATITUDE, LONGITUDE, TRIP, VEHICLE, warning},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&OFF_SHAPE], on_update: None, on_message: Some(check) };

static OFF_SHAPE: Kind = warning(
    "vehicle_off_shape",
    &[ENTITY, TRIP, VEHICLE, LATITUDE, LONGITUDE, DISTANCE],
    include_str!("vehicle_off_shape.md"),
);

/// How far a vehicle may be off, in meters: as far as satellites err between high houses.
const OFF_MAX_M: f64 = 100.0;

/// O(vehicles), and at worst O(points) of each one's shape, sixteen at a time.
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for vehicle in &subject.vehicles {
        let (Some(trip), Some(position)) = (vehicle.trip, &vehicle.position.position) else {
            continue;
        };
        let place @ (lat, lon) = (f64::from(position.latitude), f64::from(position.longitude));
        let is_place = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
        if !is_place || subject.timetable.is_near_line(trip, place, OFF_MAX_M) {
            continue;
        }
        if subject.is_on_detour(vehicle) {
            continue;
        }
        out.add(&OFF_SHAPE, |sample| {
            let descriptor = vehicle.position.trip.as_ref();
            let meters = subject.timetable.off_line_m(trip, place);
            sample.put("entityId", vehicle.entity.id.as_str()).put("vehicleId", vehicle.id());
            sample.put("tripId", descriptor.and_then(|trip| trip.trip_id.as_deref()));
            sample.put("latitude", position.latitude).put("longitude", position.longitude);
            sample.put("distance", meters.map(|meters| meters.round() as u64));
        });
    }
}
