//! When trips start: the form of dates and times, and whether the schedule says the same.

use crate::{
    Notices,
    gtfs::time_text,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, Field, TRIP, VEHICLE, error},
        subject::Run,
        time::{clock, is_start_date, is_start_time},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TIME_FORM, &DATE_FORM, &OTHER_TIME],
    on_update: None,
    on_message: Some(check),
};

const START_TIME: Field = ("startTime", "The start time in the message.");

static TIME_FORM: Kind =
    error("E020", &[ENTITY, TRIP, VEHICLE, START_TIME], include_str!("E020.md"));

static DATE_FORM: Kind = error(
    "E021",
    &[ENTITY, TRIP, VEHICLE, ("startDate", "The start date in the message.")],
    include_str!("E021.md"),
);

static OTHER_TIME: Kind = error(
    "E023",
    &[
        ENTITY,
        TRIP,
        VEHICLE,
        START_TIME,
        ("scheduledTime", "When the trip starts in the schedule."),
    ],
    include_str!("E023.md"),
);

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for run in subject.runs() {
        let fill = |sample: &mut Sample| {
            sample.put("entityId", run.entity.id.as_str()).put("vehicleId", run.vehicle_id());
            sample.put("tripId", run.descriptor.trip_id.as_deref());
        };
        let (time, date) = (&run.descriptor.start_time, &run.descriptor.start_date);
        if let Some(time) = time.as_deref() {
            if !is_start_time(time) {
                out.add(&TIME_FORM, |sample| {
                    fill(sample);
                    sample.put("startTime", time);
                });
            }
            if let Some(scheduled) = scheduled_start(run)
                && clock(time) != Some(scheduled)
            {
                out.add(&OTHER_TIME, |sample| {
                    fill(sample);
                    sample.put("startTime", time).put("scheduledTime", time_text(scheduled));
                });
            }
        }
        if let Some(date) = date.as_deref().filter(|date| !is_start_date(date)) {
            out.add(&DATE_FORM, |sample| {
                fill(sample);
                sample.put("startDate", date);
            });
        }
    }
}

/// When the schedule has the trip start. Trips that run by frequencies start more than once.
fn scheduled_start(run: Run<'_>) -> Option<i32> {
    let trip = run.trip?;
    trip.start.filter(|_| !trip.is_frequent)
}
