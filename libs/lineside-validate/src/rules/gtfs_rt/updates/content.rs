//! Checks of single stop time updates.

use lineside_formats::gtfs_rt::proto::trip_update::{
    StopTimeUpdate, stop_time_update::ScheduleRelationship,
};

use super::along::set_stop_update_fields;
use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        fields::{ENTITY, FIELD, SEQUENCE, STOP, TRIP, new_error_kind},
        subject::TripUpdateWithSchedule,
    },
};

pub(super) static NOWHERE: NoticeKind =
    new_error_kind("E040", &[ENTITY, TRIP], include_str!("E040.md"));

pub(super) static TIMES_WITHOUT_DATA: NoticeKind =
    new_error_kind("E042", &[ENTITY, TRIP, STOP, SEQUENCE, FIELD], include_str!("E042.md"));

pub(super) static NO_EVENT: NoticeKind =
    new_error_kind("E043", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E043.md"));

pub(super) static NO_TIME: NoticeKind =
    new_error_kind("E044", &[ENTITY, TRIP, STOP, SEQUENCE, FIELD], include_str!("E044.md"));

/// O(1).
pub(super) fn check_stop_update_content(
    update: &TripUpdateWithSchedule<'_>,
    stop: &StopTimeUpdate,
    out: &mut Notices,
) {
    use ScheduleRelationship::{NoData, Skipped};
    let is = |wanted: ScheduleRelationship| stop.schedule_relationship == Some(wanted as i32);
    let events = [("arrival", &stop.arrival), ("departure", &stop.departure)];
    if stop.stop_id.is_none() && stop.stop_sequence.is_none() {
        out.count_notice_with_sample(&NOWHERE, |sample| {
            set_stop_update_fields(update, stop, sample)
        });
    }
    for (field, event) in events {
        let Some(event) = event else { continue };
        if is(NoData) {
            out.count_notice_with_sample(&TIMES_WITHOUT_DATA, |sample| {
                set_stop_update_fields(update, stop, sample);
                sample.set_field("fieldName", field);
            });
        }
        if !is(Skipped) && event.delay.is_none() && event.time.is_none() {
            out.count_notice_with_sample(&NO_TIME, |sample| {
                set_stop_update_fields(update, stop, sample);
                sample.set_field("fieldName", field);
            });
        }
    }
    let has_event = stop.arrival.is_some() || stop.departure.is_some();
    if !has_event && !is(Skipped) && !is(NoData) {
        out.count_notice_with_sample(&NO_EVENT, |sample| {
            set_stop_update_fields(update, stop, sample)
        });
    }
}
