//! Checks of trips and stops without a schedule relationship.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, TripDescriptor, trip_descriptor::ScheduleRelationship as OfTrip,
    trip_update::stop_time_update::ScheduleRelationship as OfStop,
};

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, FIELD, RELATIONSHIP, SEQUENCE, STOP, TRIP, new_warning_kind},
        subject::TripUpdateWithSchedule,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_RELATIONSHIP],
    on_update: Some(check_stop_schedule_relationships),
    on_message: Some(check_trip_schedule_relationships),
};

static NO_RELATIONSHIP: NoticeKind = new_warning_kind(
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

fn is_relationship_among(relationship: Option<i32>, known: &[i32]) -> bool {
    relationship.is_some_and(|number| known.contains(&number))
}

/// O(stop time updates).
fn check_stop_schedule_relationships(
    _: &MessageWithContext<'_>,
    update: &TripUpdateWithSchedule<'_>,
    out: &mut Notices,
) {
    // One stop of a trip is reported for all.
    let mut stops = update.update.stop_time_update.iter();
    if let Some(stop) =
        stops.find(|stop| !is_relationship_among(stop.schedule_relationship, &STOP_RELATIONSHIPS))
    {
        out.count_notice_with_sample(&NO_RELATIONSHIP, |sample| {
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
fn check_trip_schedule_relationships(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for run in subject.all_trip_references() {
        report_missing_schedule_relationship(run.entity, run.descriptor, out);
    }
    for entity in &subject.message.entity {
        let selectors = entity.alert.iter().flat_map(|alert| &alert.informed_entity);
        for descriptor in selectors.filter_map(|selector| selector.trip.as_ref()) {
            report_missing_schedule_relationship(entity, descriptor, out);
        }
    }
}

fn report_missing_schedule_relationship(
    entity: &FeedEntity,
    descriptor: &TripDescriptor,
    out: &mut Notices,
) {
    if !is_relationship_among(descriptor.schedule_relationship, &TRIP_RELATIONSHIPS) {
        out.count_notice_with_sample(&NO_RELATIONSHIP, |sample| {
            sample.set_field("entityId", entity.id.as_str());
            sample.set_field("tripId", descriptor.trip_id.as_deref());
            sample.set_field("fieldName", "trip.schedule_relationship");
            sample.set_field("scheduleRelationship", descriptor.schedule_relationship);
        });
    }
}
