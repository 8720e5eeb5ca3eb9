//! Predictions as trip updates, as GTFS-Realtime has them.

use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::trip_update::stop_time_update::ScheduleRelationship as StopRelationship;
use proto::trip_update::{StopTimeEvent, StopTimeUpdate};

use super::courses::Course;
use super::predictions::{Known, Prediction, Told};
use super::runs::{DayAt, Kind, Run};
use super::{header, seconds};
use crate::city::City;

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
        self.cancelled_since(run, at).map(|since| proto::TripUpdate {
            trip: self.trip_descriptor(run, &at.date, true),
            timestamp: Some(since as u64),
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
        let known = self.known_of(run, at, now, course)?;
        let told = self.predictions(run, at, course, &known);
        Some(proto::TripUpdate {
            trip: self.trip_descriptor(run, &at.date, false),
            stop_time_update: told.iter().map(|call| self.stop_time_update(run, call)).collect(),
            vehicle: known.has_vehicle.then(|| self.vehicle_descriptor(run)),
            timestamp: Some(self.time().instant(at.day, known.since) as u64),
            delay: trip_delay(run, &known),
            trip_properties: None,
        })
    }

    fn stop_time_update(&self, run: &Run, call: &Prediction) -> StopTimeUpdate {
        // Readers such as OpenTripPlanner need a departure at the last call of a trip that no timetable has.
        let end = call.arrival.filter(|_| run.kind == Kind::Added);
        let departure = call.departure.or(end);
        StopTimeUpdate {
            stop_sequence: Some(call.call as u32 + 1),
            stop_id: Some(self.stop_id(run, call.call).to_owned()),
            arrival: call.arrival.map(|told| event(run, told)),
            departure: departure.map(|told| event(run, told)),
            schedule_relationship: Some(stop_relationship(run, call.skipped) as i32),
            ..Default::default()
        }
    }
}

fn trip_delay(run: &Run, known: &Known) -> Option<i32> {
    (run.kind == Kind::Scheduled).then_some(known.delay.round() as i32)
}

/// A time, and a delay where there is a scheduled time to be late against.
fn event(run: &Run, told: Told) -> StopTimeEvent {
    let delay = match run.kind {
        Kind::Scheduled | Kind::Headway { exact: true } => {
            Some((told.expected - told.scheduled) as i32)
        }
        Kind::Headway { exact: false } | Kind::Added => None,
    };
    StopTimeEvent { delay, time: Some(told.expected), ..Default::default() }
}

fn stop_relationship(run: &Run, skipped: bool) -> StopRelationship {
    match run.kind {
        _ if skipped => StopRelationship::Skipped,
        Kind::Headway { exact: false } => StopRelationship::Unscheduled,
        _ => StopRelationship::Scheduled,
    }
}
