//! Every time of a message: whether it is there, is in seconds since 1970, and fits the header and
//! the clock.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity,
    trip_update::{StopTimeEvent, StopTimeUpdate},
};

use super::version::number_of;
use crate::{
    Notices,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{
            ENTITY, FIELD, Field, HEADER, SEQUENCE, STOP, TIMESTAMP, TRIP, VEHICLE, error, warning,
        },
        subject::Update,
        time::{is_posix, timestamp},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NOT_POSIX, &AFTER_HEADER, &NO_HEADER_TIME, &IN_FUTURE, &NO_TIME, &OLD],
    on_update: Some(check_update),
    on_message: Some(check),
};

const NOW: Field = ("now", "When the message was received, in seconds since 1970.");

static NOT_POSIX: Kind = error(
    "E001",
    &[FIELD, TIMESTAMP, ENTITY, TRIP, VEHICLE, STOP, SEQUENCE],
    include_str!("E001.md"),
);

static AFTER_HEADER: Kind =
    error("E012", &[FIELD, TIMESTAMP, HEADER, ENTITY, TRIP, VEHICLE], include_str!("E012.md"));

static NO_HEADER_TIME: Kind = error("E048", &[], include_str!("E048.md"));

static IN_FUTURE: Kind =
    error("E050", &[FIELD, TIMESTAMP, NOW, ENTITY, TRIP, VEHICLE], include_str!("E050.md"));

static NO_TIME: Kind = warning("W001", &[FIELD, ENTITY, TRIP, VEHICLE], include_str!("W001.md"));

static OLD: Kind =
    warning("W008", &[HEADER, NOW, ("age", "The seconds between them.")], include_str!("W008.md"));

/// How old a message may be when it is received, in seconds: what the reference validator grants.
const AGE_MAX_S: i64 = 65;
/// How far clocks may be apart, in seconds: what the reference validator grants.
const CLOCKS_APART_MAX_S: i64 = 60;

/// O(stop time updates).
fn check_update(subject: &Subject<'_>, update: &Update<'_>, out: &mut Notices) {
    let whose = Whose {
        field: "trip_update.timestamp",
        entity: update.entity,
        trip: update.update.trip.trip_id.as_deref(),
        vehicle: update.run().vehicle_id(),
    };
    check_own(subject, timestamp(update.update.timestamp), whose, out);
    for stop in &update.update.stop_time_update {
        check_stop(stop, whose, out);
    }
}

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    check_header(subject, out);
    for vehicle in &subject.vehicles {
        let whose = Whose {
            field: "vehicle.timestamp",
            entity: vehicle.entity,
            trip: vehicle.run().and_then(|run| run.descriptor.trip_id.as_deref()),
            vehicle: vehicle.id(),
        };
        check_own(subject, timestamp(vehicle.position.timestamp), whose, out);
    }
    for entity in &subject.message.entity {
        check_periods(entity, out);
    }
}

fn check_header(subject: &Subject<'_>, out: &mut Notices) {
    let Some(time) = subject.timestamp() else {
        // What is no version at all is judged by the last one.
        let version = number_of(&subject.message.header.gtfs_realtime_version);
        if version.is_none_or(|number| number >= 2.0) {
            out.add(&NO_HEADER_TIME, |_| {});
        } else {
            out.add(&NO_TIME, |sample| {
                sample.put("fieldName", "header.timestamp");
            });
        }
        return;
    };
    let fill = |sample: &mut Sample| {
        sample.put("fieldName", "header.timestamp").put("timestamp", time);
    };
    if !is_posix(time) {
        out.add(&NOT_POSIX, fill);
        return;
    }
    let age = subject.now - time;
    if age > AGE_MAX_S {
        out.add(&OLD, |sample| {
            sample.put("headerTimestamp", time).put("now", subject.now).put("age", age);
        });
    }
    if -age > CLOCKS_APART_MAX_S {
        out.add(&IN_FUTURE, |sample| {
            fill(sample);
            sample.put("now", subject.now);
        });
    }
}

/// What has a timestamp.
#[derive(Clone, Copy)]
struct Whose<'a> {
    field: &'static str,
    entity: &'a FeedEntity,
    trip: Option<&'a str>,
    vehicle: Option<&'a str>,
}

impl Whose<'_> {
    fn fill(&self, sample: &mut Sample) {
        sample.put("fieldName", self.field).put("entityId", self.entity.id.as_str());
        sample.put("tripId", self.trip).put("vehicleId", self.vehicle);
    }
}

fn check_own(subject: &Subject<'_>, time: Option<i64>, whose: Whose<'_>, out: &mut Notices) {
    let Some(time) = time else {
        out.add(&NO_TIME, |sample| whose.fill(sample));
        return;
    };
    if let Some(header) = subject.timestamp().filter(|&header| time > header) {
        out.add(&AFTER_HEADER, |sample| {
            whose.fill(sample);
            sample.put("timestamp", time).put("headerTimestamp", header);
        });
    }
    if !is_posix(time) {
        out.add(&NOT_POSIX, |sample| {
            whose.fill(sample);
            sample.put("timestamp", time);
        });
    } else if time - subject.now > CLOCKS_APART_MAX_S {
        out.add(&IN_FUTURE, |sample| {
            whose.fill(sample);
            sample.put("timestamp", time).put("now", subject.now);
        });
    }
}

fn check_stop(stop: &StopTimeUpdate, whose: Whose<'_>, out: &mut Notices) {
    let time = |event: &Option<StopTimeEvent>| event.as_ref().and_then(|event| event.time);
    let times = [("arrival.time", time(&stop.arrival)), ("departure.time", time(&stop.departure))];
    for (field, time) in times {
        if let Some(time) = time.filter(|&time| !is_posix(time)) {
            out.add(&NOT_POSIX, |sample| {
                whose.fill(sample);
                sample.put("fieldName", field).put("timestamp", time);
                sample.put("stopId", stop.stop_id.as_deref());
                sample.put("stopSequence", stop.stop_sequence);
            });
        }
    }
}

fn check_periods(entity: &FeedEntity, out: &mut Notices) {
    for period in entity.alert.iter().flat_map(|alert| &alert.active_period) {
        for (field, time) in
            [("active_period.start", period.start), ("active_period.end", period.end)]
        {
            if let Some(time) = time.map(u64::cast_signed).filter(|&time| !is_posix(time)) {
                out.add(&NOT_POSIX, |sample| {
                    sample.put("entityId", entity.id.as_str());
                    sample.put("fieldName", field).put("timestamp", time);
                });
            }
        }
    }
}
