//! Checks of all timestamps of a message: they exist, are in seconds since 1970, and fit the header
//! and the clock.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity,
    trip_update::{StopTimeEvent, StopTimeUpdate},
};

use super::version::parse_version;
use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{
            ENTITY, FIELD, Field, HEADER, SEQUENCE, STOP, TIMESTAMP, TRIP, VEHICLE, error_kind,
            warning_kind,
        },
        subject::TripUpdateRef,
        time::{is_posix_time, parse_timestamp},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NOT_POSIX, &AFTER_HEADER, &NO_HEADER_TIME, &IN_FUTURE, &NO_TIME, &OLD],
    on_update: Some(check_update_timestamps),
    on_message: Some(check_timestamps),
};

const NOW: Field = ("now", "The time of reception, in seconds since 1970.");

static NOT_POSIX: NoticeKind = error_kind(
    "E001",
    &[FIELD, TIMESTAMP, ENTITY, TRIP, VEHICLE, STOP, SEQUENCE],
    include_str!("E001.md"),
);

static AFTER_HEADER: NoticeKind =
    error_kind("E012", &[FIELD, TIMESTAMP, HEADER, ENTITY, TRIP, VEHICLE], include_str!("E012.md"));

static NO_HEADER_TIME: NoticeKind = error_kind("E048", &[], include_str!("E048.md"));

static IN_FUTURE: NoticeKind =
    error_kind("E050", &[FIELD, TIMESTAMP, NOW, ENTITY, TRIP, VEHICLE], include_str!("E050.md"));

static NO_TIME: NoticeKind =
    warning_kind("W001", &[FIELD, ENTITY, TRIP, VEHICLE], include_str!("W001.md"));

static OLD: NoticeKind = warning_kind(
    "W008",
    &[HEADER, NOW, ("age", "The difference, in seconds.")],
    include_str!("W008.md"),
);

/// The largest age of a message when it is received, in seconds, as in the reference validator.
const AGE_MAX_S: i64 = 65;
/// The largest lead of a timestamp over the clock, in seconds, as in the reference validator.
const CLOCKS_APART_MAX_S: i64 = 60;

/// O(stop time updates).
fn check_update_timestamps(
    subject: &MessageSubject<'_>,
    update: &TripUpdateRef<'_>,
    out: &mut Notices,
) {
    let owner = TimestampOwner {
        field: "trip_update.timestamp",
        entity: update.entity,
        trip: update.update.trip.trip_id.as_deref(),
        vehicle: update.trip_ref().vehicle_id(),
    };
    check_owner_timestamp(subject, parse_timestamp(update.update.timestamp), owner, out);
    for stop in &update.update.stop_time_update {
        check_stop_event_times(stop, owner, out);
    }
}

/// O(entities).
fn check_timestamps(subject: &MessageSubject<'_>, out: &mut Notices) {
    check_header_timestamp(subject, out);
    for vehicle in &subject.vehicles {
        let owner = TimestampOwner {
            field: "vehicle.timestamp",
            entity: vehicle.entity,
            trip: vehicle.trip_ref().and_then(|run| run.descriptor.trip_id.as_deref()),
            vehicle: vehicle.vehicle_id(),
        };
        check_owner_timestamp(subject, parse_timestamp(vehicle.position.timestamp), owner, out);
    }
    for entity in &subject.message.entity {
        check_active_periods(entity, out);
    }
}

fn check_header_timestamp(subject: &MessageSubject<'_>, out: &mut Notices) {
    let Some(time) = subject.header_timestamp() else {
        // A version that is not a number is judged as the latest version.
        let version = parse_version(&subject.message.header.gtfs_realtime_version);
        if version.is_none_or(|number| number >= 2.0) {
            out.add_notice(&NO_HEADER_TIME, |_| {});
        } else {
            out.add_notice(&NO_TIME, |sample| {
                sample.set_field("fieldName", "header.timestamp");
            });
        }
        return;
    };
    let fill = |sample: &mut NoticeSample| {
        sample.set_field("fieldName", "header.timestamp").set_field("timestamp", time);
    };
    if !is_posix_time(time) {
        out.add_notice(&NOT_POSIX, fill);
        return;
    }
    let age = subject.now - time;
    if age > AGE_MAX_S {
        out.add_notice(&OLD, |sample| {
            sample
                .set_field("headerTimestamp", time)
                .set_field("now", subject.now)
                .set_field("age", age);
        });
    }
    if -age > CLOCKS_APART_MAX_S {
        out.add_notice(&IN_FUTURE, |sample| {
            fill(sample);
            sample.set_field("now", subject.now);
        });
    }
}

/// The entity and field that have a timestamp.
#[derive(Clone, Copy)]
struct TimestampOwner<'a> {
    field: &'static str,
    entity: &'a FeedEntity,
    trip: Option<&'a str>,
    vehicle: Option<&'a str>,
}

impl TimestampOwner<'_> {
    fn fill_owner_fields(&self, sample: &mut NoticeSample) {
        sample.set_field("fieldName", self.field).set_field("entityId", self.entity.id.as_str());
        sample.set_field("tripId", self.trip).set_field("vehicleId", self.vehicle);
    }
}

fn check_owner_timestamp(
    subject: &MessageSubject<'_>,
    time: Option<i64>,
    owner: TimestampOwner<'_>,
    out: &mut Notices,
) {
    let Some(time) = time else {
        out.add_notice(&NO_TIME, |sample| owner.fill_owner_fields(sample));
        return;
    };
    if let Some(header) = subject.header_timestamp().filter(|&header| time > header) {
        out.add_notice(&AFTER_HEADER, |sample| {
            owner.fill_owner_fields(sample);
            sample.set_field("timestamp", time).set_field("headerTimestamp", header);
        });
    }
    if !is_posix_time(time) {
        out.add_notice(&NOT_POSIX, |sample| {
            owner.fill_owner_fields(sample);
            sample.set_field("timestamp", time);
        });
    } else if time - subject.now > CLOCKS_APART_MAX_S {
        out.add_notice(&IN_FUTURE, |sample| {
            owner.fill_owner_fields(sample);
            sample.set_field("timestamp", time).set_field("now", subject.now);
        });
    }
}

fn check_stop_event_times(stop: &StopTimeUpdate, owner: TimestampOwner<'_>, out: &mut Notices) {
    let time = |event: &Option<StopTimeEvent>| event.as_ref().and_then(|event| event.time);
    let times = [("arrival.time", time(&stop.arrival)), ("departure.time", time(&stop.departure))];
    for (field, time) in times {
        if let Some(time) = time.filter(|&time| !is_posix_time(time)) {
            out.add_notice(&NOT_POSIX, |sample| {
                owner.fill_owner_fields(sample);
                sample.set_field("fieldName", field).set_field("timestamp", time);
                sample.set_field("stopId", stop.stop_id.as_deref());
                sample.set_field("stopSequence", stop.stop_sequence);
            });
        }
    }
}

fn check_active_periods(entity: &FeedEntity, out: &mut Notices) {
    for period in entity.alert.iter().flat_map(|alert| &alert.active_period) {
        for (field, time) in
            [("active_period.start", period.start), ("active_period.end", period.end)]
        {
            if let Some(time) = time.map(u64::cast_signed).filter(|&time| !is_posix_time(time)) {
                out.add_notice(&NOT_POSIX, |sample| {
                    sample.set_field("entityId", entity.id.as_str());
                    sample.set_field("fieldName", field).set_field("timestamp", time);
                });
            }
        }
    }
}
