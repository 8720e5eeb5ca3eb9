//! Comparison of stop time updates with the trip's stop times, in order.

use lineside_formats::gtfs_rt::proto::{
    trip_descriptor::ScheduleRelationship, trip_update::StopTimeUpdate,
};

use super::content;
use crate::{
    Notices,
    notice::{NoticeKind, NoticeSample},
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, FIELD, NoticeFieldMeaning, SEQUENCE, STOP, TRIP, new_error_kind},
        schedule_index::{IndexedStopTime, ScheduleIndex},
        subject::TripUpdateWithSchedule,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[
        &UNSORTED,
        &AMBIGUOUS,
        &SAME_SEQUENCE,
        &SAME_STOP,
        &content::NOWHERE,
        &NO_UPDATES,
        &content::TIMES_WITHOUT_DATA,
        &content::NO_EVENT,
        &content::NO_TIME,
        &OTHER_STOP,
        &NO_SCHEDULED_TIME,
        &UNKNOWN_SEQUENCE,
    ],
    on_update: Some(compare_updates_with_schedule),
    on_message: None,
};

const PREVIOUS: NoticeFieldMeaning =
    ("previousStopSequence", "The `stop_sequence` of the previous stop.");

static UNSORTED: NoticeKind =
    new_error_kind("E002", &[ENTITY, TRIP, STOP, SEQUENCE, PREVIOUS], include_str!("E002.md"));

static AMBIGUOUS: NoticeKind =
    new_error_kind("E009", &[ENTITY, TRIP, STOP], include_str!("E009.md"));

static SAME_SEQUENCE: NoticeKind =
    new_error_kind("E036", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E036.md"));

static SAME_STOP: NoticeKind =
    new_error_kind("E037", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E037.md"));

static NO_UPDATES: NoticeKind = new_error_kind("E041", &[ENTITY, TRIP], include_str!("E041.md"));

static OTHER_STOP: NoticeKind = new_error_kind(
    "E045",
    &[ENTITY, TRIP, STOP, SEQUENCE, ("scheduledStopId", "The scheduled stop at this position.")],
    include_str!("E045.md"),
);

static NO_SCHEDULED_TIME: NoticeKind =
    new_error_kind("E046", &[ENTITY, TRIP, STOP, SEQUENCE, FIELD], include_str!("E046.md"));

static UNKNOWN_SEQUENCE: NoticeKind =
    new_error_kind("E051", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E051.md"));

/// O(stop time updates + stop times of their trips): both are walked once, together.
fn compare_updates_with_schedule(
    subject: &MessageWithContext<'_>,
    update: &TripUpdateWithSchedule<'_>,
    out: &mut Notices,
) {
    check_trip_has_stop_updates(update, out);
    compare_stop_updates_in_order(subject.timetable, update, out);
}

/// Fills in the fields that identify an update.
pub(super) fn set_stop_update_fields(
    update: &TripUpdateWithSchedule<'_>,
    stop: &StopTimeUpdate,
    sample: &mut NoticeSample,
) {
    sample.set_field("entityId", update.entity.id.as_str());
    sample.set_field("tripId", update.update.trip.trip_id.as_deref());
    sample
        .set_field("stopId", stop.stop_id.as_deref())
        .set_field("stopSequence", stop.stop_sequence);
}

fn check_trip_has_stop_updates(update: &TripUpdateWithSchedule<'_>, out: &mut Notices) {
    use ScheduleRelationship::{Canceled, Deleted};
    let trip = &update.update.trip;
    let is_off = |number| number == Canceled as i32 || number == Deleted as i32;
    if update.update.stop_time_update.is_empty() && !trip.schedule_relationship.is_some_and(is_off)
    {
        out.count_notice_with_sample(&NO_UPDATES, |sample| {
            sample.set_field("entityId", update.entity.id.as_str());
            sample.set_field("tripId", trip.trip_id.as_deref());
        });
    }
}

fn compare_stop_updates_in_order(
    timetable: &ScheduleIndex,
    update: &TripUpdateWithSchedule<'_>,
    out: &mut Notices,
) {
    let stops = &update.update.stop_time_update;
    let mut walk = ScheduledStopTimeWalk {
        timetable,
        times: update.trip.map_or(&[], |trip| timetable.stop_times_of_trip(trip)),
        update,
        order: StopSequenceOrder::default(),
    };
    let is_loop = update.trip.is_some_and(|trip| trip.is_loop);
    let blind = stops.iter().position(|stop| is_loop && stop.stop_sequence.is_none());
    let mut previous: Option<&StopTimeUpdate> = None;
    for (at, stop) in stops.iter().enumerate() {
        if blind == Some(at) {
            out.count_notice_with_sample(&AMBIGUOUS, |sample| {
                set_stop_update_fields(update, stop, sample)
            });
        }
        if let Some(previous) = previous {
            check_consecutive_stops(update, previous, stop, out);
        }
        previous = Some(stop);
        if let Some(sequence) = stop.stop_sequence {
            walk.order.add_stop_sequence(sequence, stop);
        }
        let is_unknown = walk.advance_to_stop_time(stop, out);
        content::check_stop_update_content(update, stop, out);
        if is_unknown {
            // The rest of the update has nothing in the schedule to compare with.
            out.count_notice_with_sample(&UNKNOWN_SEQUENCE, |sample| {
                set_stop_update_fields(update, stop, sample)
            });
            break;
        }
    }
    walk.order.report_unsorted_sequences(update, stops.len(), out);
}

fn check_consecutive_stops(
    update: &TripUpdateWithSchedule<'_>,
    previous: &StopTimeUpdate,
    stop: &StopTimeUpdate,
    out: &mut Notices,
) {
    if stop.stop_sequence.is_some() && stop.stop_sequence == previous.stop_sequence {
        out.count_notice_with_sample(&SAME_SEQUENCE, |sample| {
            set_stop_update_fields(update, stop, sample)
        });
    }
    let id = stop.stop_id.as_deref().filter(|id| !id.is_empty());
    if id.is_some() && id == previous.stop_id.as_deref() {
        out.count_notice_with_sample(&SAME_STOP, |sample| {
            set_stop_update_fields(update, stop, sample)
        });
    }
}

/// The sequences of a trip's updates, including those taken from the schedule.
#[derive(Default)]
struct StopSequenceOrder<'a> {
    last: Option<u32>,
    n: usize,
    has_guesses: bool,
    /// The first update whose sequence does not rise: its sequence, the one before, and the update.
    falls: Option<(u32, u32, &'a StopTimeUpdate)>,
}

impl<'a> StopSequenceOrder<'a> {
    fn add_stop_sequence(&mut self, sequence: u32, stop: &'a StopTimeUpdate) {
        if let Some(last) = self.last.filter(|&last| sequence <= last) {
            self.falls = self.falls.or(Some((sequence, last, stop)));
        }
        self.last = Some(sequence);
        self.n += 1;
    }

    fn report_unsorted_sequences(
        &self,
        update: &TripUpdateWithSchedule<'_>,
        n_stops: usize,
        out: &mut Notices,
    ) {
        if let Some((sequence, last, stop)) = self.falls {
            out.count_notice_with_sample(&UNSORTED, |sample| {
                set_stop_update_fields(update, stop, sample);
                sample.set_field("stopSequence", sequence).set_field("previousStopSequence", last);
            });
        } else if self.has_guesses && self.n < n_stops {
            // Some stop was not found after the one before it.
            out.count_notice_with_sample(&UNSORTED, |sample| {
                sample.set_field("entityId", update.entity.id.as_str());
                sample.set_field("tripId", update.update.trip.trip_id.as_deref());
            });
        }
    }
}

/// A walk along the stop times of a trip.
struct ScheduledStopTimeWalk<'a> {
    timetable: &'a ScheduleIndex,
    /// The remaining stop times.
    times: &'a [IndexedStopTime],
    update: &'a TripUpdateWithSchedule<'a>,
    order: StopSequenceOrder<'a>,
}

impl<'a> ScheduledStopTimeWalk<'a> {
    /// Advances to the stop time of an update. Returns true if the trip ended before its sequence
    /// was found.
    fn advance_to_stop_time(&mut self, stop: &'a StopTimeUpdate, out: &mut Notices) -> bool {
        while let [time, rest @ ..] = self.times {
            self.times = rest;
            let id = self.timetable.stop_of_stop_time(time).map(|(_, id)| id);
            if let Some(sequence) = stop.stop_sequence {
                if sequence == time.sequence {
                    self.check_stop_id_as_scheduled(stop, id, out);
                    self.check_times_at_scheduled_stop(stop, time, out);
                    return false;
                }
                if rest.is_empty() {
                    return true;
                }
            } else if id.is_some() && id == stop.stop_id.as_deref() {
                self.order.add_stop_sequence(time.sequence, stop);
                self.order.has_guesses = true;
                self.check_times_at_scheduled_stop(stop, time, out);
                return false;
            }
        }
        false
    }

    fn check_stop_id_as_scheduled(
        &self,
        stop: &StopTimeUpdate,
        scheduled: Option<&str>,
        out: &mut Notices,
    ) {
        let (Some(id), Some(scheduled)) = (stop.stop_id.as_deref(), scheduled) else { return };
        if id != scheduled {
            out.count_notice_with_sample(&OTHER_STOP, |sample| {
                set_stop_update_fields(self.update, stop, sample);
                sample.set_field("scheduledStopId", scheduled);
            });
        }
    }

    fn check_times_at_scheduled_stop(
        &self,
        stop: &StopTimeUpdate,
        time: &IndexedStopTime,
        out: &mut Notices,
    ) {
        let events = [
            ("arrival.time", &stop.arrival, time.has_arrival),
            ("departure.time", &stop.departure, time.has_departure),
        ];
        for (field, event, is_scheduled) in events {
            if !is_scheduled && event.as_ref().is_some_and(|event| event.time.is_none()) {
                out.count_notice_with_sample(&NO_SCHEDULED_TIME, |sample| {
                    set_stop_update_fields(self.update, stop, sample);
                    sample.set_field("fieldName", field);
                });
            }
        }
    }
}
