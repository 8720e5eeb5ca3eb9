//! Predictions of a control room: certain for the next stop, less and less so for later ones.
//!
//! As in real systems, a prediction is updated whenever the vehicle arrives or departs, and not between, so that most
//! predictions are the same from poll to poll. Other modules convert predictions to each format.

use super::courses::SimulatedRunTimes;
use super::runs::{AHEAD, ServiceDayWithDisruptions, TripRun, TripRunKind};
use crate::city::City;

/// The seconds before its start from which a trip is published.
const PUBLISHED_AHEAD: f64 = 25.0 * 60.0;
/// The seconds before the start from which a late start is known.
const LATE_START_KNOWN_AHEAD: f64 = 8.0 * 60.0;
/// The seconds before the start from which a cancellation is published.
const CANCELLATION_AHEAD: f64 = AHEAD as f64;
/// The time constant of predictions, in seconds: farther ahead they fall back to the current delay.
const PREDICTION_TIME_CONSTANT: f64 = 14.0 * 60.0;
/// The smallest predicted time between two stops, in seconds.
const MOVES_MIN: i64 = 6;

/// The control room's knowledge of a run.
pub(super) struct RunStatus {
    /// The time of the last update, in seconds of the city's time.
    pub(super) since: f64,
    /// The delay at the last arrival or departure, in seconds.
    pub(super) delay: f64,
    /// The current or next call.
    pub(super) next: usize,
    /// True if more than the timetable is known.
    is_foreseen: bool,
    /// True if the vehicle is assigned to the run.
    pub(super) has_vehicle: bool,
}

/// The scheduled and expected time of an arrival or a departure, in Unix seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledAndExpectedTime {
    pub(super) scheduled: i64,
    pub(super) expected: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CallPrediction {
    /// The index in the pattern, from 0.
    pub(super) call: usize,
    pub(super) skipped: bool,
    /// `None` at the first call, and if skipped.
    pub(super) arrival: Option<ScheduledAndExpectedTime>,
    /// `None` at the last call, and if skipped.
    pub(super) departure: Option<ScheduledAndExpectedTime>,
    /// The scheduled arrival and departure in Unix seconds, even if skipped.
    pub(super) scheduled: (i64, i64),
}

impl City {
    /// Returns the time in Unix seconds from which a cancelled run is published as cancelled; `None` outside that
    /// period.
    pub(super) fn cancellation_published_since(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
    ) -> Option<i64> {
        let start = f64::from(run.trip.start);
        let end = start + f64::from(self.timetable().trip_duration(&run.trip));
        let is_published = (start - CANCELLATION_AHEAD..end).contains(&at.seconds);
        is_published
            .then(|| self.city_time().instant_on_day(at.day, start - CANCELLATION_AHEAD) as i64)
    }

    /// Returns the status of a run that is not cancelled, and computes its course; `None` while the run is not
    /// published.
    pub(super) fn published_run_status(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        now: i64,
        course: &mut SimulatedRunTimes,
    ) -> Option<RunStatus> {
        let reported = self.last_report_time(run, now);
        let time = at.seconds - (now - reported) as f64;
        let start = f64::from(run.trip.start);
        let is_published = (start - PUBLISHED_AHEAD..start).contains(&time);
        if !is_published && !self.may_vehicle_be_on_run(run, time) {
            return None;
        }
        self.simulate_run_times(run, &at.events, course);
        let has_vehicle = time >= course.from;
        if time >= course.until || (!has_vehicle && time < start - PUBLISHED_AHEAD) {
            return None;
        }
        Some(self.run_status_at_time(run, course, time))
    }

    pub(super) fn run_status_at_time(
        &self,
        run: &TripRun,
        course: &SimulatedRunTimes,
        time: f64,
    ) -> RunStatus {
        let times = self.timetable().stop_time_offsets(run.trip.pattern, run.trip.profile);
        let start = f64::from(run.trip.start);
        let has_vehicle = time >= course.from;
        let first = course.calls[0].depart;
        if time < first {
            // Before the start the delay is unknown at first, and later known from the vehicle's previous trip.
            let foreseen = time >= first - LATE_START_KNOWN_AHEAD;
            let published_at =
                if foreseen { first - LATE_START_KNOWN_AHEAD } else { start - PUBLISHED_AHEAD };
            let since = match (has_vehicle, foreseen) {
                (true, true) => published_at.max(course.from),
                (true, false) => course.from,
                (false, _) => published_at,
            };
            let delay = if foreseen { first - start } else { 0.0 };
            return RunStatus {
                since: since.floor(),
                delay,
                next: 0,
                is_foreseen: foreseen,
                has_vehicle,
            };
        }
        let mut status = RunStatus {
            since: first,
            delay: first - start,
            next: 0,
            is_foreseen: true,
            has_vehicle,
        };
        for (i, moment) in course.calls.iter().enumerate() {
            if moment.arrive <= time {
                status = RunStatus {
                    since: moment.arrive,
                    delay: moment.arrive - start - f64::from(times[i].0),
                    next: i,
                    is_foreseen: true,
                    has_vehicle,
                };
            }
            if moment.depart <= time {
                status = RunStatus {
                    since: moment.depart,
                    delay: moment.depart - start - f64::from(times[i].1),
                    next: (i + 1).min(times.len() - 1),
                    is_foreseen: true,
                    has_vehicle,
                };
            }
        }
        status.since = status.since.floor();
        status
    }

    /// Predicts the current or next stop and each one after it. Passed calls with their real times are included for an
    /// added run, because no timetable has them, and from the first one that the vehicle left before its scheduled time:
    /// GTFS-Realtime forbids to drop these, since readers would then expect the vehicle at the scheduled time.
    pub(super) fn predict_remaining_calls(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        course: &SimulatedRunTimes,
        status: &RunStatus,
    ) -> Vec<CallPrediction> {
        let times = self.timetable().stop_time_offsets(run.trip.pattern, run.trip.profile);
        let start = f64::from(run.trip.start);
        let base = self.city_time().instant_on_day(at.day, start) as i64;
        let last = times.len() - 1;
        let mut earliest = i64::MIN;
        let since = self.city_time().instant_on_day(at.day, status.since) as i64;
        let left_early = |call: &usize| base + i64::from(times[*call].1) > since;
        let first = match run.kind {
            TripRunKind::Added => 0,
            _ => (0..status.next).find(left_early).unwrap_or(status.next),
        };
        let mut predictions = Vec::with_capacity(last + 1 - first);
        for (i, (arrival, departure)) in times.iter().enumerate().skip(first) {
            let moment = &course.calls[i];
            let sure = if status.is_foreseen {
                // The next stop is predicted exactly.
                if i <= status.next {
                    1.0
                } else {
                    (-(moment.arrive - status.since).max(0.0) / PREDICTION_TIME_CONSTANT).exp()
                }
            } else {
                0.0
            };
            let predict = |scheduled: i32, real: f64| {
                let truth = real - start - f64::from(scheduled);
                (status.delay + (truth - status.delay) * sure).round() as i64
            };
            let mut predict_time = |scheduled: i32, real: f64| {
                let delay = predict(scheduled, real);
                let scheduled = base + i64::from(scheduled);
                let expected = (scheduled + delay).max(earliest);
                earliest = expected;
                ScheduledAndExpectedTime { scheduled, expected }
            };
            let skipped = moment.skipped;
            let arrives = (i > 0 && !skipped).then(|| predict_time(*arrival, moment.arrive));
            let departs = (i < last && !skipped).then(|| predict_time(*departure, moment.depart));
            earliest = earliest.saturating_add(MOVES_MIN);
            predictions.push(CallPrediction {
                call: i,
                skipped,
                arrival: arrives,
                departure: departs,
                scheduled: (base + i64::from(*arrival), base + i64::from(*departure)),
            });
        }
        predictions
    }
}
