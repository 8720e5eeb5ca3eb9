//! Checks of the descriptors of trips with frequencies.

use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;

use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, FIELD, RELATIONSHIP, TRIP, VEHICLE, new_error_kind, new_warning_kind},
        schedule_index::ExactFrequency,
        subject::TripReferenceWithSchedule,
        time::parse_clock_time,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_START, &RELATED, &OFF_STEP, &NO_VEHICLE],
    on_update: None,
    on_message: Some(check_frequency_trips),
};

static NO_START: NoticeKind =
    new_error_kind("E006", &[ENTITY, TRIP, VEHICLE, FIELD], include_str!("E006.md"));

static RELATED: NoticeKind =
    new_error_kind("E013", &[ENTITY, TRIP, VEHICLE, RELATIONSHIP], include_str!("E013.md"));

static OFF_STEP: NoticeKind = new_error_kind(
    "E019",
    &[ENTITY, TRIP, VEHICLE, ("startTime", "The start time in the message.")],
    include_str!("E019.md"),
);

static NO_VEHICLE: NoticeKind = new_warning_kind("W005", &[ENTITY, TRIP], include_str!("W005.md"));

/// O(entities).
fn check_frequency_trips(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for run in subject.all_trip_references() {
        let Some(trip) = run.trip else { continue };
        if trip.has_inexact_frequencies {
            check_inexact_frequency_trip(run, out);
        }
        let frequencies = subject.timetable.exact_frequencies_of_trip(trip);
        let time = run.descriptor.start_time.as_deref().unwrap_or_default();
        let start = parse_clock_time(time);
        let fits = |frequency: &ExactFrequency| {
            start.is_some_and(|start| is_frequency_departure_time(start, frequency))
        };
        if !frequencies.is_empty() && !frequencies.iter().any(fits) {
            out.count_notice_with_sample(&OFF_STEP, |sample| {
                set_trip_fields(run, sample);
                sample.set_field("startTime", time);
            });
        }
    }
}

/// Returns true if a trip of this frequency departs at this time.
fn is_frequency_departure_time(start: i32, frequency: &ExactFrequency) -> bool {
    let after = start - frequency.start;
    let is_on = if frequency.headway > 0 { after % frequency.headway == 0 } else { after == 0 };
    after >= 0 && start < frequency.end && is_on
}

fn set_trip_fields(run: TripReferenceWithSchedule<'_>, sample: &mut NoticeSample) {
    sample.set_field("entityId", run.entity.id.as_str()).set_field("vehicleId", run.vehicle_id());
    sample.set_field("tripId", run.descriptor.trip_id.as_deref());
}

fn check_inexact_frequency_trip(run: TripReferenceWithSchedule<'_>, out: &mut Notices) {
    let descriptor = run.descriptor;
    let fields = [
        ("trip.start_date", descriptor.start_date.is_none()),
        ("trip.start_time", descriptor.start_time.is_none()),
    ];
    for (field, _) in fields.into_iter().filter(|(_, is_missing)| *is_missing) {
        out.count_notice_with_sample(&NO_START, |sample| {
            set_trip_fields(run, sample);
            sample.set_field("fieldName", field);
        });
    }
    use ScheduleRelationship::{Duplicated, Unscheduled};
    // Duplicated trips were added to the specification later, and are not part of the schedule
    // either.
    let is_free = |number| number == Unscheduled as i32 || number == Duplicated as i32;
    if let Some(number) = descriptor.schedule_relationship.filter(|&number| !is_free(number)) {
        out.count_notice_with_sample(&RELATED, |sample| {
            set_trip_fields(run, sample);
            sample.set_field("scheduleRelationship", number);
        });
    }
    if run.vehicle_id().is_none() {
        out.count_notice_with_sample(&NO_VEHICLE, |sample| set_trip_fields(run, sample));
    }
}
