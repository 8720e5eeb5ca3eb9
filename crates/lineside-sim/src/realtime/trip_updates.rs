//! What a control room would predict: sure of the next stop, ever less of those after it.
//!
//! A prediction is made anew whenever the vehicle arrives or departs, and not between, as real systems do; so most
//! entities are the same bytes from poll to poll.

use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::trip_update::stop_time_update::ScheduleRelationship as StopRelationship;
use proto::trip_update::{StopTimeEvent, StopTimeUpdate};

use super::courses::Course;
use super::runs::{AHEAD, DayAt, Kind, Run};
use super::{header, seconds};
use crate::city::City;

/// A trip is told of this long before it starts, seconds.
const TOLD_AHEAD: f64 = 25.0 * 60.0;
/// Whether it will start late is known this long before, seconds.
const KNOWN_AHEAD: f64 = 8.0 * 60.0;
/// A cancellation is told of this long before the start, seconds.
const CANCELLATION_AHEAD: f64 = AHEAD as f64;
/// How far ahead a prediction holds, seconds: beyond, it falls back to the delay of the moment.
const HOLDS: f64 = 14.0 * 60.0;

impl City {
    /// The feed of trip updates at an instant.
    pub fn trip_updates(&self, now: UnixMillis) -> proto::FeedMessage {
        let now = seconds(now);
        let mut course = Course::default();
        let mut entity = Vec::new();
        for at in self.days_at(now) {
            for run in self.runs_at(&at) {
                let update = if self.is_cancelled(&run, &at.events) {
                    self.cancellation(&run, &at)
                } else {
                    self.trip_update(&run, &at, now, &mut course)
                };
                if update.is_some() {
                    let id = self.entity_id(&run, &at);
                    entity.push(proto::FeedEntity {
                        id,
                        trip_update: update,
                        ..Default::default()
                    });
                }
            }
        }
        proto::FeedMessage { header: header(now, self.version()), entity }
    }

    fn cancellation(&self, run: &Run, at: &DayAt) -> Option<proto::TripUpdate> {
        let start = f64::from(run.trip.start);
        let end = start + f64::from(self.timetable().duration(&run.trip));
        (start - CANCELLATION_AHEAD..end).contains(&at.seconds).then(|| proto::TripUpdate {
            trip: self.trip_descriptor(run, &at.date, true),
            timestamp: Some(self.time().instant(at.day, start - CANCELLATION_AHEAD) as u64),
            ..Default::default()
        })
    }

    fn trip_update(
        &self,
        run: &Run,
        at: &DayAt,
        now: i64,
        course: &mut Course,
    ) -> Option<proto::TripUpdate> {
        let reported = self.last_report(run, now);
        let time = at.seconds - (now - reported) as f64;
        let start = f64::from(run.trip.start);
        let told = (start - TOLD_AHEAD..start).contains(&time);
        if !told && !self.may_be_out(run, time) {
            return None;
        }
        self.course(run, &at.events, course);
        let has_vehicle = time >= course.from;
        if time >= course.until || (!has_vehicle && time < start - TOLD_AHEAD) {
            return None;
        }
        let known = self.known(run, course, time);
        let stop_time_update = self.stop_time_updates(run, at, course, &known);
        Some(proto::TripUpdate {
            trip: self.trip_descriptor(run, &at.date, false),
            stop_time_update,
            vehicle: has_vehicle.then(|| self.vehicle_descriptor(run)),
            timestamp: Some(self.time().instant(at.day, known.since) as u64),
            delay: (run.kind == Kind::Scheduled).then_some(known.delay.round() as i32),
            trip_properties: None,
        })
    }

    /// What is known of a run at a time.
    fn known(&self, run: &Run, course: &Course, time: f64) -> Known {
        let times = self.timetable().times(run.trip.pattern, run.trip.profile);
        let start = f64::from(run.trip.start);
        let first = course.moments[0].depart;
        if time < first {
            // Before the start the delay is at first not known at all, then from the vehicle's last trip.
            let foreseen = time >= first - KNOWN_AHEAD;
            let told = if foreseen { first - KNOWN_AHEAD } else { start - TOLD_AHEAD };
            let since = match (time >= course.from, foreseen) {
                (true, true) => told.max(course.from),
                (true, false) => course.from,
                (false, _) => told,
            };
            let delay = if foreseen { first - start } else { 0.0 };
            return Known { since: since.floor(), delay, next: 0, foreseen };
        }
        let mut known = Known { since: first, delay: first - start, next: 0, foreseen: true };
        for (i, moment) in course.moments.iter().enumerate() {
            if moment.arrive <= time {
                known = Known {
                    since: moment.arrive,
                    delay: moment.arrive - start - f64::from(times[i].0),
                    next: i,
                    foreseen: true,
                };
            }
            if moment.depart <= time {
                known = Known {
                    since: moment.depart,
                    delay: moment.depart - start - f64::from(times[i].1),
                    next: (i + 1).min(times.len() - 1),
                    foreseen: true,
                };
            }
        }
        known.since = known.since.floor();
        known
    }

    /// One update for the stop it is at or comes to next, and for each one after it.
    fn stop_time_updates(
        &self,
        run: &Run,
        at: &DayAt,
        course: &Course,
        known: &Known,
    ) -> Vec<StopTimeUpdate> {
        let times = self.timetable().times(run.trip.pattern, run.trip.profile);
        let start = f64::from(run.trip.start);
        let base = self.time().instant(at.day, start) as i64;
        let last = times.len() - 1;
        let mut earliest = i64::MIN;
        let mut updates = Vec::with_capacity(last + 1 - known.next);
        for (i, (arrival, departure)) in times.iter().enumerate().skip(known.next) {
            let moment = &course.moments[i];
            let sure = if known.foreseen {
                // The stop that comes next is predicted as well as it gets.
                if i == known.next {
                    1.0
                } else {
                    (-(moment.arrive - known.since).max(0.0) / HOLDS).exp()
                }
            } else {
                0.0
            };
            let predict = |scheduled: i32, real: f64| {
                let truth = real - start - f64::from(scheduled);
                (known.delay + (truth - known.delay) * sure).round() as i64
            };
            let mut event = |scheduled: i32, real: f64| {
                let time = (base + i64::from(scheduled) + predict(scheduled, real)).max(earliest);
                earliest = time;
                self.event(run, base + i64::from(scheduled), time)
            };
            let skipped = moment.skipped;
            let arrives = (i > 0 && !skipped).then(|| event(*arrival, moment.arrive));
            let departs = (i < last && !skipped).then(|| event(*departure, moment.depart));
            earliest = earliest.saturating_add(MOVES_MIN);
            updates.push(StopTimeUpdate {
                stop_sequence: Some(i as u32 + 1),
                stop_id: Some(self.stop_id(run, i).to_owned()),
                arrival: arrives,
                departure: departs,
                schedule_relationship: Some(stop_relationship(run, skipped) as i32),
                ..Default::default()
            });
        }
        updates
    }

    /// A time, and a delay where there is a scheduled time to be late against.
    fn event(&self, run: &Run, scheduled: i64, time: i64) -> StopTimeEvent {
        let delay = match run.kind {
            Kind::Scheduled | Kind::Headway { exact: true } => Some((time - scheduled) as i32),
            Kind::Headway { exact: false } | Kind::Added => None,
        };
        StopTimeEvent { delay, time: Some(time), ..Default::default() }
    }
}

/// No two stops are predicted nearer than this, seconds.
const MOVES_MIN: i64 = 6;

/// What a control room knows of a run.
struct Known {
    /// Since when, city time in seconds.
    since: f64,
    /// Seconds late at the last arrival or departure.
    delay: f64,
    /// The call the vehicle is at or comes to next.
    next: usize,
    /// Whether anything but the timetable is known.
    foreseen: bool,
}

fn stop_relationship(run: &Run, skipped: bool) -> StopRelationship {
    match run.kind {
        _ if skipped => StopRelationship::Skipped,
        Kind::Headway { exact: false } => StopRelationship::Unscheduled,
        _ => StopRelationship::Scheduled,
    }
}
