//! What alerts name: agencies, routes, trips and stops.

use lineside_formats::gtfs_rt::proto::{EntitySelector, FeedEntity};

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, ROUTE, TRIP, error},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TRIP_OF_OTHER_ROUTE, &TWO_ROUTES, &ABOUT_NOTHING, &EMPTY_SELECTOR, &UNKNOWN_AGENCY],
    on_update: None,
    on_message: Some(check),
};

static TRIP_OF_OTHER_ROUTE: Kind = error(
    "E030",
    &[ENTITY, TRIP, ROUTE, ("scheduledRouteId", "The trip's route in the schedule.")],
    include_str!("E030.md"),
);

static TWO_ROUTES: Kind = error(
    "E031",
    &[ENTITY, ROUTE, ("tripRouteId", "The route beside the trip.")],
    include_str!("E031.md"),
);

static ABOUT_NOTHING: Kind = error("E032", &[ENTITY], include_str!("E032.md"));

static EMPTY_SELECTOR: Kind = error("E033", &[ENTITY], include_str!("E033.md"));

static UNKNOWN_AGENCY: Kind =
    error("E034", &[ENTITY, ("agencyId", "The agency.")], include_str!("E034.md"));

/// O(informed entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for entity in &subject.message.entity {
        let Some(alert) = &entity.alert else { continue };
        if alert.informed_entity.is_empty() {
            out.add(&ABOUT_NOTHING, |sample| {
                sample.put("entityId", entity.id.as_str());
            });
        }
        for selector in &alert.informed_entity {
            if is_empty(selector) {
                out.add(&EMPTY_SELECTOR, |sample| {
                    sample.put("entityId", entity.id.as_str());
                });
            }
            let agency = selector.agency_id.as_deref();
            if let Some(agency) = agency.filter(|agency| !subject.timetable.has_agency(agency)) {
                out.add(&UNKNOWN_AGENCY, |sample| {
                    sample.put("entityId", entity.id.as_str()).put("agencyId", agency);
                });
            }
            check_routes(subject, entity, selector, out);
        }
    }
}

fn is_empty(selector: &EntitySelector) -> bool {
    let trip = selector.trip.as_ref();
    selector.agency_id.is_none()
        && selector.route_id.is_none()
        && selector.route_type.is_none()
        && selector.stop_id.is_none()
        && trip.is_none_or(|trip| trip.trip_id.is_none() && trip.route_id.is_none())
}

fn check_routes(
    subject: &Subject<'_>,
    entity: &FeedEntity,
    selector: &EntitySelector,
    out: &mut Notices,
) {
    let (Some(route), Some(descriptor)) = (selector.route_id.as_deref(), &selector.trip) else {
        return;
    };
    let scheduled = subject.timetable.trip_of(descriptor);
    let scheduled = scheduled.map(|trip| subject.timetable.route_of(trip));
    if let Some(scheduled) = scheduled.filter(|&scheduled| scheduled != route) {
        out.add(&TRIP_OF_OTHER_ROUTE, |sample| {
            sample.put("entityId", entity.id.as_str()).put("routeId", route);
            sample.put("tripId", descriptor.trip_id.as_deref());
            sample.put("scheduledRouteId", scheduled);
        });
    }
    if let Some(other) = descriptor.route_id.as_deref().filter(|&other| other != route) {
        out.add(&TWO_ROUTES, |sample| {
            sample.put("entityId", entity.id.as_str()).put("routeId", route);
            sample.put("tripRouteId", other);
        });
    }
}
