//! Checks of all timestamps of a message: they exist, are in seconds since 1970, and fit the header
//! and the clock.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity,
    trip_update::{StopTimeEvent, StopTimeUpdate},
};

use super::version::parse_version_number;
use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{
            ENTITY, FIELD, HEADER, NoticeFieldMeaning, SEQUENCE, STOP, TIMESTAMP, TRIP, VEHICLE,
            new_error_kind, new_warning_kind,
        },
        subject::TripUpdateWithSchedule,
        time::{is_plausible_posix_time, timestamp_unless_zero},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NOT_POSIX, &AFTER_HEADER, &NO_HEADER_TIME, &IN_FUTURE, &NO_TIME, &OLD],
    on_update: Some(check_trip_update_timestamps),
    on_message: Some(check_header_and_vehicle_timestamps),
};

const NOW: NoticeFieldMeaning = ("now", "The time of reception, in seconds since 1970.");

static NOT_POSIX: NoticeKind = new_error_kind(
    "E001",
    &[FIELD, TIMESTAMP, ENTITY, TRIP, VEHICLE, STOP, SEQUENCE],
    include_str!("E001.md"),
);

static AFTER_HEADER: NoticeKind = new_error_kind(
    "E012",
    &[FIELD, TIMESTAMP, HEADER, ENTITY, TRIP, VEHICLE],
    include_str!("E012.md"),
);

static NO_HEADER_TIME: NoticeKind = new_error_kind("E048", &[], include_str!("E048.md"));

static IN_FUTURE: NoticeKind = new_error_kind(
    "E050",
    &[FIELD, TIMESTAMP, NOW, ENTITY, TRIP, VEHICLE],
    include_str!("E050.md"),
);

static NO_TIME: NoticeKind =
    new_warning_kind("W001", &[FIELD, ENTITY, TRIP, VEHICLE], include_str!("W001.md"));

static OLD: NoticeKind = new_warning_kind(
    "W008",
    &[HEADER, NOW, ("age", "The difference, in seconds.")],
    include_str!("W008.md"),
);

/// The largest age of a message when it is received, in seconds, as in the reference validator.
const AGE_MAX_S: i64 = 65;
/// The largest lead of a timestamp over the clock, in seconds, as in the reference validator.
const CLOCKS_APART_MAX_S: i64 = 60;

/// O(stop time updates).
fn check_trip_update_timestamps(
    subject: &MessageWithContext<'_>,
    update: &TripUpdateWithSchedule<'_>,
    out: &mut Notices,
) {
    let owner = TimestampField {
        field: "trip_update.timestamp",
        entity: update.entity,
        trip: update.update.trip.trip_id.as_deref(),
        vehicle: update.trip_reference().vehicle_id(),
    };
    check_entity_timestamp(subject, timestamp_unless_zero(update.update.timestamp), owner, out);
    for stop in &update.update.stop_time_update {
        check_stop_event_times(stop, owner, out);
    }
}

/// O(entities).
fn check_header_and_vehicle_timestamps(subject: &MessageWithContext<'_>, out: &mut Notices) {
    check_header_timestamp(subject, out);
    for vehicle in &subject.vehicles {
        let owner = TimestampField {
            field: "vehicle.timestamp",
            entity: vehicle.entity,
            trip: vehicle.trip_ref().and_then(|run| run.descriptor.trip_id.as_deref()),
            vehicle: vehicle.vehicle_id(),
        };
        check_entity_timestamp(
            subject,
            timestamp_unless_zero(vehicle.position.timestamp),
            owner,
            out,
        );
    }
    for entity in &subject.message.entity {
        check_active_period_timestamps(entity, out);
    }
}

fn check_header_timestamp(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let Some(time) = subject.header_timestamp() else {
        // A version that is not a number is judged as the latest version.
        let version = parse_version_number(&subject.message.header.gtfs_realtime_version);
        if version.is_none_or(|number| number >= 2.0) {
            out.count_notice_with_sample(&NO_HEADER_TIME, |_| {});
        } else {
            out.count_notice_with_sample(&NO_TIME, |sample| {
                sample.set_field("fieldName", "header.timestamp");
            });
        }
        return;
    };
    let fill = |sample: &mut NoticeSample| {
        sample.set_field("fieldName", "header.timestamp").set_field("timestamp", time);
    };
    if !is_plausible_posix_time(time) {
        out.count_notice_with_sample(&NOT_POSIX, fill);
        return;
    }
    let age = subject.now - time;
    if age > AGE_MAX_S {
        out.count_notice_with_sample(&OLD, |sample| {
            sample
                .set_field("headerTimestamp", time)
                .set_field("now", subject.now)
                .set_field("age", age);
        });
    }
    if -age > CLOCKS_APART_MAX_S {
        out.count_notice_with_sample(&IN_FUTURE, |sample| {
            fill(sample);
            sample.set_field("now", subject.now);
        });
    }
}

/// The entity and field that have a timestamp.
#[derive(Clone, Copy)]
struct TimestampField<'a> {
    field: &'static str,
    entity: &'a FeedEntity,
    trip: Option<&'a str>,
    vehicle: Option<&'a str>,
}

impl TimestampField<'_> {
    fn set_timestamp_field_location(&self, sample: &mut NoticeSample) {
        sample.set_field("fieldName", self.field).set_field("entityId", self.entity.id.as_str());
        sample.set_field("tripId", self.trip).set_field("vehicleId", self.vehicle);
    }
}

fn check_entity_timestamp(
    subject: &MessageWithContext<'_>,
    time: Option<i64>,
    owner: TimestampField<'_>,
    out: &mut Notices,
) {
    let Some(time) = time else {
        out.count_notice_with_sample(&NO_TIME, |sample| owner.set_timestamp_field_location(sample));
        return;
    };
    if let Some(header) = subject.header_timestamp().filter(|&header| time > header) {
        out.count_notice_with_sample(&AFTER_HEADER, |sample| {
            owner.set_timestamp_field_location(sample);
            sample.set_field("timestamp", time).set_field("headerTimestamp", header);
        });
    }
    if !is_plausible_posix_time(time) {
        out.count_notice_with_sample(&NOT_POSIX, |sample| {
            owner.set_timestamp_field_location(sample);
            sample.set_field("timestamp", time);
        });
    } else if time - subject.now > CLOCKS_APART_MAX_S {
        out.count_notice_with_sample(&IN_FUTURE, |sample| {
            owner.set_timestamp_field_location(sample);
            sample.set_field("timestamp", time).set_field("now", subject.now);
        });
    }
}

fn check_stop_event_times(stop: &StopTimeUpdate, owner: TimestampField<'_>, out: &mut Notices) {
    let time = |event: &Option<StopTimeEvent>| event.as_ref().and_then(|event| event.time);
    let times = [("arrival.time", time(&stop.arrival)), ("departure.time", time(&stop.departure))];
    for (field, time) in times {
        if let Some(time) = time.filter(|&time| !is_plausible_posix_time(time)) {
            out.count_notice_with_sample(&NOT_POSIX, |sample| {
                owner.set_timestamp_field_location(sample);
                sample.set_field("fieldName", field).set_field("timestamp", time);
                sample.set_field("stopId", stop.stop_id.as_deref());
                sample.set_field("stopSequence", stop.stop_sequence);
            });
        }
    }
}

fn check_active_period_timestamps(entity: &FeedEntity, out: &mut Notices) {
    for period in entity.alert.iter().flat_map(|alert| &alert.active_period) {
        for (field, time) in
            [("active_period.start", period.start), ("active_period.end", period.end)]
        {
            if let Some(time) =
                time.map(u64::cast_signed).filter(|&time| !is_plausible_posix_time(time))
            {
                out.count_notice_with_sample(&NOT_POSIX, |sample| {
                    sample.set_field("entityId", entity.id.as_str());
                    sample.set_field("fieldName", field).set_field("timestamp", time);
                });
            }
        }
    }
}
