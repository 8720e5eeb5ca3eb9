//! Check of the distance of vehicles from the shape of their trip, in meters along the surface.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{DISTANCE, ENTITY, LATITUDE, LONGITUDE, TRIP, VEHICLE, new_warning_kind},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&OFF_SHAPE],
    on_update: None,
    on_message: Some(check_vehicles_near_shape),
};

static OFF_SHAPE: NoticeKind = new_warning_kind(
    "vehicle_off_shape",
    &[ENTITY, TRIP, VEHICLE, LATITUDE, LONGITUDE, DISTANCE],
    include_str!("vehicle_off_shape.md"),
);

/// The largest accepted distance, in meters: the error of satellite positions between tall
/// buildings.
const OFF_MAX_M: f64 = 100.0;

/// O(vehicles), and at worst O(points) of each one's shape, sixteen at a time.
fn check_vehicles_near_shape(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for vehicle in &subject.vehicles {
        let (Some(trip), Some(position)) = (vehicle.trip, &vehicle.position.position) else {
            continue;
        };
        let place @ (lat, lon) = (f64::from(position.latitude), f64::from(position.longitude));
        let is_place = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
        if !is_place || subject.timetable.is_near_shape_on_ground(trip, place, OFF_MAX_M) {
            continue;
        }
        if subject.is_on_detour(vehicle) {
            continue;
        }
        out.count_notice_with_sample(&OFF_SHAPE, |sample| {
            let descriptor = vehicle.position.trip.as_ref();
            let meters = subject.timetable.distance_to_shape_m(trip, place);
            sample
                .set_field("entityId", vehicle.entity.id.as_str())
                .set_field("vehicleId", vehicle.vehicle_id());
            sample.set_field("tripId", descriptor.and_then(|trip| trip.trip_id.as_deref()));
            sample
                .set_field("latitude", position.latitude)
                .set_field("longitude", position.longitude);
            sample.set_field("distance", meters.map(|meters| meters.round() as u64));
        });
    }
}
