//! Trips, stops and times in GTFS-Realtime form, shared by the three feeds.

use lineside_formats::gtfs_rt::proto;
use proto::trip_descriptor::ScheduleRelationship;

use super::runs::{ServiceDayWithDisruptions, TripRun, TripRunKind};
use crate::city::City;
use crate::time::format_clock_time;

impl City {
    /// Returns the `trip_id` of a run.
    pub(super) fn run_trip_id(&self, run: &TripRun) -> String {
        let route = &self.network().routes
            [self.network().patterns[run.trip.pattern as usize].route as usize];
        match run.kind {
            TripRunKind::Scheduled => self.scheduled_trip_id(&run.trip),
            TripRunKind::Headway { .. } => {
                self.template_trip_id(&self.timetable().templates[run.trip.template as usize])
            }
            TripRunKind::Added => {
                format!("{}.extra.{}", route.id, format_clock_time(run.trip.start).replace(':', ""))
            }
        }
    }

    pub(super) fn trip_descriptor(
        &self,
        run: &TripRun,
        date: &str,
        cancelled: bool,
    ) -> proto::TripDescriptor {
        let pattern = &self.network().patterns[run.trip.pattern as usize];
        let relationship = match run.kind {
            _ if cancelled => ScheduleRelationship::Canceled,
            TripRunKind::Scheduled | TripRunKind::Headway { exact: true } => {
                ScheduleRelationship::Scheduled
            }
            TripRunKind::Headway { exact: false } => ScheduleRelationship::Unscheduled,
            TripRunKind::Added => ScheduleRelationship::Added,
        };
        // A scheduled trip is identified by its id and date; other trips also need their start time.
        let start_time = (run.kind != TripRunKind::Scheduled)
            .then(|| format_clock_time(self.city_time().to_feed_time(run.trip.start)));
        proto::TripDescriptor {
            trip_id: Some(self.run_trip_id(run)),
            start_time,
            start_date: Some(date.to_owned()),
            schedule_relationship: Some(relationship as i32),
            route_id: Some(self.network().routes[pattern.route as usize].id.clone()),
            direction_id: Some(u32::from(pattern.direction)),
            modified_trip: None,
            named_start_date: None,
        }
    }

    pub(super) fn vehicle_descriptor(&self, run: &TripRun) -> proto::VehicleDescriptor {
        self.realtime_model().fleet.vehicle_by_number(run.vehicle).descriptor.clone()
    }

    pub(super) fn call_stop_id(&self, run: &TripRun, call: usize) -> &str {
        let call = self.network().patterns[run.trip.pattern as usize].calls[call];
        &self.network().stops[call.stop as usize].id
    }

    /// Returns the id of an entity: one per vehicle or trip and day, constant from poll to poll.
    pub(super) fn realtime_entity_id(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
    ) -> String {
        let id = self.run_trip_id(run);
        match run.kind {
            TripRunKind::Headway { .. } => {
                format!(
                    "{id}:{}:{}",
                    at.date,
                    format_clock_time(self.city_time().to_feed_time(run.trip.start))
                )
            }
            _ => format!("{id}:{}", at.date),
        }
    }

    /// Returns the time of a vehicle's last report: vehicles report every few seconds, each with its own offset.
    pub(super) fn last_report_time(&self, run: &TripRun, now: i64) -> i64 {
        let beat = i64::from(run.vehicle) % REPORT_INTERVAL;
        now - (now + beat).rem_euclid(REPORT_INTERVAL)
    }
}

/// Seconds between two reports of a vehicle.
const REPORT_INTERVAL: i64 = 3;
