//! Checks of the agencies, routes, trips and stops that alerts refer to.

use lineside_formats::gtfs_rt::proto::{EntitySelector, FeedEntity};

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, ROUTE, TRIP, new_error_kind},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TRIP_OF_OTHER_ROUTE, &TWO_ROUTES, &ABOUT_NOTHING, &EMPTY_SELECTOR, &UNKNOWN_AGENCY],
    on_update: None,
    on_message: Some(check_alert_selectors),
};

static TRIP_OF_OTHER_ROUTE: NoticeKind = new_error_kind(
    "E030",
    &[ENTITY, TRIP, ROUTE, ("scheduledRouteId", "The trip's route in the schedule.")],
    include_str!("E030.md"),
);

static TWO_ROUTES: NoticeKind = new_error_kind(
    "E031",
    &[ENTITY, ROUTE, ("tripRouteId", "The route in the selector.")],
    include_str!("E031.md"),
);

static ABOUT_NOTHING: NoticeKind = new_error_kind("E032", &[ENTITY], include_str!("E032.md"));

static EMPTY_SELECTOR: NoticeKind = new_error_kind("E033", &[ENTITY], include_str!("E033.md"));

static UNKNOWN_AGENCY: NoticeKind =
    new_error_kind("E034", &[ENTITY, ("agencyId", "The agency.")], include_str!("E034.md"));

/// O(informed entities).
fn check_alert_selectors(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for entity in &subject.message.entity {
        let Some(alert) = &entity.alert else { continue };
        if alert.informed_entity.is_empty() {
            out.count_notice_with_sample(&ABOUT_NOTHING, |sample| {
                sample.set_field("entityId", entity.id.as_str());
            });
        }
        for selector in &alert.informed_entity {
            if selects_nothing(selector) {
                out.count_notice_with_sample(&EMPTY_SELECTOR, |sample| {
                    sample.set_field("entityId", entity.id.as_str());
                });
            }
            let agency = selector.agency_id.as_deref();
            if let Some(agency) = agency.filter(|agency| !subject.timetable.has_agency(agency)) {
                out.count_notice_with_sample(&UNKNOWN_AGENCY, |sample| {
                    sample.set_field("entityId", entity.id.as_str()).set_field("agencyId", agency);
                });
            }
            check_selector_trip_matches_route(subject, entity, selector, out);
        }
    }
}

fn selects_nothing(selector: &EntitySelector) -> bool {
    let trip = selector.trip.as_ref();
    selector.agency_id.is_none()
        && selector.route_id.is_none()
        && selector.route_type.is_none()
        && selector.stop_id.is_none()
        && trip.is_none_or(|trip| trip.trip_id.is_none() && trip.route_id.is_none())
}

fn check_selector_trip_matches_route(
    subject: &MessageWithContext<'_>,
    entity: &FeedEntity,
    selector: &EntitySelector,
    out: &mut Notices,
) {
    let (Some(route), Some(descriptor)) = (selector.route_id.as_deref(), &selector.trip) else {
        return;
    };
    let scheduled = subject.timetable.trip_of_descriptor(descriptor);
    let scheduled = scheduled.map(|trip| subject.timetable.route_id_of_trip(trip));
    if let Some(scheduled) = scheduled.filter(|&scheduled| scheduled != route) {
        out.count_notice_with_sample(&TRIP_OF_OTHER_ROUTE, |sample| {
            sample.set_field("entityId", entity.id.as_str()).set_field("routeId", route);
            sample.set_field("tripId", descriptor.trip_id.as_deref());
            sample.set_field("scheduledRouteId", scheduled);
        });
    }
    if let Some(other) = descriptor.route_id.as_deref().filter(|&other| other != route) {
        out.count_notice_with_sample(&TWO_ROUTES, |sample| {
            sample.set_field("entityId", entity.id.as_str()).set_field("routeId", route);
            sample.set_field("tripRouteId", other);
        });
    }
}
