//! Vehicle positions: the courses at the instant of each vehicle's last report.

use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::vehicle_position::{
    CarriageDetails, CongestionLevel, OccupancyStatus, VehicleStopStatus,
};

use super::courses::SimulatedRunTimes;
use super::runs::{ServiceDayWithDisruptions, TripRun};
use super::{build_feed_header, to_unix_seconds};
use crate::city::City;
use crate::network::StopPattern;
use crate::noise;

/// A vehicle is arriving within this distance of its next stop in metres, or this time before it in seconds.
const ARRIVING_METRES: f64 = 60.0;
const ARRIVING_SECONDS: f64 = 12.0;
/// The highest reported speed in m/s: validators consider more a mistake.
const SPEED_MAX: f32 = 26.0;
/// The share of the time between two stops in which a vehicle accelerates, and again in which it brakes.
const RAMP: f64 = 0.2;

/// The position of a vehicle on its pattern.
struct PatternPosition {
    /// The distance along the pattern's line, in metres.
    along: f64,
    /// The speed in metres per second.
    speed: f64,
    /// The current or next call.
    call: usize,
    status: VehicleStopStatus,
}

/// The last report of a vehicle.
pub(super) struct VehicleReport {
    /// The time of the report, in Unix seconds.
    pub(super) reported: i64,
    /// Latitude and longitude, in degrees.
    pub(super) place: (f64, f64),
    /// The bearing in degrees clockwise from north.
    pub(super) bearing: f32,
    /// The speed in metres per second.
    pub(super) speed: f32,
    /// The current or next call.
    pub(super) call: usize,
    pub(super) status: VehicleStopStatus,
    /// The occupancy in percent.
    pub(super) occupancy: u32,
    pub(super) congestion: CongestionLevel,
}

impl City {
    /// Returns the feed of vehicle positions at an instant.
    pub fn vehicle_positions_feed(&self, now: UnixMillis) -> proto::FeedMessage {
        let now = to_unix_seconds(now);
        let mut course = SimulatedRunTimes::default();
        let mut entity = Vec::new();
        for at in self.service_days_at(now) {
            for run in self.list_relevant_runs_at(&at) {
                if let Some(vehicle) = self.vehicle_position(&run, &at, now, &mut course) {
                    let id =
                        vehicle.vehicle.as_ref().and_then(|v| v.id.clone()).unwrap_or_default();
                    entity.push(proto::FeedEntity {
                        id,
                        vehicle: Some(vehicle),
                        ..Default::default()
                    });
                }
            }
        }
        proto::FeedMessage { header: build_feed_header(now, self.feed_version()), entity }
    }

    fn vehicle_position(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        now: i64,
        course: &mut SimulatedRunTimes,
    ) -> Option<proto::VehiclePosition> {
        let seen = self.last_vehicle_report(run, at, now, course)?;
        Some(proto::VehiclePosition {
            trip: Some(self.trip_descriptor(run, &at.date, false)),
            vehicle: Some(self.vehicle_descriptor(run)),
            position: Some(proto::Position {
                latitude: seen.place.0 as f32,
                longitude: seen.place.1 as f32,
                bearing: Some(seen.bearing),
                odometer: None,
                speed: Some(seen.speed),
            }),
            current_stop_sequence: Some(seen.call as u32 + 1),
            stop_id: Some(self.call_stop_id(run, seen.call).to_owned()),
            current_status: Some(seen.status as i32),
            timestamp: Some(seen.reported as u64),
            congestion_level: Some(seen.congestion as i32),
            occupancy_status: Some(occupancy_status(seen.occupancy) as i32),
            occupancy_percentage: Some(seen.occupancy),
            multi_carriage_details: self.carriage_details(run, seen.call, seen.occupancy),
        })
    }

    /// Returns the last report of a vehicle; `None` if it is not in service.
    pub(super) fn last_vehicle_report(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        now: i64,
        course: &mut SimulatedRunTimes,
    ) -> Option<VehicleReport> {
        let reported = self.last_report_time(run, now);
        let time = at.seconds - (now - reported) as f64;
        if !self.may_vehicle_be_on_run(run, time) || self.is_run_cancelled(run, &at.events) {
            return None;
        }
        self.simulate_run_times(run, &at.events, course);
        if !(course.from..course.until).contains(&time) {
            return None;
        }
        let pattern = &self.network().patterns[run.trip.pattern as usize];
        let place = locate_on_pattern(pattern, course, time);
        let (point, direction) = pattern.line.point_and_direction_at(place.along);
        let place_at = self.geography().projection.to_lat_lon(point);
        Some(VehicleReport {
            reported,
            place: (round_degrees(place_at.0), round_degrees(place_at.1)),
            bearing: direction.compass_bearing().round() as f32 % 360.0,
            speed: ((place.speed * 10.0).round() as f32 / 10.0).min(SPEED_MAX),
            call: place.call,
            status: place.status,
            occupancy: self.occupancy_percent(run, place.call),
            congestion: self.congestion_level(run, course, place.call),
        })
    }

    /// Returns the occupancy of a vehicle on its way to a call in percent: higher in the rush hour and in the middle of
    /// its way.
    fn occupancy_percent(&self, run: &TripRun, call: usize) -> u32 {
        let pattern = &self.network().patterns[run.trip.pattern as usize];
        let share = call as f64 / (pattern.calls.len() - 1).max(1) as f64;
        let middle = 4.0 * share * (1.0 - share);
        let hour =
            crate::timetable::demand::traffic_density(run.trip.service, f64::from(run.trip.start));
        let chance = noise::pseudo_random_share(noise::hash_two_numbers(run.key, 5)) * 0.5
            + noise::pseudo_random_share(noise::hash_two_numbers(run.key, 500 + call as u64)) * 0.2;
        ((0.04 + (0.15 + 0.85 * middle) * (0.2 + hour * 0.75) * (0.55 + chance)) * 100.0)
            .clamp(0.0, 110.0) as u32
    }

    fn carriage_details(&self, run: &TripRun, call: usize, occupancy: u32) -> Vec<CarriageDetails> {
        let vehicle = self.realtime_model().fleet.vehicle_by_number(run.vehicle);
        let label = vehicle.descriptor.label.as_deref().unwrap_or_default();
        (1..=vehicle.carriages)
            .map(|n| {
                let more = noise::pseudo_random_share(noise::hash_two_numbers(
                    run.key,
                    900 + u64::from(n) * 64 + call as u64,
                )) * 50.0
                    - 25.0;
                let percent = (f64::from(occupancy) + more).clamp(0.0, 110.0) as u32;
                CarriageDetails {
                    id: Some(format!("{label}-{n}")),
                    label: Some(format!("{n}")),
                    occupancy_status: Some(occupancy_status(percent) as i32),
                    occupancy_percentage: Some(percent as i32),
                    carriage_sequence: Some(n),
                }
            })
            .collect()
    }

    /// Returns the congestion level, from the time lost since the previous stop.
    fn congestion_level(
        &self,
        run: &TripRun,
        course: &SimulatedRunTimes,
        call: usize,
    ) -> CongestionLevel {
        let times = self.timetable().stop_time_offsets(run.trip.pattern, run.trip.profile);
        if call == 0 {
            return CongestionLevel::RunningSmoothly;
        }
        let planned = f64::from(times[call].0 - times[call - 1].1).max(1.0);
        match (course.calls[call].arrive - course.calls[call - 1].depart) / planned {
            ratio if ratio < 1.25 => CongestionLevel::RunningSmoothly,
            ratio if ratio < 1.7 => CongestionLevel::StopAndGo,
            ratio if ratio < 3.0 => CongestionLevel::Congestion,
            _ => CongestionLevel::SevereCongestion,
        }
    }
}

/// Rounds to seven decimals, a centimetre, as all formats are written.
fn round_degrees(value: f64) -> f64 {
    (value * 1e7).round() / 1e7
}

pub(super) fn occupancy_status(percent: u32) -> OccupancyStatus {
    match percent {
        0..=4 => OccupancyStatus::Empty,
        5..=39 => OccupancyStatus::ManySeatsAvailable,
        40..=64 => OccupancyStatus::FewSeatsAvailable,
        65..=89 => OccupancyStatus::StandingRoomOnly,
        90..=99 => OccupancyStatus::CrushedStandingRoomOnly,
        _ => OccupancyStatus::Full,
    }
}

/// Returns the position in a course at a time: at a stop, or between the last served stop and the next.
fn locate_on_pattern(
    pattern: &StopPattern,
    course: &SimulatedRunTimes,
    time: f64,
) -> PatternPosition {
    let moments = &course.calls;
    let last = moments.len() - 1;
    // The first stop that is served and not yet left.
    let next =
        (0..last).find(|i| !moments[*i].skipped && time < moments[*i].depart).unwrap_or(last);
    let along = pattern.calls[next].along;
    if next == 0 || time >= moments[next].arrive {
        return PatternPosition {
            along,
            speed: 0.0,
            call: next,
            status: VehicleStopStatus::StoppedAt,
        };
    }
    let from = (0..next).rev().find(|i| !moments[*i].skipped).unwrap_or(0);
    let (begin, end) = (moments[from].depart, moments[next].arrive);
    let metres = along - pattern.calls[from].along;
    let (share, pace) = progress_and_speed_shares((time - begin) / (end - begin).max(1.0));
    let place = pattern.calls[from].along + metres * share;
    let arriving = along - place < ARRIVING_METRES || end - time < ARRIVING_SECONDS;
    PatternPosition {
        along: place,
        speed: metres / (end - begin).max(1.0) * pace,
        call: next,
        status: if arriving {
            VehicleStopStatus::IncomingAt
        } else {
            VehicleStopStatus::InTransitTo
        },
    }
}

/// Returns the share of the way after a share of the time, and the speed there: accelerating, constant, braking.
fn progress_and_speed_shares(time: f64) -> (f64, f64) {
    let top = 1.0 / (1.0 - RAMP);
    let t = time.clamp(0.0, 1.0);
    if t < RAMP {
        (top * t * t / (2.0 * RAMP), top * t / RAMP)
    } else if t > 1.0 - RAMP {
        let left = 1.0 - t;
        (1.0 - top * left * left / (2.0 * RAMP), top * left / RAMP)
    } else {
        (top * (t - RAMP / 2.0), top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vehicle_reaches_the_next_stop_and_never_moves_backwards() {
        let mut previous = 0.0;
        for i in 0..=1_000 {
            let (share, pace) = progress_and_speed_shares(f64::from(i) / 1_000.0);
            assert!(share >= previous && pace >= 0.0);
            previous = share;
        }
        assert!((previous - 1.0).abs() < 1e-9 && progress_and_speed_shares(0.0).0 == 0.0);
    }
}
