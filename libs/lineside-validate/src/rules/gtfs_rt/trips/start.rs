//! Checks of the start dates and times of trips: their form, and their match with the schedule.

use crate::{
    Notices,
    gtfs::format_time,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{ENTITY, Field, TRIP, VEHICLE, error_kind},
        subject::TripRef,
        time::{is_start_date, is_start_time, parse_clock_time},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TIME_FORM, &DATE_FORM, &OTHER_TIME],
    on_update: None,
    on_message: Some(check_trip_starts),
};

const START_TIME: Field = ("startTime", "The start time in the message.");

static TIME_FORM: NoticeKind =
    error_kind("E020", &[ENTITY, TRIP, VEHICLE, START_TIME], include_str!("E020.md"));

static DATE_FORM: NoticeKind = error_kind(
    "E021",
    &[ENTITY, TRIP, VEHICLE, ("startDate", "The start date in the message.")],
    include_str!("E021.md"),
);

static OTHER_TIME: NoticeKind = error_kind(
    "E023",
    &[
        ENTITY,
        TRIP,
        VEHICLE,
        START_TIME,
        ("scheduledTime", "The scheduled start time of the trip."),
    ],
    include_str!("E023.md"),
);

/// O(entities).
fn check_trip_starts(subject: &MessageSubject<'_>, out: &mut Notices) {
    for run in subject.referenced_trips() {
        let fill = |sample: &mut NoticeSample| {
            sample
                .set_field("entityId", run.entity.id.as_str())
                .set_field("vehicleId", run.vehicle_id());
            sample.set_field("tripId", run.descriptor.trip_id.as_deref());
        };
        let (time, date) = (&run.descriptor.start_time, &run.descriptor.start_date);
        if let Some(time) = time.as_deref() {
            if !is_start_time(time) {
                out.add_notice(&TIME_FORM, |sample| {
                    fill(sample);
                    sample.set_field("startTime", time);
                });
            }
            if let Some(scheduled) = scheduled_start(run)
                && parse_clock_time(time) != Some(scheduled)
            {
                out.add_notice(&OTHER_TIME, |sample| {
                    fill(sample);
                    sample
                        .set_field("startTime", time)
                        .set_field("scheduledTime", format_time(scheduled));
                });
            }
        }
        if let Some(date) = date.as_deref().filter(|date| !is_start_date(date)) {
            out.add_notice(&DATE_FORM, |sample| {
                fill(sample);
                sample.set_field("startDate", date);
            });
        }
    }
}

/// Returns the scheduled start of a trip. Trips with frequencies have more than one.
fn scheduled_start(run: TripRef<'_>) -> Option<i32> {
    let trip = run.trip?;
    trip.start.filter(|_| !trip.is_frequent)
}
