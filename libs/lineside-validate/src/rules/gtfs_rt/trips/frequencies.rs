//! Trips that run by frequencies: what a message has to say of each run.

use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;

use crate::{
    Notices,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, FIELD, RELATIONSHIP, TRIP, VEHICLE, error, warning},
        subject::Run,
        time::clock,
        timetable::Frequency,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_START, &RELATED, &OFF_STEP, &NO_VEHICLE],
    on_update: None,
    on_message: Some(check),
};

static NO_START: Kind = error("E006", &[ENTITY, TRIP, VEHICLE, FIELD], include_str!("E006.md"));

static RELATED: Kind =
    error("E013", &[ENTITY, TRIP, VEHICLE, RELATIONSHIP], include_str!("E013.md"));

static OFF_STEP: Kind = error(
    "E019",
    &[ENTITY, TRIP, VEHICLE, ("startTime", "The start time in the message.")],
    include_str!("E019.md"),
);

static NO_VEHICLE: Kind = warning("W005", &[ENTITY, TRIP], include_str!("W005.md"));

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for run in subject.runs() {
        let Some(trip) = run.trip else { continue };
        if trip.is_loose {
            check_loose(run, out);
        }
        let frequencies = subject.timetable.frequencies(trip);
        let time = run.descriptor.start_time.as_deref().unwrap_or_default();
        let start = clock(time);
        let fits = |frequency: &Frequency| start.is_some_and(|start| is_step(start, frequency));
        if !frequencies.is_empty() && !frequencies.iter().any(fits) {
            out.add(&OFF_STEP, |sample| {
                fill(run, sample);
                sample.put("startTime", time);
            });
        }
    }
}

/// Whether a trip of this frequency leaves at this time.
fn is_step(start: i32, frequency: &Frequency) -> bool {
    let after = start - frequency.start;
    let is_on = if frequency.headway > 0 { after % frequency.headway == 0 } else { after == 0 };
    after >= 0 && start < frequency.end && is_on
}

fn fill(run: Run<'_>, sample: &mut Sample) {
    sample.put("entityId", run.entity.id.as_str()).put("vehicleId", run.vehicle_id());
    sample.put("tripId", run.descriptor.trip_id.as_deref());
}

fn check_loose(run: Run<'_>, out: &mut Notices) {
    let descriptor = run.descriptor;
    let fields = [
        ("trip.start_date", descriptor.start_date.is_none()),
        ("trip.start_time", descriptor.start_time.is_none()),
    ];
    for (field, _) in fields.into_iter().filter(|(_, is_missing)| *is_missing) {
        out.add(&NO_START, |sample| {
            fill(run, sample);
            sample.put("fieldName", field);
        });
    }
    use ScheduleRelationship::{Duplicated, Unscheduled};
    // Copies of a trip came to the specification later, and are no part of its schedule either.
    let is_free = |number| number == Unscheduled as i32 || number == Duplicated as i32;
    if let Some(number) = descriptor.schedule_relationship.filter(|&number| !is_free(number)) {
        out.add(&RELATED, |sample| {
            fill(run, sample);
            sample.put("scheduleRelationship", number);
        });
    }
    if run.vehicle_id().is_none() {
        out.add(&NO_VEHICLE, |sample| fill(run, sample));
    }
}
