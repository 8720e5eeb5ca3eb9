//! Vehicle positions as SIRI vehicle monitoring.

use lineside_formats::gtfs_rt::proto::vehicle_position::{
    CongestionLevel, OccupancyStatus, VehicleStopStatus,
};
use lineside_formats::siri::{
    FramedVehicleJourneyRef, Location, Occupancy, SiriCall, VehicleActivity, VehicleJourney,
};
use lineside_sync::UnixMillis;

use super::courses::SimulatedRunTimes;
use super::journeys::{siri_delay, siri_time};
use super::runs::{ServiceDayWithDisruptions, TripRun, TripRunKind};
use super::to_unix_seconds;
use super::vehicle_positions::{VehicleReport, occupancy_status};
use crate::city::City;

/// The validity of a vehicle's report, in seconds.
const REPORT_VALIDITY: i64 = 60;

impl City {
    /// Returns the activity of each vehicle in service at an instant, in a fixed order.
    pub fn vehicle_activities(&self, now: UnixMillis) -> Vec<VehicleActivity> {
        let now = to_unix_seconds(now);
        let mut course = SimulatedRunTimes::default();
        let mut activities = Vec::new();
        for at in self.service_days_at(now) {
            for run in self.list_relevant_runs_at(&at) {
                if let Some(seen) = self.last_vehicle_report(&run, &at, now, &mut course) {
                    let time = at.seconds - (now - seen.reported) as f64;
                    let delay = self.run_status_at_time(&run, &course, time).delay;
                    activities.push(self.build_vehicle_activity(&run, &at, &seen, delay));
                }
            }
        }
        activities
    }

    fn build_vehicle_activity(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        seen: &VehicleReport,
        delay: f64,
    ) -> VehicleActivity {
        let vehicle = self.vehicle_descriptor(run).id.unwrap_or_default();
        let stands = seen.status == VehicleStopStatus::StoppedAt;
        let jammed = !matches!(
            seen.congestion,
            CongestionLevel::RunningSmoothly | CongestionLevel::UnknownCongestionLevel
        );
        let (latitude, longitude) = seen.place;
        let call = SiriCall {
            order: Some(seen.call as u32 + 1),
            vehicle_at_stop: Some(stands),
            ..self.call_without_times(run, seen.call)
        };
        let journey = VehicleJourney {
            // A vehicle's journey is referenced by its day, whether or not the timetable has it.
            framed_vehicle_journey_ref: Some(FramedVehicleJourneyRef {
                data_frame_ref: Some(self.city_time().calendar_date(at.day).to_string().into()),
                dated_vehicle_journey_ref: Some(self.run_trip_id(run).into()),
            }),
            estimated_vehicle_journey_code: None,
            monitored: Some(true),
            in_congestion: Some(jammed),
            vehicle_location: Some(Location {
                longitude: Some(longitude),
                latitude: Some(latitude),
                ..Location::default()
            }),
            bearing: Some(f64::from(seen.bearing)),
            velocity: Some(f64::from((seen.speed * 10.0).round()) / 10.0),
            occupancy: Some(siri_occupancy(seen.occupancy)),
            delay: (run.kind == TripRunKind::Scheduled).then(|| siri_delay(delay)),
            vehicle_ref: Some(vehicle.clone().into()),
            monitored_call: Some(Box::new(call)),
            ..self.journey_without_calls(run, at)
        };
        VehicleActivity {
            recorded_at_time: siri_time(seen.reported),
            item_identifier: Some(vehicle.clone().into()),
            valid_until_time: siri_time(seen.reported + REPORT_VALIDITY),
            vehicle_monitoring_ref: Some(vehicle.into()),
            monitored_vehicle_journey: Some(Box::new(journey)),
            ..VehicleActivity::default()
        }
    }
}

fn siri_occupancy(percent: u32) -> Occupancy {
    match occupancy_status(percent) {
        OccupancyStatus::Empty => Occupancy::Empty,
        OccupancyStatus::ManySeatsAvailable => Occupancy::ManySeatsAvailable,
        OccupancyStatus::FewSeatsAvailable => Occupancy::FewSeatsAvailable,
        OccupancyStatus::StandingRoomOnly => Occupancy::StandingRoomOnly,
        OccupancyStatus::CrushedStandingRoomOnly => Occupancy::CrushedStandingRoomOnly,
        _ => Occupancy::Full,
    }
}
