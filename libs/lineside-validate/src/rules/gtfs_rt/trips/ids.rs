//! Checks of trips and routes that the schedule lacks or contradicts.

use lineside_formats::gtfs_rt::proto::{FeedEntity, TripDescriptor};

use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{
            ENTITY, NoticeFieldMeaning, ROUTE, TRIP, VEHICLE, new_error_kind, new_warning_kind,
        },
        schedule_index::IndexedTrip,
        subject::TripReferenceWithSchedule,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&UNKNOWN_TRIP, &UNKNOWN_ROUTE, &ADDED_BUT_THERE, &DIRECTION, &OTHER_ROUTE, &NO_TRIP],
    on_update: None,
    on_message: Some(check_trip_route_direction_ids),
};

const SCHEDULED_ROUTE: NoticeFieldMeaning =
    ("scheduledRouteId", "The trip's route in the schedule.");

static UNKNOWN_TRIP: NoticeKind =
    new_error_kind("E003", &[ENTITY, TRIP, VEHICLE], include_str!("E003.md"));

static UNKNOWN_ROUTE: NoticeKind =
    new_error_kind("E004", &[ENTITY, TRIP, VEHICLE, ROUTE], include_str!("E004.md"));

static ADDED_BUT_THERE: NoticeKind =
    new_error_kind("E016", &[ENTITY, TRIP, VEHICLE], include_str!("E016.md"));

static DIRECTION: NoticeKind = new_error_kind(
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

static OTHER_ROUTE: NoticeKind =
    new_error_kind("E035", &[ENTITY, TRIP, ROUTE, SCHEDULED_ROUTE], include_str!("E035.md"));

static NO_TRIP: NoticeKind =
    new_warning_kind("W006", &[ENTITY, VEHICLE, ROUTE], include_str!("W006.md"));

/// O(entities).
fn check_trip_route_direction_ids(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for run in subject.all_trip_references() {
        check_trip_id_in_schedule(run, out);
        check_route_id_in_schedule(subject, run, out);
        check_direction_matches_schedule(run, out);
        check_route_matches_trip(subject, run.entity, run.descriptor, run.trip, out);
    }
    for entity in &subject.message.entity {
        for selector in entity.alert.iter().flat_map(|alert| &alert.informed_entity) {
            let Some(descriptor) = &selector.trip else { continue };
            let trip = subject.timetable.trip_of_descriptor(descriptor);
            check_route_matches_trip(subject, entity, descriptor, trip, out);
            if descriptor.trip_id.is_none() {
                out.count_notice_with_sample(&NO_TRIP, |sample| {
                    sample.set_field("entityId", entity.id.as_str());
                    sample.set_field("routeId", descriptor.route_id.as_deref());
                });
            }
        }
    }
}

fn check_trip_id_in_schedule(run: TripReferenceWithSchedule<'_>, out: &mut Notices) {
    let fill = |sample: &mut NoticeSample| {
        sample
            .set_field("entityId", run.entity.id.as_str())
            .set_field("vehicleId", run.vehicle_id());
        sample.set_field("tripId", run.descriptor.trip_id.as_deref());
    };
    match (run.descriptor.trip_id.as_deref(), run.trip) {
        (None, _) => out.count_notice_with_sample(&NO_TRIP, |sample| {
            fill(sample);
            sample.set_field("routeId", run.descriptor.route_id.as_deref());
        }),
        // A vehicle without a trip may have an empty trip id.
        (Some(""), None) if run.entity.trip_update.is_none() => {}
        (Some(_), None) if !run.is_added_or_new() => {
            out.count_notice_with_sample(&UNKNOWN_TRIP, fill)
        }
        (Some(_), Some(_)) if run.is_added_or_new() => {
            out.count_notice_with_sample(&ADDED_BUT_THERE, fill)
        }
        _ => {}
    }
}

fn check_route_id_in_schedule(
    subject: &MessageWithContext<'_>,
    run: TripReferenceWithSchedule<'_>,
    out: &mut Notices,
) {
    let route = run.descriptor.route_id.as_deref().unwrap_or_default();
    // Usually it is the trip's own route, which saves the lookup.
    let is_own = run.trip.is_some_and(|trip| subject.timetable.route_id_of_trip(trip) == route);
    if !route.is_empty() && !is_own && !subject.timetable.has_route(route) {
        out.count_notice_with_sample(&UNKNOWN_ROUTE, |sample| {
            sample.set_field("entityId", run.entity.id.as_str()).set_field("routeId", route);
            sample.set_field("tripId", run.descriptor.trip_id.as_deref());
            sample.set_field("vehicleId", run.vehicle_id());
        });
    }
}

fn check_direction_matches_schedule(run: TripReferenceWithSchedule<'_>, out: &mut Notices) {
    let (Some(direction), Some(trip)) = (run.descriptor.direction_id, run.trip) else { return };
    if trip.direction.map(i64::from) != Some(i64::from(direction)) {
        out.count_notice_with_sample(&DIRECTION, |sample| {
            sample
                .set_field("entityId", run.entity.id.as_str())
                .set_field("vehicleId", run.vehicle_id());
            sample.set_field("tripId", run.descriptor.trip_id.as_deref());
            sample
                .set_field("directionId", direction)
                .set_field("scheduledDirectionId", trip.direction);
        });
    }
}

fn check_route_matches_trip(
    subject: &MessageWithContext<'_>,
    entity: &FeedEntity,
    descriptor: &TripDescriptor,
    trip: Option<&IndexedTrip>,
    out: &mut Notices,
) {
    let (Some(route), Some(trip)) = (descriptor.route_id.as_deref(), trip) else { return };
    let scheduled = subject.timetable.route_id_of_trip(trip);
    if scheduled != route && subject.timetable.has_route(route) {
        out.count_notice_with_sample(&OTHER_ROUTE, |sample| {
            sample.set_field("entityId", entity.id.as_str());
            sample.set_field("tripId", descriptor.trip_id.as_deref());
            sample.set_field("routeId", route).set_field("scheduledRouteId", scheduled);
        });
    }
}
