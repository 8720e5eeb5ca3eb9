//! The real arrivals and departures of a run.
//!
//! A delay is carried from stop to stop. It grows with traffic (waves roll over the quarters of the city), incidents,
//! and the delay of the previous trip; it shrinks wherever there is slack. Of two consecutive buses the first may
//! collect more passengers and fall behind while the second catches up: that is bunching. A late vehicle starts its
//! next trip late and recovers within most of that trip.

use super::events::DayDisruptions;
use super::runs::TripRun;
use crate::city::{City, CityParts};
use crate::network::TransportMode;
use crate::noise;
use crate::timetable::demand::traffic_density;
use crate::timetable::services::Service;
use crate::timetable::{NONE, Trip};

/// The side of the squares with equal traffic, in metres.
const TRAFFIC_SQUARE_SIDE: f64 = 1_800.0;
/// The duration of a wave of traffic, in seconds.
const TRAFFIC_WAVE_DURATION: f64 = 2_000.0;
/// The seconds by which a vehicle is at its first stop before its first trip of the day.
pub(super) const EARLY_ARRIVAL: f64 = 240.0;
/// The seconds between the last arrival and the vehicle's next trip.
pub(super) const TURNAROUND: f64 = 60.0;
/// The share of a trip within which an inherited delay is recovered.
const RECOVERY_SHARE: f64 = 0.8;

/// The real times at a stop, in seconds of the city's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedCallTimes {
    pub(super) arrive: f64,
    pub(super) depart: f64,
    /// True if the stop is passed without stopping; both times are then the time of passing.
    pub(super) skipped: bool,
}

/// The real times of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulatedRunTimes {
    pub(super) calls: Vec<SimulatedCallTimes>,
    /// The time at which the vehicle is assigned to this run.
    pub(super) from: f64,
    /// The time at which the assignment ends.
    pub(super) until: f64,
}

/// The traffic spot of each call of each pattern, and the traffic density by the minute.
#[derive(Debug)]
pub(super) struct TrafficSpotsByCall {
    calls: Vec<Vec<TrafficSpot>>,
    /// For each service, the density in each minute of a day.
    rush: Vec<Vec<f32>>,
}

#[derive(Clone, Copy, Debug)]
struct TrafficSpot {
    quarter: u64,
    /// The proneness to jams, 0 to 1.
    jam_proneness: f32,
    /// The share of the way.
    share: f32,
}

impl TrafficSpotsByCall {
    pub(super) fn build_traffic_spots(parts: &CityParts) -> Self {
        let spot = |pattern: &crate::network::StopPattern, along: f64| {
            let p = pattern.line.point_at(along);
            let square = |v: f64| (v / TRAFFIC_SQUARE_SIDE).floor() as i64 as u64;
            TrafficSpot {
                quarter: noise::hash_two_numbers(square(p.x), square(p.y)),
                jam_proneness: (0.35 + 0.65 * parts.geography.field.built_up_density(p)) as f32,
                share: (along / pattern.line.total_length().max(1.0)) as f32,
            }
        };
        let calls = parts
            .network
            .patterns
            .iter()
            .map(|pattern| pattern.calls.iter().map(|call| spot(pattern, call.along)).collect())
            .collect();
        let minutes = |service| {
            (0..1_440).map(|m| traffic_density(service, f64::from(m) * 60.0) as f32).collect()
        };
        Self { calls, rush: Service::ALL.map(minutes).to_vec() }
    }

    fn traffic_density_at(&self, service: Service, seconds: f64) -> f64 {
        let minute = (seconds / 60.0).rem_euclid(1_440.0) as usize;
        f64::from(self.rush[service as usize][minute.min(1_439)])
    }
}

struct ModeTrafficResponse {
    /// The share of the travel time that full streets add.
    traffic: f64,
    /// The share of the travel time that randomness adds or removes.
    chance: f64,
    /// The share of the travel time that can be recovered when late.
    slack: f64,
    /// The most seconds that a vehicle is ahead of its timetable.
    early: f64,
    /// The seconds at a stop: the minimum, and the random addition.
    halt: (f64, f64),
    bunches: bool,
}

fn traffic_response_of_mode(mode: TransportMode) -> ModeTrafficResponse {
    match mode {
        TransportMode::Bus => ModeTrafficResponse {
            traffic: 1.25,
            chance: 0.24,
            slack: 0.045,
            early: 70.0,
            halt: (9.0, 18.0),
            bunches: true,
        },
        TransportMode::Tram => ModeTrafficResponse {
            traffic: 0.8,
            chance: 0.16,
            slack: 0.045,
            early: 45.0,
            halt: (14.0, 14.0),
            bunches: true,
        },
        TransportMode::Metro => ModeTrafficResponse {
            traffic: 0.28,
            chance: 0.08,
            slack: 0.06,
            early: 10.0,
            halt: (16.0, 8.0),
            bunches: false,
        },
        TransportMode::Rail => ModeTrafficResponse {
            traffic: 0.32,
            chance: 0.07,
            slack: 0.035,
            early: 25.0,
            halt: (30.0, 15.0),
            bunches: false,
        },
        TransportMode::Ferry => ModeTrafficResponse {
            traffic: 0.1,
            chance: 0.07,
            slack: 0.03,
            early: 40.0,
            halt: (80.0, 30.0),
            bunches: false,
        },
    }
}

impl City {
    /// Returns true if a run's vehicle may be on it at a time; a quick check that avoids most simulations.
    pub(super) fn may_vehicle_be_on_run(&self, run: &TripRun, time: f64) -> bool {
        let trips = &self.timetable().trips;
        let scheduled_end =
            |trip: &Trip| f64::from(trip.start + self.timetable().trip_duration(trip));
        let latest = scheduled_end(&run.trip) + f64::from(run.trip.delay_max) + TURNAROUND + 60.0;
        let earliest = match trips.get(run.trip.previous as usize) {
            // No vehicle arrives this early, and a cancelled trip before only makes it later.
            Some(previous_trip) => {
                scheduled_end(previous_trip).min(f64::from(run.trip.start) - EARLY_ARRIVAL) - 120.0
            }
            None => f64::from(run.trip.start) - EARLY_ARRIVAL,
        };
        (earliest..latest).contains(&time)
    }

    /// Simulates the course of a run, including the time at which its vehicle is assigned to it.
    pub(super) fn simulate_run_times(
        &self,
        run: &TripRun,
        events: &DayDisruptions,
        course: &mut SimulatedRunTimes,
    ) {
        let previous_trip =
            (run.trip.previous != NONE).then(|| self.run_of_trip(run.trip.previous, run.day));
        let previous_trip = previous_trip.filter(|before| !self.is_run_cancelled(before, events));
        let previous_end = previous_trip.map(|previous_trip| {
            self.simulate_calls_of_run(&previous_trip, events, 0.0, &mut course.calls);
            course.calls.last().map_or(0.0, |last| last.arrive)
        });
        let inherited =
            previous_end.map_or(0.0, |end| end + TURNAROUND - f64::from(run.trip.start)).max(0.0);
        self.simulate_calls_of_run(run, events, inherited, &mut course.calls);
        let (Some(first), Some(last)) = (course.calls.first(), course.calls.last()) else {
            return;
        };
        course.from = previous_end.map_or(first.depart - EARLY_ARRIVAL, |end| end + TURNAROUND);
        course.until = last.arrive + TURNAROUND;
    }

    /// Simulates a run that starts `inherited` seconds late because of the previous one.
    ///
    /// That delay is recovered by the end, so the end of a run does not depend on other runs.
    fn simulate_calls_of_run(
        &self,
        run: &TripRun,
        events: &DayDisruptions,
        inherited: f64,
        moments: &mut Vec<SimulatedCallTimes>,
    ) {
        let pattern = &self.network().patterns[run.trip.pattern as usize];
        let temper = traffic_response_of_mode(self.network().routes[pattern.route as usize].mode);
        let times = self.timetable().stop_time_offsets(run.trip.pattern, run.trip.profile);
        let spots = &self.realtime_model().spots.calls[run.trip.pattern as usize];
        let start = f64::from(run.trip.start);
        let total = f64::from(self.timetable().trip_duration(&run.trip)).max(1.0);
        let delay_max = f64::from(run.trip.delay_max);
        let drift = self.slowness_of_run(run, temper.bunches);
        let passed = self.randomly_skipped_call(run);
        let last = times.len() - 1;
        let troubled = events.incidents.iter().any(|incident| incident.route == pattern.route);
        let mut is_delayed = !troubled;
        let mut delay = initial_delay(run.key);
        moments.clear();
        for (i, (arrival, departure)) in times.iter().enumerate() {
            let (arrival, departure) = (f64::from(*arrival), f64::from(*departure));
            let seconds = start + departure + delay;
            let chance =
                noise::pseudo_random_share(noise::hash_two_numbers(run.key, 1_000 + i as u64));
            if i > 0 {
                let piece = arrival - f64::from(times[i - 1].1);
                let traffic = temper.traffic * self.traffic_at_spot(run, &spots[i], seconds);
                delay += piece * (traffic + drift + temper.chance * (chance - 0.42));
                delay -= (piece * temper.slack + 2.0).min(delay.max(0.0));
                if !is_delayed
                    && let Some(cost) = incident_delay(
                        events,
                        pattern.route,
                        pattern.direction,
                        spots[i].share,
                        seconds,
                    )
                {
                    delay += cost;
                    is_delayed = true;
                }
            }
            delay = limit_delay_smoothly(delay.max(-temper.early), delay_max);
            let inherits = inherited * (1.0 - arrival / total / RECOVERY_SHARE).max(0.0);
            let late = delay + inherits;
            let closed = events.closures.iter().any(|c| c.stop == pattern.calls[i].stop);
            let skipped = (closed || passed == Some(i)) && i > 0 && i < last;
            let planned = ScheduledCallTimes {
                arrival: start + arrival,
                departure: start + departure,
                halt: if skipped { 0.0 } else { temper.halt.0 + temper.halt.1 * chance },
            };
            let moment = if i == 0 {
                SimulatedCallTimes { arrive: start + late, depart: start + late, skipped }
            } else if departure > arrival && !skipped {
                let moment = planned.times_with_scheduled_halt(late);
                let left = moment.depart - planned.departure - inherits;
                delay = left.max(delay - (departure - arrival));
                moment
            } else {
                SimulatedCallTimes {
                    skipped,
                    ..planned.times_with_derived_halt(late, i == last, moments.last())
                }
            };
            moments.push(enforce_increasing_times(moment, moments.last()));
        }
    }

    /// Returns the slowness of a run as a whole: from its driver, and from its position in a bunch.
    fn slowness_of_run(&self, run: &TripRun, bunches: bool) -> f64 {
        let driver =
            (noise::pseudo_random_share(noise::hash_two_numbers(run.key, 3)) - 0.45) * 0.07;
        if !bunches {
            return driver * 0.3;
        }
        let pair = noise::hash_two_numbers(
            noise::hash_two_numbers(u64::from(run.trip.pattern), run.day as u64),
            u64::from(run.trip.slot / 2),
        );
        let pair = noise::hash_two_numbers(
            noise::random_key_for_purpose(self.realtime_model().seed, "bunch"),
            pair,
        );
        let rush = self
            .realtime_model()
            .spots
            .traffic_density_at(run.trip.service, f64::from(run.trip.start));
        if noise::pseudo_random_share(pair) > 0.4 * rush {
            driver
        } else if run.trip.slot.is_multiple_of(2) {
            driver + 0.17
        } else {
            driver - 0.06
        }
    }

    /// Returns the traffic at a spot: mostly none, at times a lot.
    fn traffic_at_spot(&self, run: &TripRun, spot: &TrafficSpot, seconds: f64) -> f64 {
        let key = noise::hash_two_numbers(
            noise::hash_two_numbers(self.realtime_model().seed, spot.quarter),
            run.day as u64,
        );
        let wave = (noise::noise_1d(key, seconds / TRAFFIC_WAVE_DURATION) - 0.42).max(0.0);
        wave * f64::from(spot.jam_proneness)
            * self.realtime_model().spots.traffic_density_at(run.trip.service, seconds)
    }
}

/// Returns the delay at the first stop in seconds: mostly a few, sometimes a minute or two.
fn initial_delay(key: u64) -> f64 {
    (-(1.0 - noise::pseudo_random_share(noise::hash_two_numbers(key, 2))).ln() * 16.0).min(110.0)
}

fn incident_delay(
    events: &DayDisruptions,
    route: u32,
    direction: u8,
    share: f32,
    seconds: f64,
) -> Option<f64> {
    let mut on_route = events.incidents.iter().filter(|incident| incident.route == route);
    on_route.find_map(|incident| incident.delay_for_run(direction, f64::from(share), seconds))
}

/// Limits a delay smoothly: it approaches its maximum instead of stopping at it.
fn limit_delay_smoothly(delay: f64, delay_max: f64) -> f64 {
    let free = delay_max * 0.6;
    if delay <= free {
        return delay;
    }
    let beyond = (delay - free) / (delay_max - free);
    free + (delay_max - free) * beyond / (1.0 + beyond)
}

/// The scheduled times at a stop, in seconds of the city's time.
struct ScheduledCallTimes {
    arrival: f64,
    departure: f64,
    /// The seconds for boarding and alighting.
    halt: f64,
}

impl ScheduledCallTimes {
    /// Returns the times with the scheduled halt. A late vehicle shortens it, and no vehicle departs early.
    fn times_with_scheduled_halt(&self, late: f64) -> SimulatedCallTimes {
        let arrive = self.arrival + late;
        let halt = self.halt.min(self.departure - self.arrival);
        SimulatedCallTimes { arrive, depart: self.departure.max(arrive + halt), skipped: false }
    }

    /// Returns the times if the timetable has only the departure: the halt is taken from the travel time before, at
    /// most half of it.
    fn times_with_derived_halt(
        &self,
        late: f64,
        is_last: bool,
        previous_call: Option<&SimulatedCallTimes>,
    ) -> SimulatedCallTimes {
        let depart = self.departure + late;
        let least = previous_call.map_or(depart, |before| before.depart.midpoint(depart));
        let arrive = if is_last { depart } else { (depart - self.halt).max(least) };
        SimulatedCallTimes { arrive: arrive.min(depart), depart, skipped: false }
    }
}

/// Makes times increase, regardless of the delay recovered between two stops.
fn enforce_increasing_times(
    moment: SimulatedCallTimes,
    previous_call: Option<&SimulatedCallTimes>,
) -> SimulatedCallTimes {
    let Some(previous_call) = previous_call else { return moment };
    let arrive = moment.arrive.max(previous_call.depart + 8.0);
    SimulatedCallTimes { arrive, depart: moment.depart.max(arrive), ..moment }
}
