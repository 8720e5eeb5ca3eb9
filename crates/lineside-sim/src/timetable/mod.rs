//! All trips of all services, and the vehicles that run them.

mod blocks;
pub(crate) mod demand;
mod run_times;
pub(crate) mod services;

use std::ops::Range;

use demand::{
    DemandCurve, demand_curve_and_headway, demand_share_at, round_headway, select_run_time_profile,
};
use run_times::StopTimeOffsets;
use services::Service;

use crate::geography::Geography;
use crate::network::plan::BusKind;
use crate::network::{Route, TransitNetwork};
use crate::noise;
use crate::time::HOUR;

/// A missing trip.
pub(crate) const NONE: u32 = u32::MAX;
/// The time of a working day at which the fleet is counted, in seconds after midnight.
const FLEET_COUNT_TIME: i32 = 8 * HOUR;
/// The number of attempts to adjust the headways to the wanted fleet.
const FIT_ATTEMPTS_MAX: usize = 8;

/// A departure of a pattern, on every day of its service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trip {
    pub(crate) pattern: u32,
    pub(crate) service: Service,
    pub(crate) profile: u8,
    /// The departure from the first stop, in seconds after the city's midnight.
    pub(crate) start: i32,
    /// The number of the trip within its route and service.
    pub(crate) number: u32,
    /// The index of the departure within its direction, which identifies neighbours.
    pub(crate) slot: u32,
    /// The index of the vehicle among the route's vehicles.
    pub(crate) block: u32,
    /// The previous trip of the vehicle, or [`NONE`].
    pub(crate) previous: u32,
    /// The largest delay at the end, in seconds, from which the vehicle can still recover on the next trip.
    pub(crate) delay_max: u16,
    /// The headway-based trip of which this is a run, or [`NONE`].
    pub(crate) template: u32,
}

/// A trip that `frequencies.txt` repeats.
#[derive(Clone, Debug)]
pub(crate) struct HeadwayTripTemplate {
    pub(crate) pattern: u32,
    pub(crate) service: Service,
    /// True if departures are exactly a headway apart from the start of each period (GTFS `exact_times`).
    pub(crate) exact: bool,
    /// The first departure, the end (no departure at or after it) and the headway, all in seconds.
    pub(crate) periods: Vec<(i32, i32, i32)>,
}

/// The profile of templates, whose run times never change over the day.
pub(crate) const TEMPLATE_PROFILE: u8 = 1;

#[derive(Debug)]
pub(crate) struct Timetable {
    /// The trips, ordered by service and start.
    pub(crate) trips: Vec<Trip>,
    of_service: [Range<usize>; Service::ALL.len()],
    pub(crate) templates: Vec<HeadwayTripTemplate>,
    /// The run times of each pattern by profile.
    pub(crate) run_times: Vec<[StopTimeOffsets; 3]>,
    /// The number of the first vehicle of each route, and the total as one more entry.
    fleet: Vec<u32>,
    duration_max: i32,
}

impl Timetable {
    /// Builds the trips for about `vehicles` vehicles in the morning rush hour.
    pub(crate) fn build_timetable(
        seed: u64,
        network: &TransitNetwork,
        geography: &Geography,
        vehicles: usize,
    ) -> Self {
        let run_times = run_times::build_run_times(network, geography);
        let mut writer = TripGenerator { seed, network, run_times: &run_times, factor: 1.0 };
        let mut factors = (0.0, 0.0);
        for _ in 0..FIT_ATTEMPTS_MAX {
            let out = writer.count_vehicles_in_service();
            let ratio = vehicles as f64 / (out as f64).max(1.0);
            factors = (writer.factor, (ratio - 1.0_f64).abs());
            if factors.1 < 0.015 {
                break;
            }
            // Headways are rounded, so a full correction would oscillate around the goal.
            writer.factor *= ratio.powf(0.8);
        }
        writer.factor = factors.0;
        let (trips, templates) = writer.generate_all_trips();
        let fleet = blocks::first_vehicle_numbers(network, &trips);
        let of_service = Service::ALL.map(|service| {
            let from = trips.partition_point(|t| t.service < service);
            from..trips.partition_point(|t| t.service <= service)
        });
        let duration = |t: &Trip| {
            run_times[t.pattern as usize][usize::from(t.profile)].last().map_or(0, |last| last.0)
        };
        let duration_max = trips.iter().map(duration).max().unwrap_or(0);
        Self { trips, of_service, templates, run_times, fleet, duration_max }
    }

    pub(crate) fn stop_time_offsets(&self, pattern: u32, profile: u8) -> &[(i32, i32)] {
        &self.run_times[pattern as usize][usize::from(profile)]
    }

    /// Returns the scheduled seconds from the first departure to the last arrival.
    pub(crate) fn trip_duration(&self, trip: &Trip) -> i32 {
        self.stop_time_offsets(trip.pattern, trip.profile).last().map_or(0, |last| last.0)
    }

    /// Returns the indices of a service's trips that start in a span of the city's time.
    pub(crate) fn trips_starting_in(&self, service: Service, span: Range<i32>) -> Range<usize> {
        let range = self.of_service[service as usize].clone();
        let trips = &self.trips[range.clone()];
        let from = trips.partition_point(|t| t.start < span.start);
        let until = trips.partition_point(|t| t.start < span.end);
        range.start + from..range.start + until
    }

    /// Returns the duration of the longest scheduled trip, in seconds.
    pub(crate) fn longest_trip_duration(&self) -> i32 {
        self.duration_max
    }

    /// Returns the city-wide number of a trip's vehicle, from 0.
    pub(crate) fn vehicle_number(&self, network: &TransitNetwork, trip: &Trip) -> u32 {
        self.fleet[network.patterns[trip.pattern as usize].route as usize] + trip.block
    }

    /// Returns the number of vehicles.
    pub(crate) fn fleet_size(&self) -> u32 {
        self.fleet.last().copied().unwrap_or(0)
    }

    /// Returns the number of rows in `stop_times.txt`.
    pub(crate) fn count_stop_times(&self, network: &TransitNetwork) -> usize {
        let calls = |pattern: u32| network.patterns[pattern as usize].calls.len();
        let trips = self.trips.iter().filter(|t| t.template == NONE).map(|t| calls(t.pattern));
        trips.chain(self.templates.iter().map(|t| calls(t.pattern))).sum()
    }
}

/// A generator of the timetable for one fleet size.
struct TripGenerator<'a> {
    seed: u64,
    network: &'a TransitNetwork,
    run_times: &'a [[StopTimeOffsets; 3]],
    /// The factor by which all services are more frequent than planned.
    factor: f64,
}

impl TripGenerator<'_> {
    /// Returns the number of vehicles on a trip or waiting for their next trip in the rush hour.
    fn count_vehicles_in_service(&self) -> usize {
        (0..self.network.routes.len())
            .flat_map(|route| [Service::Weekday, Service::School].map(|service| (route, service)))
            .map(|(route, service)| {
                let mut trips = self.generate_departures(route, service, &mut Vec::new());
                blocks::assign_vehicles_to_trips(self.network, self.run_times, &mut trips);
                blocks::count_vehicles_in_service(self.run_times, &trips, FLEET_COUNT_TIME)
            })
            .sum()
    }

    fn generate_all_trips(&self) -> (Vec<Trip>, Vec<HeadwayTripTemplate>) {
        let mut all: Vec<Trip> = Vec::new();
        let mut templates = Vec::new();
        for service in Service::ALL {
            let first = all.len();
            for route in 0..self.network.routes.len() {
                let mut trips = self.generate_departures(route, service, &mut templates);
                blocks::assign_vehicles_to_trips(self.network, self.run_times, &mut trips);
                let offset = all.len() as u32;
                trips.iter_mut().filter(|t| t.previous != NONE).for_each(|t| t.previous += offset);
                all.extend(trips);
            }
            blocks::sort_by_start(&mut all, first);
        }
        blocks::assign_extra_vehicles(self.network, &mut all);
        (all, templates)
    }

    /// Returns the departures of a route in both directions, by start.
    fn generate_departures(
        &self,
        route: usize,
        service: Service,
        templates: &mut Vec<HeadwayTripTemplate>,
    ) -> Vec<Trip> {
        let plan = &self.network.routes[route];
        let Some((curve, headway)) = demand_curve_and_headway(plan, service) else {
            return Vec::new();
        };
        let headway = headway / if curve.len() == 2 { 1.0 } else { self.factor };
        let mut trips = Vec::new();
        for direction in 0..2 {
            let pattern = plan.patterns[direction];
            if let Some(exact) = is_headway_exact(plan) {
                self.add_headway_trip(
                    pattern, service, curve, headway, exact, templates, &mut trips,
                );
            } else {
                self.add_departures_in_direction(
                    plan, direction, service, curve, headway, &mut trips,
                );
            }
        }
        trips.sort_by_key(|t| (t.start, t.pattern));
        for (number, trip) in trips.iter_mut().enumerate() {
            trip.number = number as u32 + 1;
        }
        trips
    }

    fn add_departures_in_direction(
        &self,
        plan: &Route,
        direction: usize,
        service: Service,
        curve: DemandCurve,
        headway: f64,
        trips: &mut Vec<Trip>,
    ) {
        let step = round_headway(headway / curve[0].1);
        let offset = noise::pseudo_random_share(noise::random_key_for_purpose(self.seed, &plan.id))
            * f64::from(step.min(900));
        let grid = if step >= 120 { 60 } else { 10 };
        let mut start =
            curve[0].0 + offset as i32 / grid * grid + step / 2 / grid * grid * direction as i32;
        let mut slot = 0;
        loop {
            let share = demand_share_at(curve, start);
            if share <= 0.0 {
                break;
            }
            let profile = select_run_time_profile(service, share, start);
            let short = share >= 0.8 && slot % 3 == 2;
            let pattern = plan
                .patterns
                .get(2 + direction)
                .filter(|_| short)
                .copied()
                .unwrap_or(plan.patterns[direction]);
            // A short run takes the place of a full one in the sequence, so it starts when the full one would pass.
            let later = self.first_stop_offset(plan.patterns[direction], pattern, profile);
            trips.push(Trip {
                start: start + later,
                slot,
                ..trip_with_defaults(pattern, service, profile)
            });
            slot += 1;
            start += round_headway(headway / share);
        }
    }

    fn first_stop_offset(&self, full: u32, part: u32, profile: u8) -> i32 {
        if full == part {
            return 0;
        }
        let first = self.network.patterns[part as usize].calls[0].stop;
        let calls = &self.network.patterns[full as usize].calls;
        let at = calls.iter().position(|call| call.stop == first).unwrap_or(0);
        self.run_times[full as usize][usize::from(profile)][at].1 / 60 * 60
    }

    /// Adds a headway-based trip and each of its runs.
    #[expect(clippy::too_many_arguments, reason = "a template needs all these parameters")]
    fn add_headway_trip(
        &self,
        pattern: u32,
        service: Service,
        curve: DemandCurve,
        headway: f64,
        exact: bool,
        templates: &mut Vec<HeadwayTripTemplate>,
        trips: &mut Vec<Trip>,
    ) {
        let mut periods: Vec<(i32, i32, i32)> = Vec::new();
        let mut slot = 0;
        let template = templates.len() as u32;
        let mut from = curve[0].0;
        for pair in curve.windows(2) {
            let step = round_headway(headway / pair[0].1);
            let runs = ((pair[1].0 - from).max(1) + step - 1) / step;
            for run in 0..runs {
                let start = from + run * step;
                trips.push(Trip {
                    start,
                    slot,
                    template,
                    ..trip_with_defaults(pattern, service, TEMPLATE_PROFILE)
                });
                slot += 1;
            }
            // The next period begins a headway after the last run of this one.
            periods.push((from, from + runs * step, step));
            from += runs * step;
        }
        templates.push(HeadwayTripTemplate { pattern, service, exact, periods });
    }
}

fn trip_with_defaults(pattern: u32, service: Service, profile: u8) -> Trip {
    Trip {
        pattern,
        service,
        profile,
        start: 0,
        number: 0,
        slot: 0,
        block: 0,
        previous: NONE,
        delay_max: 0,
        template: NONE,
    }
}

/// Returns true for an exact headway, false for an inexact one, and `None` for a route with a timetable.
fn is_headway_exact(route: &Route) -> Option<bool> {
    match route.bus_kind {
        Some(BusKind::Shuttle) => Some(false),
        Some(BusKind::Express) => Some(true),
        _ => None,
    }
}
