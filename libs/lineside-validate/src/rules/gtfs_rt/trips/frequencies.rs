//! Checks of the descriptors of trips with frequencies.

use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;

use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{ENTITY, FIELD, RELATIONSHIP, TRIP, VEHICLE, error_kind, warning_kind},
        schedule_index::ExactFrequency,
        subject::TripRef,
        time::parse_clock_time,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_START, &RELATED, &OFF_STEP, &NO_VEHICLE],
    on_update: None,
    on_message: Some(check_frequency_trips),
};

static NO_START: NoticeKind =
    error_kind("E006", &[ENTITY, TRIP, VEHICLE, FIELD], include_str!("E006.md"));

static RELATED: NoticeKind =
    error_kind("E013", &[ENTITY, TRIP, VEHICLE, RELATIONSHIP], include_str!("E013.md"));

static OFF_STEP: NoticeKind = error_kind(
    "E019",
    &[ENTITY, TRIP, VEHICLE, ("startTime", "The start time in the message.")],
    include_str!("E019.md"),
);

static NO_VEHICLE: NoticeKind = warning_kind("W005", &[ENTITY, TRIP], include_str!("W005.md"));

/// O(entities).
fn check_frequency_trips(subject: &MessageSubject<'_>, out: &mut Notices) {
    for run in subject.referenced_trips() {
        let Some(trip) = run.trip else { continue };
        if trip.has_inexact_frequencies {
            check_inexact_trip(run, out);
        }
        let frequencies = subject.timetable.exact_frequencies(trip);
        let time = run.descriptor.start_time.as_deref().unwrap_or_default();
        let start = parse_clock_time(time);
        let fits = |frequency: &ExactFrequency| {
            start.is_some_and(|start| is_departure_time(start, frequency))
        };
        if !frequencies.is_empty() && !frequencies.iter().any(fits) {
            out.add_notice(&OFF_STEP, |sample| {
                fill_trip_fields(run, sample);
                sample.set_field("startTime", time);
            });
        }
    }
}

/// Returns true if a trip of this frequency departs at this time.
fn is_departure_time(start: i32, frequency: &ExactFrequency) -> bool {
    let after = start - frequency.start;
    let is_on = if frequency.headway > 0 { after % frequency.headway == 0 } else { after == 0 };
    after >= 0 && start < frequency.end && is_on
}

fn fill_trip_fields(run: TripRef<'_>, sample: &mut NoticeSample) {
    sample.set_field("entityId", run.entity.id.as_str()).set_field("vehicleId", run.vehicle_id());
    sample.set_field("tripId", run.descriptor.trip_id.as_deref());
}

fn check_inexact_trip(run: TripRef<'_>, out: &mut Notices) {
    let descriptor = run.descriptor;
    let fields = [
        ("trip.start_date", descriptor.start_date.is_none()),
        ("trip.start_time", descriptor.start_time.is_none()),
    ];
    for (field, _) in fields.into_iter().filter(|(_, is_missing)| *is_missing) {
        out.add_notice(&NO_START, |sample| {
            fill_trip_fields(run, sample);
            sample.set_field("fieldName", field);
        });
    }
    use ScheduleRelationship::{Duplicated, Unscheduled};
    // Duplicated trips were added to the specification later, and are not part of the schedule
    // either.
    let is_free = |number| number == Unscheduled as i32 || number == Duplicated as i32;
    if let Some(number) = descriptor.schedule_relationship.filter(|&number| !is_free(number)) {
        out.add_notice(&RELATED, |sample| {
            fill_trip_fields(run, sample);
            sample.set_field("scheduleRelationship", number);
        });
    }
    if run.vehicle_id().is_none() {
        out.add_notice(&NO_VEHICLE, |sample| fill_trip_fields(run, sample));
    }
}
