//! Trips and routes that the schedule has not, or has otherwise.

use lineside_formats::gtfs_rt::proto::{FeedEntity, TripDescriptor};

use crate::{
    Notices,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, Field, ROUTE, TRIP, VEHICLE, error, warning},
        subject::Run,
        timetable::Trip,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&UNKNOWN_TRIP, &UNKNOWN_ROUTE, &ADDED_BUT_THERE, &DIRECTION, &OTHER_ROUTE, &NO_TRIP],
    on_update: None,
    on_message: Some(check),
};

const SCHEDULED_ROUTE: Field = ("scheduledRouteId", "The trip's route in the schedule.");

static UNKNOWN_TRIP: Kind = error("E003", &[ENTITY, TRIP, VEHICLE], include_str!("E003.md"));

static UNKNOWN_ROUTE: Kind =
    error("E004", &[ENTITY, TRIP, VEHICLE, ROUTE], include_str!("E004.md"));

static ADDED_BUT_THERE: Kind = error("E016", &[ENTITY, TRIP, VEHICLE], include_str!("E016.md"));

static DIRECTION: Kind = error(
    "E024",
    &[
        ENTITY,
        TRIP,
        VEHICLE,
        ("directionId", "The direction in the message."),
        ("scheduledDirectionId", "The direction in the schedule."),
    ],
    include_str!("E024.md"),
);

static OTHER_ROUTE: Kind =
    error("E035", &[ENTITY, TRIP, ROUTE, SCHEDULED_ROUTE], include_str!("E035.md"));

static NO_TRIP: Kind = warning("W006", &[ENTITY, VEHICLE, ROUTE], include_str!("W006.md"));

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for run in subject.runs() {
        check_trip(run, out);
        check_route(subject, run, out);
        check_direction(run, out);
        check_pair(subject, run.entity, run.descriptor, run.trip, out);
    }
    for entity in &subject.message.entity {
        for selector in entity.alert.iter().flat_map(|alert| &alert.informed_entity) {
            let Some(descriptor) = &selector.trip else { continue };
            let trip = subject.timetable.trip_of(descriptor);
            check_pair(subject, entity, descriptor, trip, out);
            if descriptor.trip_id.is_none() {
                out.add(&NO_TRIP, |sample| {
                    sample.put("entityId", entity.id.as_str());
                    sample.put("routeId", descriptor.route_id.as_deref());
                });
            }
        }
    }
}

fn check_trip(run: Run<'_>, out: &mut Notices) {
    let fill = |sample: &mut Sample| {
        sample.put("entityId", run.entity.id.as_str()).put("vehicleId", run.vehicle_id());
        sample.put("tripId", run.descriptor.trip_id.as_deref());
    };
    match (run.descriptor.trip_id.as_deref(), run.trip) {
        (None, _) => out.add(&NO_TRIP, |sample| {
            fill(sample);
            sample.put("routeId", run.descriptor.route_id.as_deref());
        }),
        // A vehicle that runs no trip may say so with an empty id.
        (Some(""), None) if run.entity.trip_update.is_none() => {}
        (Some(_), None) if !run.is_added() => out.add(&UNKNOWN_TRIP, fill),
        (Some(_), Some(_)) if run.is_added() => out.add(&ADDED_BUT_THERE, fill),
        _ => {}
    }
}

fn check_route(subject: &Subject<'_>, run: Run<'_>, out: &mut Notices) {
    let route = run.descriptor.route_id.as_deref().unwrap_or_default();
    // Mostly it is the trip's own route, which need not be looked up.
    let is_own = run.trip.is_some_and(|trip| subject.timetable.route_of(trip) == route);
    if !route.is_empty() && !is_own && !subject.timetable.has_route(route) {
        out.add(&UNKNOWN_ROUTE, |sample| {
            sample.put("entityId", run.entity.id.as_str()).put("routeId", route);
            sample.put("tripId", run.descriptor.trip_id.as_deref());
            sample.put("vehicleId", run.vehicle_id());
        });
    }
}

fn check_direction(run: Run<'_>, out: &mut Notices) {
    let (Some(direction), Some(trip)) = (run.descriptor.direction_id, run.trip) else { return };
    if trip.direction.map(i64::from) != Some(i64::from(direction)) {
        out.add(&DIRECTION, |sample| {
            sample.put("entityId", run.entity.id.as_str()).put("vehicleId", run.vehicle_id());
            sample.put("tripId", run.descriptor.trip_id.as_deref());
            sample.put("directionId", direction).put("scheduledDirectionId", trip.direction);
        });
    }
}

fn check_pair(
    subject: &Subject<'_>,
    entity: &FeedEntity,
    descriptor: &TripDescriptor,
    trip: Option<&Trip>,
    out: &mut Notices,
) {
    let (Some(route), Some(trip)) = (descriptor.route_id.as_deref(), trip) else { return };
    let scheduled = subject.timetable.route_of(trip);
    if scheduled != route && subject.timetable.has_route(route) {
        out.add(&OTHER_ROUTE, |sample| {
            sample.put("entityId", entity.id.as_str());
            sample.put("tripId", descriptor.trip_id.as_deref());
            sample.put("routeId", route).put("scheduledRouteId", scheduled);
        });
    }
}
