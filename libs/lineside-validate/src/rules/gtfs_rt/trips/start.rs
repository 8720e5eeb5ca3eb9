//! Checks of the start dates and times of trips: their form, and their match with the schedule.

use crate::{
    Notices,
    gtfs::format_gtfs_time,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, NoticeFieldMeaning, TRIP, VEHICLE, new_error_kind},
        subject::TripReferenceWithSchedule,
        time::{is_start_date, is_start_time, parse_clock_time},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TIME_FORM, &DATE_FORM, &OTHER_TIME],
    on_update: None,
    on_message: Some(check_trip_start_dates_times),
};

const START_TIME: NoticeFieldMeaning = ("startTime", "The start time in the message.");

static TIME_FORM: NoticeKind =
    new_error_kind("E020", &[ENTITY, TRIP, VEHICLE, START_TIME], include_str!("E020.md"));

static DATE_FORM: NoticeKind = new_error_kind(
    "E021",
    &[ENTITY, TRIP, VEHICLE, ("startDate", "The start date in the message.")],
    include_str!("E021.md"),
);

static OTHER_TIME: NoticeKind = new_error_kind(
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
fn check_trip_start_dates_times(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for run in subject.all_trip_references() {
        let fill = |sample: &mut NoticeSample| {
            sample
                .set_field("entityId", run.entity.id.as_str())
                .set_field("vehicleId", run.vehicle_id());
            sample.set_field("tripId", run.descriptor.trip_id.as_deref());
        };
        let (time, date) = (&run.descriptor.start_time, &run.descriptor.start_date);
        if let Some(time) = time.as_deref() {
            if !is_start_time(time) {
                out.count_notice_with_sample(&TIME_FORM, |sample| {
                    fill(sample);
                    sample.set_field("startTime", time);
                });
            }
            if let Some(scheduled) = scheduled_trip_start(run)
                && parse_clock_time(time) != Some(scheduled)
            {
                out.count_notice_with_sample(&OTHER_TIME, |sample| {
                    fill(sample);
                    sample
                        .set_field("startTime", time)
                        .set_field("scheduledTime", format_gtfs_time(scheduled));
                });
            }
        }
        if let Some(date) = date.as_deref().filter(|date| !is_start_date(date)) {
            out.count_notice_with_sample(&DATE_FORM, |sample| {
                fill(sample);
                sample.set_field("startDate", date);
            });
        }
    }
}

/// Returns the scheduled start of a trip. Trips with frequencies have more than one.
fn scheduled_trip_start(run: TripReferenceWithSchedule<'_>) -> Option<i32> {
    let trip = run.trip?;
    trip.start.filter(|_| !trip.is_frequent)
}
