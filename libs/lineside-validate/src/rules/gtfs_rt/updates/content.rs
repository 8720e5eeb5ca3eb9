//! What one stop time update says by itself.

use lineside_formats::gtfs_rt::proto::trip_update::{
    StopTimeUpdate, stop_time_update::ScheduleRelationship,
};

use super::along::fill;
use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        fields::{ENTITY, FIELD, SEQUENCE, STOP, TRIP, error},
        subject::Update,
    },
};

pub(super) static NOWHERE: Kind = error("E040", &[ENTITY, TRIP], include_str!("E040.md"));

pub(super) static TIMES_WITHOUT_DATA: Kind =
    error("E042", &[ENTITY, TRIP, STOP, SEQUENCE, FIELD], include_str!("E042.md"));

pub(super) static NO_EVENT: Kind =
    error("E043", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E043.md"));

pub(super) static NO_TIME: Kind =
    error("E044", &[ENTITY, TRIP, STOP, SEQUENCE, FIELD], include_str!("E044.md"));

/// O(1).
pub(super) fn check(update: &Update<'_>, stop: &StopTimeUpdate, out: &mut Notices) {
    use ScheduleRelationship::{NoData, Skipped};
    let is = |wanted: ScheduleRelationship| stop.schedule_relationship == Some(wanted as i32);
    let events = [("arrival", &stop.arrival), ("departure", &stop.departure)];
    if stop.stop_id.is_none() && stop.stop_sequence.is_none() {
        out.add(&NOWHERE, |sample| fill(update, stop, sample));
    }
    for (field, event) in events {
        let Some(event) = event else { continue };
        if is(NoData) {
            out.add(&TIMES_WITHOUT_DATA, |sample| {
                fill(update, stop, sample);
                sample.put("fieldName", field);
            });
        }
        if !is(Skipped) && event.delay.is_none() && event.time.is_none() {
            out.add(&NO_TIME, |sample| {
                fill(update, stop, sample);
                sample.put("fieldName", field);
            });
        }
    }
    let has_event = stop.arrival.is_some() || stop.departure.is_some();
    if !has_event && !is(Skipped) && !is(NoData) {
        out.add(&NO_EVENT, |sample| fill(update, stop, sample));
    }
}
