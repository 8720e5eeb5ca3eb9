//! Checks of trips and stops without a schedule relationship.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, TripDescriptor, trip_descriptor::ScheduleRelationship as OfTrip,
    trip_update::stop_time_update::ScheduleRelationship as OfStop,
};

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{ENTITY, FIELD, RELATIONSHIP, SEQUENCE, STOP, TRIP, warning_kind},
        subject::TripUpdateRef,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_RELATIONSHIP],
    on_update: Some(check_update_relationships),
    on_message: Some(check_trip_relationships),
};

static NO_RELATIONSHIP: NoticeKind = warning_kind(
    "W009",
    &[ENTITY, TRIP, FIELD, STOP, SEQUENCE, RELATIONSHIP],
    include_str!("W009.md"),
);

/// The relationships of trips that every reader knows. To older readers, the reference validator
/// among them, newer values are like missing ones.
const TRIP_RELATIONSHIPS: [i32; 5] = [
    OfTrip::Scheduled as i32,
    OfTrip::Added as i32,
    OfTrip::Unscheduled as i32,
    OfTrip::Canceled as i32,
    OfTrip::Replacement as i32,
];
/// The relationships of stops that every reader knows.
const STOP_RELATIONSHIPS: [i32; 3] =
    [OfStop::Scheduled as i32, OfStop::Skipped as i32, OfStop::NoData as i32];

fn is_known_relationship(relationship: Option<i32>, known: &[i32]) -> bool {
    relationship.is_some_and(|number| known.contains(&number))
}

/// O(stop time updates).
fn check_update_relationships(
    _: &MessageSubject<'_>,
    update: &TripUpdateRef<'_>,
    out: &mut Notices,
) {
    // One stop of a trip is reported for all.
    let mut stops = update.update.stop_time_update.iter();
    if let Some(stop) =
        stops.find(|stop| !is_known_relationship(stop.schedule_relationship, &STOP_RELATIONSHIPS))
    {
        out.add_notice(&NO_RELATIONSHIP, |sample| {
            sample.set_field("entityId", update.entity.id.as_str());
            sample.set_field("tripId", update.update.trip.trip_id.as_deref());
            sample.set_field("fieldName", "stop_time_update.schedule_relationship");
            sample.set_field("stopId", stop.stop_id.as_deref());
            sample.set_field("stopSequence", stop.stop_sequence);
            sample.set_field("scheduleRelationship", stop.schedule_relationship);
        });
    }
}

/// O(entities).
fn check_trip_relationships(subject: &MessageSubject<'_>, out: &mut Notices) {
    for run in subject.referenced_trips() {
        check_trip_relationship(run.entity, run.descriptor, out);
    }
    for entity in &subject.message.entity {
        let selectors = entity.alert.iter().flat_map(|alert| &alert.informed_entity);
        for descriptor in selectors.filter_map(|selector| selector.trip.as_ref()) {
            check_trip_relationship(entity, descriptor, out);
        }
    }
}

fn check_trip_relationship(entity: &FeedEntity, descriptor: &TripDescriptor, out: &mut Notices) {
    if !is_known_relationship(descriptor.schedule_relationship, &TRIP_RELATIONSHIPS) {
        out.add_notice(&NO_RELATIONSHIP, |sample| {
            sample.set_field("entityId", entity.id.as_str());
            sample.set_field("tripId", descriptor.trip_id.as_deref());
            sample.set_field("fieldName", "trip.schedule_relationship");
            sample.set_field("scheduleRelationship", descriptor.schedule_relationship);
        });
    }
}
