//! Assignment of vehicles to trips: first in, first out at each end of a line.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::run_times::StopTimeOffsets;
use super::services::Service;
use super::{NONE, Trip};
use crate::network::TransitNetwork;

/// The least time of a vehicle at the end of a line, in seconds.
const TURN_MIN: i32 = 120;
/// A vehicle that would wait longer goes to the depot, in seconds.
const WAIT_MAX: i32 = 25 * 60;
/// The share of a trip's time by which a vehicle can reduce its delay on the trip.
pub(crate) const CATCH_UP: f64 = 0.2;
/// The largest delay at the end of a trip, in seconds.
const DELAY_MAX: i32 = 20 * 60;

fn trip_end_time(run_times: &[[StopTimeOffsets; 3]], trip: &Trip) -> i32 {
    let times = &run_times[trip.pattern as usize][usize::from(trip.profile)];
    trip.start + times.last().map_or(0, |last| last.0)
}

/// Assigns each trip of one route and service (sorted by start) its vehicle, previous trip, and greatest delay.
pub(super) fn assign_vehicles_to_trips(
    network: &TransitNetwork,
    run_times: &[[StopTimeOffsets; 3]],
    trips: &mut [Trip],
) {
    // The waiting vehicles at each end: (ready from, trip), in the order of arrival.
    let mut waiting: HashMap<u32, VecDeque<(i32, usize)>> = HashMap::new();
    let mut arrivals: BinaryHeap<Reverse<(i32, usize)>> = BinaryHeap::new();
    let mut blocks = 0;
    for i in 0..trips.len() {
        let start = trips[i].start;
        while let Some(Reverse((ready, trip))) = arrivals.peek().copied() {
            if ready > start {
                break;
            }
            arrivals.pop();
            let terminus = network.terminus_place(&network.patterns[trips[trip].pattern as usize]);
            waiting.entry(terminus).or_default().push_back((ready, trip));
        }
        let origin = network.origin_place(&network.patterns[trips[i].pattern as usize]);
        let queue = waiting.entry(origin).or_default();
        while queue.front().is_some_and(|(ready, _)| start - ready > WAIT_MAX) {
            queue.pop_front();
        }
        match queue.pop_front() {
            Some((_, previous)) => {
                trips[i].block = trips[previous].block;
                trips[i].previous = previous as u32;
            }
            None => {
                trips[i].block = blocks;
                blocks += 1;
            }
        }
        arrivals.push(Reverse((trip_end_time(run_times, &trips[i]) + TURN_MIN, i)));
    }
    set_max_recoverable_delays(run_times, trips);
}

/// Limits the delay of each trip so that the next trip can start late and still recover.
fn set_max_recoverable_delays(run_times: &[[StopTimeOffsets; 3]], trips: &mut [Trip]) {
    for trip in trips.iter_mut() {
        trip.delay_max = (DELAY_MAX * 3 / 4) as u16;
    }
    for i in 0..trips.len() {
        let previous = trips[i].previous;
        if previous != NONE {
            let previous_trip = &trips[previous as usize];
            let wait = trips[i].start - trip_end_time(run_times, previous_trip);
            let duration = trip_end_time(run_times, &trips[i]) - trips[i].start;
            let limit = wait - TURN_MIN / 2 + (f64::from(duration) * CATCH_UP) as i32;
            trips[previous as usize].delay_max = limit.clamp(60, DELAY_MAX) as u16;
        }
    }
}

/// Sorts the trips from `first` on by start, and updates references to trips by index.
pub(super) fn sort_by_start(trips: &mut [Trip], first: usize) {
    let part = &trips[first..];
    let mut order: Vec<u32> = (0..part.len() as u32).collect();
    order.sort_by_key(|i| (part[*i as usize].start, *i));
    let mut place = vec![0_u32; part.len()];
    for (to, from) in order.iter().enumerate() {
        place[*from as usize] = to as u32;
    }
    let sorted: Vec<Trip> = order
        .iter()
        .map(|i| {
            let mut trip = part[*i as usize];
            if trip.previous != NONE {
                trip.previous = place[trip.previous as usize - first] + first as u32;
            }
            trip
        })
        .collect();
    trips[first..].copy_from_slice(&sorted);
}

/// Returns the number of one route's vehicles in service at a time: on a trip, or between two.
pub(super) fn count_vehicles_in_service(
    run_times: &[[StopTimeOffsets; 3]],
    trips: &[Trip],
    time: i32,
) -> usize {
    let on_trip = |trip: &&Trip| trip.start <= time && time < trip_end_time(run_times, trip);
    let between = |trip: &&Trip| {
        trip.previous != NONE
            && trip_end_time(run_times, &trips[trip.previous as usize]) <= time
            && time < trip.start
    };
    trips.iter().filter(on_trip).count() + trips.iter().filter(between).count()
}

/// Returns for each route the number of its first vehicle, and the total as one more entry.
pub(super) fn first_vehicle_numbers(network: &TransitNetwork, trips: &[Trip]) -> Vec<u32> {
    let mut sizes = vec![0; network.routes.len()];
    for trip in trips {
        let size = &mut sizes[network.patterns[trip.pattern as usize].route as usize];
        *size = trip.block.saturating_add(1).max(*size);
    }
    let mut first = vec![0];
    for size in sizes {
        first.push(first[first.len() - 1] + size);
    }
    first
}

/// Extra services run in parallel with the day's service, so their vehicles are numbered after those of the day.
pub(super) fn assign_extra_vehicles(network: &TransitNetwork, trips: &mut [Trip]) {
    let mut sizes = vec![0; network.routes.len()];
    let extra =
        |service| !matches!(service, Service::Weekday | Service::Saturday | Service::Sunday);
    let route = |trip: &Trip| network.patterns[trip.pattern as usize].route as usize;
    for trip in trips.iter().filter(|t| !extra(t.service)) {
        sizes[route(trip)] = sizes[route(trip)].max(trip.block + 1);
    }
    for trip in trips.iter_mut().filter(|t| extra(t.service)) {
        trip.block += sizes[route(trip)];
    }
}
