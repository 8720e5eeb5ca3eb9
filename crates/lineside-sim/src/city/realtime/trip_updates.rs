//! Predictions as GTFS-Realtime trip updates.

use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::trip_update::stop_time_update::ScheduleRelationship as StopRelationship;
use proto::trip_update::{StopTimeEvent, StopTimeUpdate};

use super::courses::SimulatedRunTimes;
use super::predictions::{CallPrediction, RunStatus, ScheduledAndExpectedTime};
use super::runs::{ServiceDayWithDisruptions, TripRun, TripRunKind};
use super::{build_feed_header, to_unix_seconds};
use crate::city::City;

impl City {
    /// Returns the feed of trip updates at an instant.
    pub fn trip_updates_feed(&self, now: UnixMillis) -> proto::FeedMessage {
        let now = to_unix_seconds(now);
        let mut course = SimulatedRunTimes::default();
        let mut entity = Vec::new();
        for at in self.service_days_at(now) {
            for run in self.list_relevant_runs_at(&at) {
                let update = if self.is_run_cancelled(&run, &at.events) {
                    self.cancelled_trip_update(&run, &at)
                } else {
                    self.trip_update(&run, &at, now, &mut course)
                };
                if update.is_some() {
                    let id = self.realtime_entity_id(&run, &at);
                    entity.push(proto::FeedEntity {
                        id,
                        trip_update: update,
                        ..Default::default()
                    });
                }
            }
        }
        proto::FeedMessage { header: build_feed_header(now, self.feed_version()), entity }
    }

    fn cancelled_trip_update(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
    ) -> Option<proto::TripUpdate> {
        self.cancellation_published_since(run, at).map(|since| proto::TripUpdate {
            trip: self.trip_descriptor(run, &at.date, true),
            timestamp: Some(since as u64),
            ..Default::default()
        })
    }

    fn trip_update(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        now: i64,
        course: &mut SimulatedRunTimes,
    ) -> Option<proto::TripUpdate> {
        let status = self.published_run_status(run, at, now, course)?;
        let calls = self.predict_remaining_calls(run, at, course, &status);
        Some(proto::TripUpdate {
            trip: self.trip_descriptor(run, &at.date, false),
            stop_time_update: calls.iter().map(|call| self.stop_time_update(run, call)).collect(),
            vehicle: status.has_vehicle.then(|| self.vehicle_descriptor(run)),
            timestamp: Some(self.city_time().instant_on_day(at.day, status.since) as u64),
            delay: trip_delay(run, &status),
            trip_properties: None,
        })
    }

    fn stop_time_update(&self, run: &TripRun, call: &CallPrediction) -> StopTimeUpdate {
        // Readers such as OpenTripPlanner need a departure at the last call of an added trip.
        let end = call.arrival.filter(|_| run.kind == TripRunKind::Added);
        let departure = call.departure.or(end);
        StopTimeUpdate {
            stop_sequence: Some(call.call as u32 + 1),
            stop_id: Some(self.call_stop_id(run, call.call).to_owned()),
            arrival: call.arrival.map(|time| stop_time_event(run, time)),
            departure: departure.map(|time| stop_time_event(run, time)),
            schedule_relationship: Some(stop_schedule_relationship(run, call.skipped) as i32),
            ..Default::default()
        }
    }
}

fn trip_delay(run: &TripRun, status: &RunStatus) -> Option<i32> {
    (run.kind == TripRunKind::Scheduled).then_some(status.delay.round() as i32)
}

/// Returns an event with its time, and with a delay if there is a scheduled time.
fn stop_time_event(run: &TripRun, time: ScheduledAndExpectedTime) -> StopTimeEvent {
    let delay = match run.kind {
        TripRunKind::Scheduled | TripRunKind::Headway { exact: true } => {
            Some((time.expected - time.scheduled) as i32)
        }
        TripRunKind::Headway { exact: false } | TripRunKind::Added => None,
    };
    StopTimeEvent { delay, time: Some(time.expected), ..Default::default() }
}

fn stop_schedule_relationship(run: &TripRun, skipped: bool) -> StopRelationship {
    match run.kind {
        _ if skipped => StopRelationship::Skipped,
        TripRunKind::Headway { exact: false } => StopRelationship::Unscheduled,
        _ => StopRelationship::Scheduled,
    }
}
