//! Checks of the positions, speeds and bearings of vehicles.

use lineside_formats::gtfs_rt::proto::Position;

use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, LATITUDE, LONGITUDE, TRIP, VEHICLE, new_error_kind, new_warning_kind},
        subject::VehicleWithSchedule,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_PLACE, &BEARING, &FAR_AWAY, &OFF_LINE, &SPEED],
    on_update: None,
    on_message: Some(check_vehicle_positions),
};

static NO_PLACE: NoticeKind =
    new_error_kind("E026", &[ENTITY, VEHICLE, LATITUDE, LONGITUDE], include_str!("E026.md"));

static BEARING: NoticeKind = new_error_kind(
    "E027",
    &[ENTITY, VEHICLE, ("bearing", "The bearing, in degrees.")],
    include_str!("E027.md"),
);

static FAR_AWAY: NoticeKind =
    new_error_kind("E028", &[ENTITY, VEHICLE, LATITUDE, LONGITUDE], include_str!("E028.md"));

static OFF_LINE: NoticeKind =
    new_error_kind("E029", &[ENTITY, TRIP, VEHICLE, LATITUDE, LONGITUDE], include_str!("E029.md"));

static SPEED: NoticeKind = new_warning_kind(
    "W004",
    &[ENTITY, VEHICLE, ("speed", "The speed, in meters per second.")],
    include_str!("W004.md"),
);

/// The highest plausible speed, in meters per second: about 60 miles per hour, as in the reference
/// validator.
const SPEED_MAX_M_PER_S: f32 = 26.0;
/// The largest accepted distance of a vehicle from the shape of its trip, in meters.
const OFF_LINE_MAX_M: f64 = 200.0;

/// O(vehicles), and at worst O(points) of each one's shape, sixteen at a time.
fn check_vehicle_positions(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for vehicle in &subject.vehicles {
        let Some(position) = &vehicle.position.position else { continue };
        let fill = |sample: &mut NoticeSample| {
            sample
                .set_field("entityId", vehicle.entity.id.as_str())
                .set_field("vehicleId", vehicle.vehicle_id());
        };
        if let Some(speed) = position.speed.filter(|&it| !(0.0..=SPEED_MAX_M_PER_S).contains(&it)) {
            out.count_notice_with_sample(&SPEED, |sample| {
                fill(sample);
                sample.set_field("speed", speed);
            });
        }
        if let Some(bearing) = position.bearing.filter(|it| !(0.0..=360.0).contains(it)) {
            out.count_notice_with_sample(&BEARING, |sample| {
                fill(sample);
                sample.set_field("bearing", bearing);
            });
        }
        check_vehicle_coordinates(subject, vehicle, position, out);
    }
}

fn check_vehicle_coordinates(
    subject: &MessageWithContext<'_>,
    vehicle: &VehicleWithSchedule<'_>,
    position: &Position,
    out: &mut Notices,
) {
    let place @ (lat, lon) = (f64::from(position.latitude), f64::from(position.longitude));
    let fill = |sample: &mut NoticeSample| {
        sample
            .set_field("entityId", vehicle.entity.id.as_str())
            .set_field("vehicleId", vehicle.vehicle_id());
        sample.set_field("latitude", position.latitude).set_field("longitude", position.longitude);
    };
    if !(-90.0..=90.0).contains(&lat) || !(-180.0..=180.0).contains(&lon) {
        out.count_notice_with_sample(&NO_PLACE, fill);
        return;
    }
    if !subject.timetable.is_point_in_service_area(lat, lon) {
        out.count_notice_with_sample(&FAR_AWAY, fill);
        return;
    }
    let (Some(trip), Some(descriptor)) = (vehicle.trip, &vehicle.position.trip) else { return };
    if subject.timetable.is_near_shape_like_reference(trip, place, OFF_LINE_MAX_M) {
        return;
    }
    if !subject.is_on_detour(vehicle) {
        out.count_notice_with_sample(&OFF_LINE, |sample| {
            fill(sample);
            sample.set_field("tripId", descriptor.trip_id.as_deref());
        });
    }
}
