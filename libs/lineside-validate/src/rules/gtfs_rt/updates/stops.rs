//! Checks of stops that the schedule lacks, and of locations where vehicles do not stop.

use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, NoticeFieldMeaning, STOP, TRIP, VEHICLE, new_error_kind},
        schedule_index::{IndexedStopTime, STOP_OR_PLATFORM, ScheduleIndex},
        subject::TripUpdateWithSchedule,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&UNKNOWN, &NO_PLATFORM],
    on_update: Some(check_stop_update_stops),
    on_message: Some(check_vehicle_and_alert_stops),
};

const LOCATION_TYPE: NoticeFieldMeaning = ("locationType", "The location type.");

static UNKNOWN: NoticeKind =
    new_error_kind("E011", &[ENTITY, TRIP, VEHICLE, STOP], include_str!("E011.md"));

static NO_PLATFORM: NoticeKind =
    new_error_kind("E015", &[ENTITY, TRIP, VEHICLE, STOP, LOCATION_TYPE], include_str!("E015.md"));

/// The furthest distance to search ahead for a stop, so that messages with stops of other trips do
/// not cost more.
const SEARCH_MAX: usize = 64;

/// O(vehicles and informed entities).
fn check_vehicle_and_alert_stops(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let timetable = subject.timetable;
    for vehicle in &subject.vehicles {
        let Some(id) = vehicle.position.stop_id.as_deref() else { continue };
        let fill = |sample: &mut NoticeSample| {
            sample.set_field("entityId", vehicle.entity.id.as_str());
            sample.set_field("vehicleId", vehicle.vehicle_id()).set_field("stopId", id);
        };
        check_stop_known_and_served(timetable, timetable.stop_code_by_id(id), fill, out);
    }
    for entity in &subject.message.entity {
        for selector in entity.alert.iter().flat_map(|alert| &alert.informed_entity) {
            let Some(id) = selector.stop_id.as_deref() else { continue };
            // Alerts may refer to stations.
            if timetable.stop_code_by_id(id).is_none() {
                out.count_notice_with_sample(&UNKNOWN, |sample| {
                    sample.set_field("entityId", entity.id.as_str()).set_field("stopId", id);
                });
            }
        }
    }
}

/// O(stop time updates). Stops usually come in the order of the trip, so few are looked up.
fn check_stop_update_stops(
    subject: &MessageWithContext<'_>,
    update: &TripUpdateWithSchedule<'_>,
    out: &mut Notices,
) {
    let timetable = subject.timetable;
    let mut ahead = update.trip.map_or(&[][..], |trip| timetable.stop_times_of_trip(trip));
    for stop_update in &update.update.stop_time_update {
        let Some(id) = stop_update.stop_id.as_deref() else { continue };
        let stop = find_stop_code_ahead(timetable, &mut ahead, id);
        let fill = |sample: &mut NoticeSample| {
            sample.set_field("entityId", update.entity.id.as_str()).set_field("stopId", id);
            sample.set_field("tripId", update.update.trip.trip_id.as_deref());
        };
        check_stop_known_and_served(timetable, stop, fill, out);
    }
}

/// Returns the code of a stop, which is probably the next one of the trip.
fn find_stop_code_ahead(
    timetable: &ScheduleIndex,
    ahead: &mut &[IndexedStopTime],
    id: &str,
) -> Option<u32> {
    let stop_of = |time: &IndexedStopTime| timetable.stop_of_stop_time(time);
    if let Some((stop, _)) = ahead.first().and_then(stop_of).filter(|&(_, next)| next == id) {
        *ahead = &ahead[1..];
        return Some(stop);
    }
    let stop = timetable.stop_code_by_id(id)?;
    let mut near = ahead.iter().take(SEARCH_MAX);
    let at = near.position(|time| stop_of(time).is_some_and(|(other, _)| other == stop));
    if let Some(at) = at {
        *ahead = &ahead[at + 1..];
    }
    Some(stop)
}

fn check_stop_known_and_served(
    timetable: &ScheduleIndex,
    stop: Option<u32>,
    fill: impl FnOnce(&mut NoticeSample),
    out: &mut Notices,
) {
    let Some(stop) = stop else {
        out.count_notice_with_sample(&UNKNOWN, fill);
        return;
    };
    let location_type = timetable.stop_location_type(stop);
    if location_type != STOP_OR_PLATFORM {
        out.count_notice_with_sample(&NO_PLATFORM, |sample| {
            fill(sample);
            sample.set_field("locationType", location_type);
        });
    }
}
