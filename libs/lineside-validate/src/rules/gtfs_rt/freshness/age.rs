//! Checks of vehicles and trip updates that were not updated for a while.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{AGE, ENTITY, TIMESTAMP, TRIP, VEHICLE, new_warning_kind},
        time::{is_plausible_posix_time, timestamp_unless_zero},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&OLD_VEHICLE, &OLD_UPDATE],
    on_update: None,
    on_message: Some(check_entity_ages),
};

static OLD_VEHICLE: NoticeKind = new_warning_kind(
    "stale_vehicle",
    &[ENTITY, TRIP, VEHICLE, TIMESTAMP, AGE],
    include_str!("stale_vehicle.md"),
);

static OLD_UPDATE: NoticeKind = new_warning_kind(
    "stale_trip_update",
    &[ENTITY, TRIP, VEHICLE, TIMESTAMP, AGE],
    include_str!("stale_trip_update.md"),
);

/// The largest age of a vehicle or trip update, in seconds, as the best practices recommend.
const AGE_MAX_S: i64 = 90;

/// O(entities).
fn check_entity_ages(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let age_of = |time: Option<u64>| {
        let time = timestamp_unless_zero(time).filter(|&time| is_plausible_posix_time(time))?;
        let age = subject.now.saturating_sub(time);
        (age > AGE_MAX_S).then_some((time, age))
    };
    for vehicle in &subject.vehicles {
        let Some((time, age)) = age_of(vehicle.position.timestamp) else { continue };
        out.count_notice_with_sample(&OLD_VEHICLE, |sample| {
            let trip = vehicle.position.trip.as_ref();
            sample
                .set_field("entityId", vehicle.entity.id.as_str())
                .set_field("vehicleId", vehicle.vehicle_id());
            sample.set_field("tripId", trip.and_then(|trip| trip.trip_id.as_deref()));
            sample.set_field("timestamp", time).set_field("age", age);
        });
    }
    for update in &subject.updates {
        let Some((time, age)) = age_of(update.update.timestamp) else { continue };
        out.count_notice_with_sample(&OLD_UPDATE, |sample| {
            sample.set_field("entityId", update.entity.id.as_str());
            sample.set_field("vehicleId", update.trip_reference().vehicle_id());
            sample.set_field("tripId", update.update.trip.trip_id.as_deref());
            sample.set_field("timestamp", time).set_field("age", age);
        });
    }
}
