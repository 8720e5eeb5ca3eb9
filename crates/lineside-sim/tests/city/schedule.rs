//! Tests of the written schedule: large and varied enough, reproducible, and without faults.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{CITY, SCHEDULE, START, TWIN, load, written};
use lineside_formats::gtfs::{DatasetLimits, ZipFiles};
use lineside_sim::{City, CityOptions, write_benchmark_city};
use lineside_sync::UnixMillis;

#[test]
fn equal_seeds_give_equal_cities_and_different_seeds_different_ones() {
    assert!(written(&TWIN) == written(&CITY), "both zips are identical");
    assert_eq!(TWIN.base_map_geojson().to_string(), CITY.base_map_geojson().to_string());
    let other = City::generate_city(8, CityOptions::with_start(START));
    assert_ne!(other.base_map_geojson().to_string(), CITY.base_map_geojson().to_string());
    load(&other);
}

#[test]
fn the_city_has_all_modes_and_enough_stops() {
    let timetable = &*SCHEDULE;
    let mut modes: BTreeMap<u16, usize> = BTreeMap::new();
    for route in timetable.routes() {
        *modes.entry(route.kind).or_default() += 1;
        assert!(route.color.is_some() && !route.long_name.is_empty());
    }
    assert!(modes.values().sum::<usize>() >= 24, "{modes:?}");
    assert_eq!(
        modes.keys().copied().collect::<Vec<_>>(),
        [0, 1, 2, 3, 4],
        "tram, metro, rail, bus, ferry"
    );
    let stops = timetable.stops().filter(|s| s.location_type == 0).count();
    let stations = timetable.stops().filter(|s| s.location_type == 1).count();
    assert!(stops >= 400 && stations >= 20, "{stops} stops, {stations} stations");
    let platforms =
        timetable.stops().filter(|s| s.parent.is_some() && s.platform_code.is_some()).count();
    assert!(platforms > 100, "{platforms} platforms");
    assert!(
        timetable.stops().any(|s| s.wheelchair == 1)
            && timetable.stops().any(|s| s.wheelchair == 2)
    );
}

#[test]
fn agency_urls_use_an_example_domain() {
    assert!(SCHEDULE.agencies().len() > 1);
    for agency in SCHEDULE.agencies() {
        let url = agency.url.unwrap();
        assert!(url.starts_with("https://lindhaven.example.org/"), "{url}");
    }
}

#[test]
fn places_have_unique_names() {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for stop in SCHEDULE.stops().filter(|s| s.parent.is_none()) {
        assert!(stop.name.chars().next().is_some_and(char::is_uppercase), "{}", stop.name);
        *places.entry(stop.name.to_owned()).or_default() += 1;
    }
    // A place that is not a station has at most two kerbs.
    assert!(places.values().all(|n| *n <= 2), "{places:?}");
}

#[test]
fn stops_follow_the_shapes_of_their_trips() {
    for route in SCHEDULE.routes() {
        for trip in SCHEDULE.route_trips(route.idx).iter().step_by(97) {
            let shape: Vec<_> =
                SCHEDULE.shape_points(SCHEDULE.trip(*trip).shape.unwrap()).collect();
            for time in SCHEDULE.trip_stop_times(*trip) {
                let stop = SCHEDULE.stop(time.stop);
                let place = (stop.lat.unwrap(), stop.lon.unwrap());
                let off = shape
                    .windows(2)
                    .map(|pair| off_segment(place, pair[0], pair[1]))
                    .fold(f64::MAX, f64::min);
                assert!(off < 15.0, "{} is {off:.0} m off line {}", stop.name, route.short_name);
            }
        }
    }
}

fn off_segment(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let steps = (crate::common::metres(a, b) / 5.0).ceil().max(1.0);
    (0..=steps as u32)
        .map(|i| f64::from(i) / steps)
        .map(|share| {
            crate::common::metres(p, (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share))
        })
        .fold(f64::MAX, f64::min)
}

#[test]
fn weekday_service_runs_on_the_day_of_the_start() {
    let date = SCHEDULE.local_date_at(START.unix_seconds());
    let services: BTreeSet<&str> = SCHEDULE
        .trips()
        .filter(|trip| SCHEDULE.is_service_active(trip.service, date))
        .map(|trip| SCHEDULE.service_id(trip.service))
        .collect();
    assert_eq!(services, BTreeSet::from(["wd", "school"]), "a Saturday with weekday service");
    let counts = SCHEDULE.row_counts();
    assert!(
        counts["calendar_dates.txt"] >= 5
            && counts["frequencies.txt"] >= 10
            && counts["transfers.txt"] >= 50
    );
    assert_eq!(counts["feed_info.txt"], 1);
    assert!(counts["attributions.txt"] >= 2);
}

#[test]
fn trips_run_past_midnight_and_some_by_headway() {
    let late = SCHEDULE
        .trips()
        .filter(|t| SCHEDULE.trip_start_time(t.idx).is_some_and(|s| s > 24 * 3_600))
        .count();
    assert!(late > 50, "{late}");
    let exact: BTreeSet<bool> = SCHEDULE
        .trips()
        .flat_map(|t| {
            SCHEDULE.frequencies_of_trip(t.idx).iter().map(|f| f.exact).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(exact.len(), 2, "both values of exact_times");
}

#[test]
fn a_board_at_the_start_shows_about_half_past_seven() {
    let local =
        SCHEDULE.timezone().to_datetime(jiff::Timestamp::from_millisecond(START.0).unwrap());
    let minutes = i32::from(local.hour()) * 60 + i32::from(local.minute());
    assert!((420..=480).contains(&minutes), "{local}");
    let central =
        SCHEDULE.stops().find(|s| s.name == "Central Station" && s.location_type == 1).unwrap();
    let departures = SCHEDULE.departures_from_stop(
        central.idx,
        START.unix_seconds(),
        START.unix_seconds() + 600,
        40,
    );
    assert!(departures.len() > 20, "{} departures in ten minutes", departures.len());
}

#[test]
fn a_city_has_about_the_requested_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_benchmark_city(folder.path(), 120_000).unwrap();
    let limits = DatasetLimits::default();
    let mut files = ZipFiles::new(std::fs::File::open(path).unwrap(), &limits).unwrap();
    let (timetable, problems) =
        lineside_formats::gtfs::load_timetable(&mut files, &limits).unwrap();
    assert_eq!(problems.total_count(), 0);
    let rows = timetable.stop_time_count();
    assert!((114_000..=126_000).contains(&rows), "{rows}");
}

#[test]
fn invalid_sizes_are_clamped() {
    let options = CityOptions { vehicles: 0, ..CityOptions::with_start(UnixMillis(i64::MIN / 2)) };
    let city = City::generate_city(3, options);
    assert!(city.city_size().vehicles > 0 && city.city_size().stop_times > 0);
}
