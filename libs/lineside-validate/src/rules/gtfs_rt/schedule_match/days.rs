//! Checks of trips on days without service, and of vehicles on trips that have ended or start much
//! later.

use crate::{
    Notices,
    gtfs::{day_number_from_date, format_gtfs_date},
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        active_trips::ServiceDay,
        fields::{ENTITY, NoticeFieldMeaning, SERVICE_DATE, TRIP, VEHICLE, new_warning_kind},
        schedule_index::IndexedTrip,
        subject::TripReferenceWithSchedule,
        time::is_start_date,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NO_SERVICE, &ENDED, &AHEAD],
    on_update: None,
    on_message: Some(check_trips_run_on_day),
};

static NO_SERVICE: NoticeKind = new_warning_kind(
    "trip_without_service",
    &[ENTITY, TRIP, VEHICLE, SERVICE_DATE],
    include_str!("trip_without_service.md"),
);

const SINCE: NoticeFieldMeaning = ("seconds", "The difference from the current time, in seconds.");

static ENDED: NoticeKind = new_warning_kind(
    "vehicle_on_ended_trip",
    &[ENTITY, TRIP, VEHICLE, SERVICE_DATE, SINCE],
    include_str!("vehicle_on_ended_trip.md"),
);

static AHEAD: NoticeKind = new_warning_kind(
    "vehicle_on_future_trip",
    &[ENTITY, TRIP, VEHICLE, SERVICE_DATE, SINCE],
    include_str!("vehicle_on_future_trip.md"),
);

/// The seconds that a vehicle may be on a trip after its scheduled end or before its scheduled
/// start: an hour.
const GRACE_S: i64 = 3_600;

/// O(entities).
fn check_trips_run_on_day(subject: &MessageWithContext<'_>, out: &mut Notices) {
    if subject.service_days_around_now().is_empty() {
        return;
    }
    let updates = subject.updates.iter().map(|update| (update.trip_reference(), false));
    let vehicles = subject.vehicles.iter().filter_map(|vehicle| Some((vehicle.trip_ref()?, true)));
    for (run, is_vehicle) in updates.chain(vehicles) {
        let Some(trip) =
            run.trip.filter(|trip| !trip.is_frequent && is_schedule_relationship_scheduled(run))
        else {
            continue;
        };
        check_trip_runs_on_day(subject, run, trip, is_vehicle, out);
    }
}

/// Returns true if the trip runs as scheduled.
fn is_schedule_relationship_scheduled(run: TripReferenceWithSchedule<'_>) -> bool {
    run.descriptor.schedule_relationship.unwrap_or_default() == 0
}

fn check_trip_runs_on_day(
    subject: &MessageWithContext<'_>,
    run: TripReferenceWithSchedule<'_>,
    trip: &IndexedTrip,
    is_vehicle: bool,
    out: &mut Notices,
) {
    let running = subject.timetable.active_trip_index();
    let date = run.descriptor.start_date.as_deref();
    let service_day = date.filter(|date| is_start_date(date)).and_then(|date| date.parse().ok());
    let service_day = service_day.and_then(|date: jiff::civil::Date| {
        let number = day_number_from_date(date);
        let known_day =
            subject.service_days_around_now().iter().find(|day| day.number == number).copied();
        known_day.or_else(|| running.service_day(number))
    });
    if date.is_some() && service_day.is_none() {
        // Another rule checks the form of dates.
        return;
    }
    let runs = |day: &ServiceDay| running.does_service_run_on(trip.service, day.number);
    let days = service_day.as_ref().map_or(subject.service_days_around_now(), std::slice::from_ref);
    let fill = |sample: &mut NoticeSample| {
        sample
            .set_field("entityId", run.entity.id.as_str())
            .set_field("vehicleId", run.vehicle_id());
        sample.set_field("tripId", run.descriptor.trip_id.as_deref());
    };
    if days.iter().all(|day| runs(day) == Some(false)) {
        out.count_notice_with_sample(&NO_SERVICE, |sample| {
            fill(sample);
            sample.set_field("serviceDate", service_day.map(|day| format_gtfs_date(day.number)));
        });
        return;
    }
    let Some((start, end)) = trip.start.zip(trip.end).filter(|_| is_vehicle) else { return };
    // The time after the end of a day's run, or negative before its start; the day with the
    // smallest offset counts.
    let off = |day: &ServiceDay| {
        let time = subject.now - day.start;
        (time - i64::from(end)).max(0) - (i64::from(start) - time).max(0)
    };
    let candidates = days.iter().filter(|day| runs(day) != Some(false)).map(|day| (off(day), day));
    let Some((off, day)) = candidates.min_by_key(|(off, _)| off.abs()) else { return };
    if off.abs() > GRACE_S {
        out.count_notice_with_sample(if off > 0 { &ENDED } else { &AHEAD }, |sample| {
            fill(sample);
            sample
                .set_field("serviceDate", format_gtfs_date(day.number))
                .set_field("seconds", off.abs());
        });
    }
}
