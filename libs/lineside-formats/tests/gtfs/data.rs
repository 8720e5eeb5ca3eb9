//! Loads every schedule in the folder of real feeds, and compares the number of rows with its zip.
//!
//! The folder is `$LINESIDE_DATA`, else `shared/data` next to the repository. Without it the test prints a message and
//! passes.

use std::{collections::BTreeMap, fs::File, io::BufReader, path::Path};

use lineside_formats::{
    Problems,
    gtfs::{self, DatasetLimits, Timetable, ZipFiles, fields},
};

use super::support::real_files;

fn load(path: &Path) -> Result<(Timetable, Problems), lineside_formats::Error> {
    let limits = DatasetLimits::default();
    let mut files = ZipFiles::new(BufReader::new(File::open(path).unwrap()), &limits)?;
    gtfs::load_timetable(&mut files, &limits)
}

/// Counts the records of a zip's tables with the csv crate, in any directory of the zip.
fn count_rows(path: &Path) -> BTreeMap<String, u64> {
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut counts = BTreeMap::new();
    for entry in 0..archive.len() {
        let file = archive.by_index(entry).unwrap();
        let path = file.name().unwrap().into_owned();
        let name = path.rsplit('/').next().unwrap().to_owned();
        if path.starts_with("__MACOSX") || fields::find_file_spec(&name).is_none() {
            continue;
        }
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(file);
        let n_rows = rows.byte_records().filter(Result::is_ok).count() as u64;
        *counts.entry(name).or_default() += n_rows;
    }
    counts
}

/// Returns true for feeds that are broken on purpose and may be refused; all others must load.
fn may_be_refused(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap();
    folder == "bad" || folder.starts_with("corpus-")
}

#[test]
fn every_real_feed_loads_with_all_its_rows() {
    let zips = real_files("gtfs", Some("zip"));
    let (mut n_loaded, mut n_refused) = (0, 0);
    for path in zips {
        let (timetable, problems) = match load(&path) {
            Ok(loaded) => loaded,
            Err(error) => {
                assert!(may_be_refused(&path), "{}: {error}", path.display());
                eprintln!("refused {}: {error}", path.display());
                n_refused += 1;
                continue;
            }
        };
        let counts = timetable.row_counts().iter();
        let counts: BTreeMap<String, u64> = counts
            .filter(|(name, _)| name.ends_with(".txt"))
            .map(|(name, n)| (name.to_string(), *n))
            .collect();
        assert_eq!(counts, count_rows(&path), "{}", path.display());
        check_timetable(&timetable, &path);
        for problem in problems.retained_problems() {
            assert!(!problem.detail.is_empty() && !problem.file.is_empty(), "{problem:?}");
        }
        n_loaded += 1;
    }
    eprintln!("{n_loaded} loaded, {n_refused} refused");
}

/// Calls all queries of a timetable and checks that their answers are consistent.
fn check_timetable(timetable: &Timetable, path: &Path) {
    let place = path.display();
    for stop in timetable.stops() {
        assert_eq!(timetable.find_stop(stop.id), Some(stop.idx), "{place}");
        if let Some(parent) = stop.parent {
            assert!(timetable.child_stops(parent).contains(&stop.idx), "{place}");
        }
    }
    for route in timetable.routes() {
        assert_eq!(timetable.find_route(route.id), Some(route.idx), "{place}");
        for line in timetable.route_map_lines(route.idx) {
            assert!(line.points.len() >= 2, "{place}");
        }
    }
    let mut n_stop_times = 0;
    for trip in timetable.trips() {
        assert_eq!(timetable.find_trip(trip.id), Some(trip.idx), "{place}");
        let calls = timetable.trip_stop_times(trip.idx);
        n_stop_times += calls.len() as u64;
        assert!(calls.map(|call| call.stop_sequence).is_sorted_by(|a, b| a < b), "{place}");
    }
    assert_eq!(n_stop_times, timetable.stop_time_count(), "{place}");
    assert!(n_stop_times <= timetable.row_counts()["stop_times.txt"], "{place}");
    if let Some((first, _)) = timetable.service_date_range() {
        let noon = timetable.service_time_to_unix(first, 12 * 3_600);
        for instance in timetable.active_trips_at(noon) {
            assert!(
                timetable.is_service_active(
                    timetable.trip(instance.trip).service,
                    instance.service_date
                )
            );
        }
    }
}

#[test]
fn stop_times_equal_those_of_gtfs_structures() {
    let zips = real_files("gtfs", Some("zip"));
    for name in ["caltrain-rt.zip", "kuopio.zip", "soundtransit-oba.zip", "entur-gjb.zip"] {
        let Some(path) = zips.iter().find(|path| path.ends_with(name)) else { continue };
        let (timetable, _) = load(path).unwrap();
        let oracle = gtfs_structures::Gtfs::from_path(path).unwrap();
        assert_eq!(timetable.trips().len(), oracle.trips.len(), "{name}");
        for trip in timetable.trips() {
            let expected = &oracle.trips[trip.id];
            assert_eq!(timetable.trip_stop_times(trip.idx).len(), expected.stop_times.len());
            for (call, row) in timetable.trip_stop_times(trip.idx).zip(&expected.stop_times) {
                assert_eq!(timetable.stop(call.stop).id, row.stop.id, "{name} {}", trip.id);
                assert_eq!(call.stop_sequence, row.stop_sequence, "{name} {}", trip.id);
                let times = (row.arrival_time, row.departure_time);
                let arrival = times.0.or(times.1).map(|time| time as i32);
                let departure = times.1.or(times.0).map(|time| time as i32);
                if !call.interpolated {
                    assert_eq!(
                        (call.arrival, call.departure),
                        (arrival, departure),
                        "{name} {}",
                        trip.id
                    );
                }
            }
        }
    }
}
