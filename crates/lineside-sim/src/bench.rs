//! Feeds of any size for benchmarks. Only their shape matters, so they need no city.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::trip_update::{StopTimeEvent, StopTimeUpdate};

use crate::city::{City, CityOptions};
use crate::geography::plan;
use crate::noise;

/// The seed of benchmark cities, so that results of different days are comparable.
const SEED: u64 = 1;
/// 2026-11-18T07:30:00Z, a Wednesday.
const START: UnixMillis = UnixMillis(1_794_987_000_000);
/// Seconds between two rounds.
const ROUND: u64 = 15;
/// The numbers of routes and stops that benchmark messages use.
const ROUTES: usize = 200;
const STOPS: usize = 5_000;
const START_DATE: &str = "20261118";

/// Writes the schedule of a city with about this number of stop times into a folder. Returns the zip's path.
///
/// # Errors
/// Returns the errors of the file system.
pub fn write_benchmark_city(folder: &Path, stop_times: usize) -> io::Result<PathBuf> {
    let options = CityOptions { stop_times: Some(stop_times), ..CityOptions::with_start(START) };
    let city = City::generate_city(SEED, options);
    let path = folder.join(format!("city-{stop_times}.zip"));
    let writer = BufWriter::new(File::create(&path)?);
    city.write_gtfs(writer)?.flush()?;
    Ok(path)
}

fn build_feed_header(round: u64) -> proto::FeedHeader {
    proto::FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        incrementality: Some(0),
        timestamp: Some(timestamp_of_round(round)),
        feed_version: None,
    }
}

fn timestamp_of_round(round: u64) -> u64 {
    START.unix_seconds() as u64 + round * ROUND
}

fn build_trip_descriptor(n: usize) -> proto::TripDescriptor {
    proto::TripDescriptor {
        trip_id: Some(format!("trip-{n}")),
        route_id: Some(format!("route-{}", n % ROUTES)),
        start_date: Some(START_DATE.to_owned()),
        schedule_relationship: Some(0),
        ..Default::default()
    }
}

/// Returns trip updates of `n_trips` trips with `n_stops` stops each. From one round to the next exactly
/// `changed_share` of the entities (0 to 1, rounded to whole entities) change; all others are the same bytes.
#[must_use]
pub fn generate_bench_trip_updates(
    n_trips: usize,
    n_stops: usize,
    changed_share: f64,
    round: u64,
) -> proto::FeedMessage {
    let changed = (n_trips as f64 * changed_share.clamp(0.0, 1.0)).round() as u64;
    let entity = (0..n_trips)
        .map(|n| {
            // Round r changes the `changed` trips after those of round r - 1, and wraps around.
            let touched = round * changed;
            let times =
                if touched > n as u64 { (touched - 1 - n as u64) / n_trips as u64 + 1 } else { 0 };
            let last = if times == 0 {
                0
            } else {
                (n as u64 + (times - 1) * n_trips as u64) / changed + 1
            };
            let update = build_trip_update(n, n_stops, last);
            proto::FeedEntity {
                id: format!("update-{n}"),
                trip_update: Some(update),
                ..Default::default()
            }
        })
        .collect();
    proto::FeedMessage { header: build_feed_header(round), entity }
}

fn build_trip_update(n: usize, n_stops: usize, round: u64) -> proto::TripUpdate {
    let delay =
        (noise::pseudo_random_share(noise::hash_two_numbers(n as u64, round)) * 600.0) as i64 - 60;
    let begin = timestamp_of_round(0) as i64 + (n as i64 % 3_600);
    let stop_time_update = (0..n_stops)
        .map(|k| {
            let time = begin + 90 * k as i64 + delay;
            let event = |time| StopTimeEvent {
                delay: Some(delay as i32),
                time: Some(time),
                ..Default::default()
            };
            StopTimeUpdate {
                stop_sequence: Some(k as u32 + 1),
                stop_id: Some(format!("stop-{}", (n * 7 + k) % STOPS)),
                arrival: Some(event(time)),
                departure: Some(event(time + 20)),
                ..Default::default()
            }
        })
        .collect();
    proto::TripUpdate {
        trip: build_trip_descriptor(n),
        stop_time_update,
        vehicle: Some(build_vehicle_descriptor(n)),
        timestamp: Some(timestamp_of_round(round)),
        delay: Some(delay as i32),
        trip_properties: None,
    }
}

fn build_vehicle_descriptor(n: usize) -> proto::VehicleDescriptor {
    proto::VehicleDescriptor {
        id: Some(format!("vehicle-{n}")),
        label: Some(format!("{n}")),
        ..Default::default()
    }
}

/// Returns the positions of `n` vehicles that each move a little each round, in wide circles.
#[must_use]
pub fn generate_bench_vehicles(n: usize, round: u64) -> proto::FeedMessage {
    let (lat, lon) = plan::ORIGIN;
    let entity = (0..n)
        .map(|i| {
            let share = |k: u64| noise::pseudo_random_share(noise::hash_two_numbers(i as u64, k));
            let (radius, turn) = (0.004 + share(1) * 0.012, share(2) * std::f64::consts::TAU);
            let angle = turn + round as f64 * 0.02;
            let (sin, cos) = angle.sin_cos();
            let (middle_lat, middle_lon) =
                (lat + (share(3) - 0.5) * 0.2, lon + (share(4) - 0.5) * 0.35);
            let vehicle = proto::VehiclePosition {
                trip: Some(build_trip_descriptor(i)),
                vehicle: Some(build_vehicle_descriptor(i)),
                position: Some(proto::Position {
                    latitude: (middle_lat + radius * sin) as f32,
                    longitude: (middle_lon + radius * cos * 1.7) as f32,
                    bearing: Some((360.0 - angle.to_degrees().rem_euclid(360.0)) as f32 % 360.0),
                    speed: Some(9.0),
                    odometer: None,
                }),
                current_stop_sequence: Some((round / 6 % 20) as u32 + 1),
                stop_id: Some(format!("stop-{}", (i * 7 + round as usize / 6 % 20) % STOPS)),
                current_status: Some(2),
                timestamp: Some(timestamp_of_round(round)),
                ..Default::default()
            };
            proto::FeedEntity {
                id: format!("vehicle-{i}"),
                vehicle: Some(vehicle),
                ..Default::default()
            }
        })
        .collect();
    proto::FeedMessage { header: build_feed_header(round), entity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_requested_share_of_trip_updates_changes_each_round() {
        for round in 0..30 {
            let before = generate_bench_trip_updates(500, 3, 0.05, round);
            let after = generate_bench_trip_updates(500, 3, 0.05, round + 1);
            let changed = before.entity.iter().zip(&after.entity).filter(|(a, b)| a != b).count();
            assert_eq!(changed, 25, "round {round}");
        }
    }

    #[test]
    fn every_vehicle_moves_each_round_and_stays_near() {
        let (before, after) = (generate_bench_vehicles(200, 4), generate_bench_vehicles(200, 5));
        for (a, b) in before.entity.iter().zip(&after.entity) {
            let place =
                |e: &proto::FeedEntity| e.vehicle.as_ref().and_then(|v| v.position).unwrap();
            let (a, b) = (place(a), place(b));
            let moved = (a.latitude - b.latitude).hypot(a.longitude - b.longitude);
            assert!(moved > 1e-5 && moved < 1e-2, "{moved}");
        }
    }
}
