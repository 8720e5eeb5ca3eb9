//! Stop time updates beside the trip's stop times, one after the other.

use lineside_formats::gtfs_rt::proto::{
    trip_descriptor::ScheduleRelationship, trip_update::StopTimeUpdate,
};

use super::content;
use crate::{
    Notices,
    notice::{Kind, Sample},
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, FIELD, Field, SEQUENCE, STOP, TRIP, error},
        subject::Update,
        timetable::{StopTime, Timetable},
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
    on_update: Some(check),
    on_message: None,
};

const PREVIOUS: Field = ("previousStopSequence", "The place of the stop before.");

static UNSORTED: Kind =
    error("E002", &[ENTITY, TRIP, STOP, SEQUENCE, PREVIOUS], include_str!("E002.md"));

static AMBIGUOUS: Kind = error("E009", &[ENTITY, TRIP, STOP], include_str!("E009.md"));

static SAME_SEQUENCE: Kind =
    error("E036", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E036.md"));

static SAME_STOP: Kind = error("E037", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E037.md"));

static NO_UPDATES: Kind = error("E041", &[ENTITY, TRIP], include_str!("E041.md"));

static OTHER_STOP: Kind = error(
    "E045",
    &[ENTITY, TRIP, STOP, SEQUENCE, ("scheduledStopId", "The stop that the schedule has there.")],
    include_str!("E045.md"),
);

static NO_SCHEDULED_TIME: Kind =
    error("E046", &[ENTITY, TRIP, STOP, SEQUENCE, FIELD], include_str!("E046.md"));

static UNKNOWN_SEQUENCE: Kind =
    error("E051", &[ENTITY, TRIP, STOP, SEQUENCE], include_str!("E051.md"));

/// O(stop time updates and stop times of their trips): both are walked once, together.
fn check(subject: &Subject<'_>, update: &Update<'_>, out: &mut Notices) {
    check_any(update, out);
    check_stops(subject.timetable, update, out);
}

/// What says where an update is about.
pub(super) fn fill(update: &Update<'_>, stop: &StopTimeUpdate, sample: &mut Sample) {
    sample.put("entityId", update.entity.id.as_str());
    sample.put("tripId", update.update.trip.trip_id.as_deref());
    sample.put("stopId", stop.stop_id.as_deref()).put("stopSequence", stop.stop_sequence);
}

fn check_any(update: &Update<'_>, out: &mut Notices) {
    use ScheduleRelationship::{Canceled, Deleted};
    let trip = &update.update.trip;
    let is_off = |number| number == Canceled as i32 || number == Deleted as i32;
    if update.update.stop_time_update.is_empty() && !trip.schedule_relationship.is_some_and(is_off)
    {
        out.add(&NO_UPDATES, |sample| {
            sample.put("entityId", update.entity.id.as_str());
            sample.put("tripId", trip.trip_id.as_deref());
        });
    }
}

fn check_stops(timetable: &Timetable, update: &Update<'_>, out: &mut Notices) {
    let stops = &update.update.stop_time_update;
    let mut walk = Walk {
        timetable,
        times: update.trip.map_or(&[], |trip| timetable.stop_times(trip)),
        update,
        order: Order::default(),
    };
    let is_loop = update.trip.is_some_and(|trip| trip.is_loop);
    let blind = stops.iter().position(|stop| is_loop && stop.stop_sequence.is_none());
    let mut previous: Option<&StopTimeUpdate> = None;
    for (at, stop) in stops.iter().enumerate() {
        if blind == Some(at) {
            out.add(&AMBIGUOUS, |sample| fill(update, stop, sample));
        }
        if let Some(previous) = previous {
            check_pair(update, previous, stop, out);
        }
        previous = Some(stop);
        if let Some(sequence) = stop.stop_sequence {
            walk.order.add(sequence, stop);
        }
        let is_unknown = walk.find(stop, out);
        content::check(update, stop, out);
        if is_unknown {
            // From here on nothing of the schedule is left to compare with.
            out.add(&UNKNOWN_SEQUENCE, |sample| fill(update, stop, sample));
            break;
        }
    }
    walk.order.check(update, stops.len(), out);
}

fn check_pair(
    update: &Update<'_>,
    previous: &StopTimeUpdate,
    stop: &StopTimeUpdate,
    out: &mut Notices,
) {
    if stop.stop_sequence.is_some() && stop.stop_sequence == previous.stop_sequence {
        out.add(&SAME_SEQUENCE, |sample| fill(update, stop, sample));
    }
    let id = stop.stop_id.as_deref().filter(|id| !id.is_empty());
    if id.is_some() && id == previous.stop_id.as_deref() {
        out.add(&SAME_STOP, |sample| fill(update, stop, sample));
    }
}

/// The sequences of a trip's updates, those included that the schedule has to say.
#[derive(Default)]
struct Order<'a> {
    last: Option<u32>,
    n: usize,
    has_guesses: bool,
    /// The first one that does not rise, and what stands before it.
    falls: Option<(u32, u32, &'a StopTimeUpdate)>,
}

impl<'a> Order<'a> {
    fn add(&mut self, sequence: u32, stop: &'a StopTimeUpdate) {
        if let Some(last) = self.last.filter(|&last| sequence <= last) {
            self.falls = self.falls.or(Some((sequence, last, stop)));
        }
        self.last = Some(sequence);
        self.n += 1;
    }

    fn check(&self, update: &Update<'_>, n_stops: usize, out: &mut Notices) {
        if let Some((sequence, last, stop)) = self.falls {
            out.add(&UNSORTED, |sample| {
                fill(update, stop, sample);
                sample.put("stopSequence", sequence).put("previousStopSequence", last);
            });
        } else if self.has_guesses && self.n < n_stops {
            // Some stop was not found behind the one before it.
            out.add(&UNSORTED, |sample| {
                sample.put("entityId", update.entity.id.as_str());
                sample.put("tripId", update.update.trip.trip_id.as_deref());
            });
        }
    }
}

/// On its way along the stop times of a trip.
struct Walk<'a> {
    timetable: &'a Timetable,
    /// What of the trip lies ahead.
    times: &'a [StopTime],
    update: &'a Update<'a>,
    order: Order<'a>,
}

impl<'a> Walk<'a> {
    /// Goes on to the stop time that an update is about. Returns whether the trip ended before a
    /// sequence was found.
    fn find(&mut self, stop: &'a StopTimeUpdate, out: &mut Notices) -> bool {
        while let [time, rest @ ..] = self.times {
            self.times = rest;
            let id = self.timetable.stop_of(time).map(|(_, id)| id);
            if let Some(sequence) = stop.stop_sequence {
                if sequence == time.sequence {
                    self.check_stop(stop, id, out);
                    self.check_times(stop, time, out);
                    return false;
                }
                if rest.is_empty() {
                    return true;
                }
            } else if id.is_some() && id == stop.stop_id.as_deref() {
                self.order.add(time.sequence, stop);
                self.order.has_guesses = true;
                self.check_times(stop, time, out);
                return false;
            }
        }
        false
    }

    fn check_stop(&self, stop: &StopTimeUpdate, scheduled: Option<&str>, out: &mut Notices) {
        let (Some(id), Some(scheduled)) = (stop.stop_id.as_deref(), scheduled) else { return };
        if id != scheduled {
            out.add(&OTHER_STOP, |sample| {
                fill(self.update, stop, sample);
                sample.put("scheduledStopId", scheduled);
            });
        }
    }

    fn check_times(&self, stop: &StopTimeUpdate, time: &StopTime, out: &mut Notices) {
        let events = [
            ("arrival.time", &stop.arrival, time.has_arrival),
            ("departure.time", &stop.departure, time.has_departure),
        ];
        for (field, event, is_scheduled) in events {
            if !is_scheduled && event.as_ref().is_some_and(|event| event.time.is_none()) {
                out.add(&NO_SCHEDULED_TIME, |sample| {
                    fill(self.update, stop, sample);
                    sample.put("fieldName", field);
                });
            }
        }
    }
}
