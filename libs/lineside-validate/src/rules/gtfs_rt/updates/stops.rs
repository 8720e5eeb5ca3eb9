//! Checks of stops that the schedule lacks, and of locations where vehicles do not stop.

use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{ENTITY, Field, STOP, TRIP, VEHICLE, error_kind},
        schedule_index::{STOP_OR_PLATFORM, ScheduleIndex, StopTimeEntry},
        subject::TripUpdateRef,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&UNKNOWN, &NO_PLATFORM],
    on_update: Some(check_update_stops),
    on_message: Some(check_stop_references),
};

const LOCATION_TYPE: Field = ("locationType", "The location type.");

static UNKNOWN: NoticeKind =
    error_kind("E011", &[ENTITY, TRIP, VEHICLE, STOP], include_str!("E011.md"));

static NO_PLATFORM: NoticeKind =
    error_kind("E015", &[ENTITY, TRIP, VEHICLE, STOP, LOCATION_TYPE], include_str!("E015.md"));

/// The furthest distance to search ahead for a stop, so that messages with stops of other trips do
/// not cost more.
const SEARCH_MAX: usize = 64;

/// O(vehicles and informed entities).
fn check_stop_references(subject: &MessageSubject<'_>, out: &mut Notices) {
    let timetable = subject.timetable;
    for vehicle in &subject.vehicles {
        let Some(id) = vehicle.position.stop_id.as_deref() else { continue };
        let fill = |sample: &mut NoticeSample| {
            sample.set_field("entityId", vehicle.entity.id.as_str());
            sample.set_field("vehicleId", vehicle.vehicle_id()).set_field("stopId", id);
        };
        check_stop_id(timetable, timetable.find_stop(id), fill, out);
    }
    for entity in &subject.message.entity {
        for selector in entity.alert.iter().flat_map(|alert| &alert.informed_entity) {
            let Some(id) = selector.stop_id.as_deref() else { continue };
            // Alerts may refer to stations.
            if timetable.find_stop(id).is_none() {
                out.add_notice(&UNKNOWN, |sample| {
                    sample.set_field("entityId", entity.id.as_str()).set_field("stopId", id);
                });
            }
        }
    }
}

/// O(stop time updates). Stops usually come in the order of the trip, so few are looked up.
fn check_update_stops(subject: &MessageSubject<'_>, update: &TripUpdateRef<'_>, out: &mut Notices) {
    let timetable = subject.timetable;
    let mut ahead = update.trip.map_or(&[][..], |trip| timetable.stop_times(trip));
    for stop_update in &update.update.stop_time_update {
        let Some(id) = stop_update.stop_id.as_deref() else { continue };
        let stop = find_stop_ahead(timetable, &mut ahead, id);
        let fill = |sample: &mut NoticeSample| {
            sample.set_field("entityId", update.entity.id.as_str()).set_field("stopId", id);
            sample.set_field("tripId", update.update.trip.trip_id.as_deref());
        };
        check_stop_id(timetable, stop, fill, out);
    }
}

/// Returns the code of a stop, which is probably the next one of the trip.
fn find_stop_ahead(
    timetable: &ScheduleIndex,
    ahead: &mut &[StopTimeEntry],
    id: &str,
) -> Option<u32> {
    let stop_of = |time: &StopTimeEntry| timetable.stop_of_time(time);
    if let Some((stop, _)) = ahead.first().and_then(stop_of).filter(|&(_, next)| next == id) {
        *ahead = &ahead[1..];
        return Some(stop);
    }
    let stop = timetable.find_stop(id)?;
    let mut near = ahead.iter().take(SEARCH_MAX);
    let at = near.position(|time| stop_of(time).is_some_and(|(other, _)| other == stop));
    if let Some(at) = at {
        *ahead = &ahead[at + 1..];
    }
    Some(stop)
}

fn check_stop_id(
    timetable: &ScheduleIndex,
    stop: Option<u32>,
    fill: impl FnOnce(&mut NoticeSample),
    out: &mut Notices,
) {
    let Some(stop) = stop else {
        out.add_notice(&UNKNOWN, fill);
        return;
    };
    let location_type = timetable.location_type(stop);
    if location_type != STOP_OR_PLATFORM {
        out.add_notice(&NO_PLATFORM, |sample| {
            fill(sample);
            sample.set_field("locationType", location_type);
        });
    }
}
