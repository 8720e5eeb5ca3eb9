//! Stops that the schedule has not, or where nothing stops.

use crate::{
    Notices,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, Field, STOP, TRIP, VEHICLE, error},
        subject::Update,
        timetable::{STOP_OR_PLATFORM, StopTime, Timetable},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&UNKNOWN, &NO_PLATFORM],
    on_update: Some(check_update),
    on_message: Some(check),
};

const LOCATION_TYPE: Field = ("locationType", "What the location is instead.");

static UNKNOWN: Kind = error("E011", &[ENTITY, TRIP, VEHICLE, STOP], include_str!("E011.md"));

static NO_PLATFORM: Kind =
    error("E015", &[ENTITY, TRIP, VEHICLE, STOP, LOCATION_TYPE], include_str!("E015.md"));

/// How far ahead a stop is looked for, so that a message with stops of other trips costs no more
/// than others.
const SEARCH_MAX: usize = 64;

/// O(vehicles and informed entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    let timetable = subject.timetable;
    for vehicle in &subject.vehicles {
        let Some(id) = vehicle.position.stop_id.as_deref() else { continue };
        let fill = |sample: &mut Sample| {
            sample.put("entityId", vehicle.entity.id.as_str());
            sample.put("vehicleId", vehicle.id()).put("stopId", id);
        };
        check_stop(timetable, timetable.stop(id), fill, out);
    }
    for entity in &subject.message.entity {
        for selector in entity.alert.iter().flat_map(|alert| &alert.informed_entity) {
            let Some(id) = selector.stop_id.as_deref() else { continue };
            // Alerts may be about stations.
            if timetable.stop(id).is_none() {
                out.add(&UNKNOWN, |sample| {
                    sample.put("entityId", entity.id.as_str()).put("stopId", id);
                });
            }
        }
    }
}

/// O(stop time updates). Their stops are mostly those of the trip, in its order, so few are looked
/// up.
fn check_update(subject: &Subject<'_>, update: &Update<'_>, out: &mut Notices) {
    let timetable = subject.timetable;
    let mut ahead = update.trip.map_or(&[][..], |trip| timetable.stop_times(trip));
    for stop_update in &update.update.stop_time_update {
        let Some(id) = stop_update.stop_id.as_deref() else { continue };
        let stop = find(timetable, &mut ahead, id);
        let fill = |sample: &mut Sample| {
            sample.put("entityId", update.entity.id.as_str()).put("stopId", id);
            sample.put("tripId", update.update.trip.trip_id.as_deref());
        };
        check_stop(timetable, stop, fill, out);
    }
}

/// The code of a stop, which is likely to be the next one of the trip.
fn find(timetable: &Timetable, ahead: &mut &[StopTime], id: &str) -> Option<u32> {
    let stop_of = |time: &StopTime| timetable.stop_of(time);
    if let Some((stop, _)) = ahead.first().and_then(stop_of).filter(|&(_, next)| next == id) {
        *ahead = &ahead[1..];
        return Some(stop);
    }
    let stop = timetable.stop(id)?;
    let mut near = ahead.iter().take(SEARCH_MAX);
    let at = near.position(|time| stop_of(time).is_some_and(|(other, _)| other == stop));
    if let Some(at) = at {
        *ahead = &ahead[at + 1..];
    }
    Some(stop)
}

fn check_stop(
    timetable: &Timetable,
    stop: Option<u32>,
    fill: impl FnOnce(&mut Sample),
    out: &mut Notices,
) {
    let Some(stop) = stop else {
        out.add(&UNKNOWN, fill);
        return;
    };
    let location_type = timetable.location_type(stop);
    if location_type != STOP_OR_PLATFORM {
        out.add(&NO_PLATFORM, |sample| {
            fill(sample);
            sample.put("locationType", location_type);
        });
    }
}
