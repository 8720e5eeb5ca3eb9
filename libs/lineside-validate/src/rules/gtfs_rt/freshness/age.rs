//! Vehicles and trip updates that were not made anew for a while.

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{AGE, ENTITY, TIMESTAMP, TRIP, VEHICLE, warning},
        time::{is_posix, timestamp},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&OLD_VEHICLE, &OLD_UPDATE], on_update: None, on_message: Some(check) };

static OLD_VEHICLE: Kind = warning(
    "stale_vehicle",
    &[ENTITY, TRIP, VEHICLE, TIMESTAMP, AGE],
    include_str!("stale_vehicle.md"),
);

static OLD_UPDATE: Kind = warning(
    "stale_trip_update",
    &[ENTITY, TRIP, VEHICLE, TIMESTAMP, AGE],
    include_str!("stale_trip_update.md"),
);

/// How old either may be, in seconds: what the best practices grant.
const AGE_MAX_S: i64 = 90;

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    let age_of = |time: Option<u64>| {
        let time = timestamp(time).filter(|&time| is_posix(time))?;
        let age = subject.now.saturating_sub(time);
        (age > AGE_MAX_S).then_some((time, age))
    };
    for vehicle in &subject.vehicles {
        let Some((time, age)) = age_of(vehicle.position.timestamp) else { continue };
        out.add(&OLD_VEHICLE, |sample| {
            let trip = vehicle.position.trip.as_ref();
            sample.put("entityId", vehicle.entity.id.as_str()).put("vehicleId", vehicle.id());
            sample.put("tripId", trip.and_then(|trip| trip.trip_id.as_deref()));
            sample.put("timestamp", time).put("age", age);
        });
    }
    for update in &subject.updates {
        let Some((time, age)) = age_of(update.update.timestamp) else { continue };
        out.add(&OLD_UPDATE, |sample| {
            sample.put("entityId", update.entity.id.as_str());
            sample.put("vehicleId", update.run().vehicle_id());
            sample.put("tripId", update.update.trip.trip_id.as_deref());
            sample.put("timestamp", time).put("age", age);
        });
    }
}
