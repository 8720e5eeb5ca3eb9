//! Checks that times increase along a trip.

use lineside_formats::gtfs_rt::proto::trip_update::{StopTimeEvent, StopTimeUpdate};

use super::along::set_stop_update_fields;
use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, FIELD, NoticeFieldMeaning, SEQUENCE, STOP, TRIP, new_error_kind},
        subject::TripUpdateWithSchedule,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&NOT_RISING, &DEPARTS_FIRST],
    on_update: Some(check_times_increase),
    on_message: None,
};

const TIME: NoticeFieldMeaning = ("time", "The time, in seconds since 1970.");

static NOT_RISING: NoticeKind = new_error_kind(
    "E022",
    &[
        ENTITY,
        TRIP,
        STOP,
        SEQUENCE,
        FIELD,
        TIME,
        ("previousFieldName", "The field of the previous stop."),
        ("previousTime", "The time at the previous stop, in seconds since 1970."),
    ],
    include_str!("E022.md"),
);

static DEPARTS_FIRST: NoticeKind = new_error_kind(
    "E025",
    &[
        ENTITY,
        TRIP,
        STOP,
        SEQUENCE,
        ("arrivalTime", "The arrival, in seconds since 1970."),
        ("departureTime", "The departure, in seconds since 1970."),
    ],
    include_str!("E025.md"),
);

/// O(stop time updates).
fn check_times_increase(
    _: &MessageWithContext<'_>,
    update: &TripUpdateWithSchedule<'_>,
    out: &mut Notices,
) {
    let time = |event: &Option<StopTimeEvent>| event.as_ref().and_then(|event| event.time);
    let (mut last_arrival, mut last_departure) = (None, None);
    for stop in &update.update.stop_time_update {
        let (arrival, departure) = (time(&stop.arrival), time(&stop.departure));
        let last = [("arrival.time", last_arrival), ("departure.time", last_departure)];
        report_times_not_increasing(update, stop, ("arrival.time", arrival), last, out);
        report_times_not_increasing(update, stop, ("departure.time", departure), last, out);
        if let (Some(arrival), Some(departure)) = (arrival, departure)
            && departure < arrival
        {
            out.count_notice_with_sample(&DEPARTS_FIRST, |sample| {
                set_stop_update_fields(update, stop, sample);
                sample.set_field("arrivalTime", arrival).set_field("departureTime", departure);
            });
        }
        last_arrival = arrival.or(last_arrival);
        last_departure = departure.or(last_departure);
    }
}

type FieldAndTime = (&'static str, Option<i64>);

/// Reports one notice for each earlier event whose time this time does not follow.
fn report_times_not_increasing(
    update: &TripUpdateWithSchedule<'_>,
    stop: &StopTimeUpdate,
    (field, time): FieldAndTime,
    last: [FieldAndTime; 2],
    out: &mut Notices,
) {
    let Some(time) = time else { return };
    for (last_field, last) in last {
        if let Some(last) = last.filter(|&last| time <= last) {
            out.count_notice_with_sample(&NOT_RISING, |sample| {
                set_stop_update_fields(update, stop, sample);
                sample.set_field("fieldName", field).set_field("time", time);
                sample.set_field("previousFieldName", last_field).set_field("previousTime", last);
            });
        }
    }
}
