//! Compares NeTEx and GTFS exports of one operator, made on one day by one system, if their folder is next to the
//! repository. They are equal except for the differences explained here.

use std::{collections::BTreeSet, fs, io::Cursor};

use jiff::{ToSpan, civil::Date};
use lineside_formats::gtfs::{self, DatasetLimits, Timetable, ZipFiles};

use super::{read, support::real_files, trip};

/// Loads both exports of an operator; `None` if they are absent.
fn pair(name: &str) -> Option<(Timetable, Timetable)> {
    let find =
        |folder: &str| real_files(folder, None).into_iter().find(|path| path.ends_with(name));
    let (netex, gtfs) = (find("netex")?, find("gtfs")?);
    let limits = DatasetLimits::default();
    let bytes = fs::read(gtfs).unwrap();
    let mut zip = ZipFiles::new(Cursor::new(bytes.as_slice()), &limits).unwrap();
    let (theirs, _) = gtfs::load_timetable(&mut zip, &limits).unwrap();
    Some((read(fs::read(netex).unwrap()).timetable, theirs))
}

fn dates(timetable: &Timetable) -> Vec<Date> {
    let (first, last) = timetable.service_date_range().unwrap();
    first.series(1.day()).take_while(|&date| date <= last).collect()
}

/// A call: stop, arrival, departure, pickup type and drop-off type.
type Called = (String, Option<i32>, Option<i32>, u8, u8);

fn calls(timetable: &Timetable, id: &str) -> Vec<Called> {
    let calls = timetable.trip_stop_times(trip(timetable, id));
    calls
        .map(|it| {
            (
                timetable.stop(it.stop).id.to_owned(),
                it.arrival,
                it.departure,
                it.pickup,
                it.drop_off,
            )
        })
        .collect()
}

fn check_pair(name: &str) {
    let Some((ours, theirs)) = pair(name) else { return };
    let ids = |timetable: &Timetable| -> BTreeSet<String> {
        timetable.trips().map(|trip| trip.id.to_owned()).collect()
    };
    assert_eq!(ids(&ours), ids(&theirs), "the trip has the id of its ServiceJourney in both");
    let routes = |timetable: &Timetable| -> BTreeSet<(String, String)> {
        timetable.routes().map(|route| (route.id.to_owned(), route.short_name.to_owned())).collect()
    };
    assert_eq!(routes(&ours), routes(&theirs), "the route has the id of its Line in both");
    for other in theirs.trips() {
        let mine = ours.trip(trip(&ours, other.id));
        assert_eq!(calls(&ours, other.id), calls(&theirs, other.id), "{}", other.id);
        assert_eq!(ours.route(mine.route).id, theirs.route(other.route).id, "{}", other.id);
        assert_eq!(mine.headsign, other.headsign, "{}", other.id);
        for date in dates(&theirs) {
            let runs = (
                ours.is_service_active(mine.service, date),
                theirs.is_service_active(other.service, date),
            );
            assert_eq!(runs.0, runs.1, "{} on {date}", other.id);
        }
    }
    check_stops(&ours, &theirs);
    check_boards(&ours, &theirs);
}

/// Compares stops. The NeTEx export refers to quays of the national register, a separate publication that is not in the
/// zip. The GTFS export took coordinates, stations and platform codes from it, and includes quays without calls. So our
/// timetable has the same ids wherever a trip calls, with the names of the stop points, but no coordinates and no
/// stations. In the register a quay has the name of its station, as have the stop points here.
fn check_stops(ours: &Timetable, theirs: &Timetable) {
    for stop in ours.stops() {
        let other =
            theirs.stop(theirs.find_stop(stop.id).expect("the stop register contains every quay"));
        assert_eq!((stop.lat, stop.parent, stop.location_type), (None, None, 0), "{}", stop.id);
        assert!(other.lat.is_some() && other.parent.is_some(), "{}", stop.id);
    }
    let called = |timetable: &Timetable| -> BTreeSet<String> {
        let calls = timetable.trips().flat_map(|trip| timetable.trip_stop_times(trip.idx));
        calls.map(|call| timetable.stop(call.stop).id.to_owned()).collect()
    };
    assert_eq!(called(ours), called(theirs));
}

/// Compares the departures from every stop on some dates.
fn check_boards(ours: &Timetable, theirs: &Timetable) {
    let board = |timetable: &Timetable, stop: &str, date: Date| -> Vec<(i64, String)> {
        let from = timetable.service_time_to_unix(date, 0);
        let stop = timetable.find_stop(stop).unwrap();
        let departures = timetable.departures_from_stop(stop, from, from + 86_400, 1_000);
        let mut all: Vec<_> = departures
            .iter()
            .map(|it| (it.departure, timetable.trip(it.trip).id.to_owned()))
            .collect();
        all.sort();
        all
    };
    let mut n_departures = 0;
    for date in dates(theirs).into_iter().step_by(5) {
        for stop in ours.stops() {
            let mine = board(ours, stop.id, date);
            n_departures += mine.len();
            assert_eq!(mine, board(theirs, stop.id, date), "{} on {date}", stop.id);
        }
    }
    assert!(n_departures > 1_000, "too few departures: {n_departures}");
}

#[test]
fn the_airport_train_is_equal_in_netex_and_gtfs() {
    check_pair("entur-flt.zip");
}

#[test]
fn the_gjovik_line_is_equal_in_netex_and_gtfs() {
    check_pair("entur-gjb.zip");
}
