//! Where vehicles are, how fast, and which way they go.

use lineside_formats::gtfs_rt::proto::Position;

use crate::{
    Notices,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, LATITUDE, LONGITUDE, TRIP, VEHICLE, error, warning},
        subject::Vehicle,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_PLACE, &BEARING, &FAR_AWAY, &OFF_LINE, &SPEED],
    on_update: None,
    on_message: Some(check),
};

static NO_PLACE: Kind =
    error("E026", &[ENTITY, VEHICLE, LATITUDE, LONGITUDE], include_str!("E026.md"));

static BEARING: Kind = error(
    "E027",
    &[ENTITY, VEHICLE, ("bearing", "The bearing, in degrees.")],
    include_str!("E027.md"),
);

static FAR_AWAY: Kind =
    error("E028", &[ENTITY, VEHICLE, LATITUDE, LONGITUDE], include_str!("E028.md"));

static OFF_LINE: Kind =
    error("E029", &[ENTITY, TRIP, VEHICLE, LATITUDE, LONGITUDE], include_str!("E029.md"));

static SPEED: Kind = warning(
    "W004",
    &[ENTITY, VEHICLE, ("speed", "The speed, in meters per second.")],
    include_str!("W004.md"),
);

/// The fastest that counts as real, in meters per second: about 60 miles per hour, as the reference
/// validator has it.
const SPEED_MAX_M_PER_S: f32 = 26.0;
/// How far a vehicle may be from the shape of its trip, in meters.
const OFF_LINE_MAX_M: f64 = 200.0;

/// O(vehicles), and at worst O(points) of each one's shape, sixteen at a time.
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for vehicle in &subject.vehicles {
        let Some(position) = &vehicle.position.position else { continue };
        let fill = |sample: &mut Sample| {
            sample.put("entityId", vehicle.entity.id.as_str()).put("vehicleId", vehicle.id());
        };
        if let Some(speed) = position.speed.filter(|&it| !(0.0..=SPEED_MAX_M_PER_S).contains(&it)) {
            out.add(&SPEED, |sample| {
                fill(sample);
                sample.put("speed", speed);
            });
        }
        if let Some(bearing) = position.bearing.filter(|it| !(0.0..=360.0).contains(it)) {
            out.add(&BEARING, |sample| {
                fill(sample);
                sample.put("bearing", bearing);
            });
        }
        check_place(subject, vehicle, position, out);
    }
}

fn check_place(
    subject: &Subject<'_>,
    vehicle: &Vehicle<'_>,
    position: &Position,
    out: &mut Notices,
) {
    let place @ (lat, lon) = (f64::from(position.latitude), f64::from(position.longitude));
    let fill = |sample: &mut Sample| {
        sample.put("entityId", vehicle.entity.id.as_str()).put("vehicleId", vehicle.id());
        sample.put("latitude", position.latitude).put("longitude", position.longitude);
    };
    if !(-90.0..=90.0).contains(&lat) || !(-180.0..=180.0).contains(&lon) {
        out.add(&NO_PLACE, fill);
        return;
    }
    if !subject.timetable.covers(lat, lon) {
        out.add(&FAR_AWAY, fill);
        return;
    }
    let (Some(trip), Some(descriptor)) = (vehicle.trip, &vehicle.position.trip) else { return };
    if subject.timetable.is_on_line(trip, place, OFF_LINE_MAX_M) {
        return;
    }
    if !subject.is_on_detour(vehicle) {
        out.add(&OFF_LINE, |sample| {
            fill(sample);
            sample.put("tripId", descriptor.trip_id.as_deref());
        });
    }
}
