//! The ids of records (docs/protocol/messages.md), which are stable across polls.

use crate::trip_identity::TripKey;
use crate::trip_identity::format_gtfs_date;
use lineside_formats::gtfs_rt::proto::{
    TripDescriptor, TripUpdate, VehiclePosition, trip_descriptor::ScheduleRelationship,
    trip_update::StopTimeUpdate,
};
use smol_str::{SmolStr, format_smolstr};

use super::NormalizeContext;
use crate::service_date::{nearest_service_date, service_date_from_call_times};
use crate::trip_identity::text_if_nonempty;

/// Fills in a missing `start_date` if the timetable knows the trip: from the scheduled times of its calls if given,
/// else from `at`, the time of the record in Unix seconds. A trip announced a day ahead does not belong to the day
/// before.
pub(super) fn fill_start_date(
    trip: &mut TripDescriptor,
    calls: &[StopTimeUpdate],
    context: NormalizeContext<'_>,
    at: i64,
) {
    if text_if_nonempty(&trip.start_date).is_some() {
        return;
    }
    let known = context.timetable.and_then(|timetable| {
        Some((timetable, timetable.find_trip(text_if_nonempty(&trip.trip_id)?)?))
    });
    if let Some((timetable, idx)) = known {
        let planned = service_date_from_call_times(timetable, idx, calls);
        let date = planned.unwrap_or_else(|| nearest_service_date(timetable, idx, at));
        trip.start_date = Some(format_gtfs_date(date));
    }
}

pub(super) fn vehicle_record_id(vehicle: &VehiclePosition, entity_id: &str) -> SmolStr {
    if let Some(id) = vehicle.vehicle.as_ref().and_then(|vehicle| text_if_nonempty(&vehicle.id)) {
        return SmolStr::new(id);
    }
    match vehicle.trip.as_ref().and_then(TripKey::from_descriptor) {
        Some(key) => {
            format_smolstr!("trip:{}:{}:{}", key.trip_id, key.start_date, key.start_time)
        }
        None => format_smolstr!("entity:{entity_id}"),
    }
}

/// Returns the id of a trip update. A duplicated trip has its own id, not that of its original.
pub(crate) fn trip_update_record_id(update: &TripUpdate, entity_id: &str) -> SmolStr {
    let own = update
        .trip_properties
        .as_ref()
        .filter(|_| update.trip.schedule_relationship() == ScheduleRelationship::Duplicated)
        .and_then(|own| {
            let date = text_if_nonempty(&own.start_date).unwrap_or_default();
            let time = text_if_nonempty(&own.start_time).unwrap_or_default();
            Some(TripKey {
                trip_id: text_if_nonempty(&own.trip_id)?,
                start_date: date,
                start_time: time,
            })
        });
    match own.or_else(|| TripKey::from_descriptor(&update.trip)) {
        Some(key) => format_smolstr!("{}:{}:{}", key.trip_id, key.start_date, key.start_time),
        None => format_smolstr!("entity:{entity_id}"),
    }
}
