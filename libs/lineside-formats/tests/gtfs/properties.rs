//! Properties of any input: no bytes cause a panic, and the order of rows does not matter.

use std::io::Cursor;

use jiff::civil::date;
use lineside_formats::gtfs::{self, DatasetLimits, TextFiles, Timetable, ZipFiles, fields::FILES};
use proptest::prelude::*;

use super::TOWN;

/// Calls all queries of a timetable.
fn ask(timetable: &Timetable) -> usize {
    let mut n_answers = timetable.memory_bytes() + timetable.agencies().len();
    let noon = timetable.service_time_to_unix(date(2024, 6, 3), 12 * 3_600);
    for stop in timetable.stops() {
        n_answers +=
            timetable.departures_from_stop(stop.idx, noon - 86_400, noon + 86_400, 40).len();
        n_answers += timetable.routes_at_stop(stop.idx).count()
            + timetable.find_stop(stop.id).map_or(0, |i| i.get());
    }
    for route in timetable.routes() {
        n_answers +=
            timetable.route_map_lines(route.idx).len() + timetable.route_stops(route.idx).len();
        n_answers += route.display_name().len();
    }
    for trip in timetable.trips() {
        n_answers += timetable.trip_stop_times(trip.idx).filter(|call| call.interpolated).count();
        n_answers += timetable.frequencies_of_trip(trip.idx).len();
    }
    for shape in timetable.shapes() {
        n_answers += timetable.shape_points(shape).len();
    }
    n_answers + timetable.active_trips_between(noon - 86_400, noon + 86_400).len()
}

fn load_and_ask(mut files: TextFiles) {
    if let Ok((timetable, _)) = gtfs::load_timetable(&mut files, &DatasetLimits::default()) {
        ask(&timetable);
    }
}

/// Returns cells that are valid in some column, or in none.
fn cells() -> impl Strategy<Value = String> {
    let known = [
        "",
        "0",
        "1",
        "2",
        "3",
        "4",
        "a",
        "b",
        "c",
        "-1",
        "70000",
        "99999999999",
        "1.5",
        "59.9",
        "10.7",
        "08:00:00",
        "8:5:0",
        "25:00:00",
        "200:00:00",
        "999:59:59",
        "20240603",
        "20240101",
        "20241231",
        "00000000",
        "AA00FF",
        "Europe/Oslo",
        "https://a.example",
        "\"x\ny\"",
        "\"",
        "\"\"\"",
        " ",
        "\u{0}",
        "é",
        "nan",
        "1e300",
    ];
    prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,8}"]
}

/// Returns a table of the reference with some of its columns and random cells.
fn tables() -> impl Strategy<Value = (&'static str, String)> {
    let names = [
        "stops.txt",
        "routes.txt",
        "trips.txt",
        "stop_times.txt",
        "calendar.txt",
        "calendar_dates.txt",
    ];
    let more = [
        "agency.txt",
        "shapes.txt",
        "frequencies.txt",
        "feed_info.txt",
        "transfers.txt",
        "fare_products.txt",
    ];
    prop::sample::select([names, more].concat()).prop_flat_map(|name| {
        let spec = FILES.iter().find(|file| file.name == name).unwrap();
        let fields: Vec<&str> = spec.fields.iter().map(|field| field.name).collect();
        let n_fields = fields.len();
        let rows = prop::collection::vec(prop::collection::vec(cells(), n_fields), 0..12);
        (prop::sample::subsequence(fields, n_fields.saturating_sub(3)..=n_fields), rows).prop_map(
            move |(header, rows)| {
                let lines = rows.iter().map(|row| row[..header.len()].join(","));
                (
                    name,
                    std::iter::once(header.join(",")).chain(lines).collect::<Vec<_>>().join("\n"),
                )
            },
        )
    })
}

fn shuffled(name: &'static str, header: &str, rows: &[String]) -> TextFiles {
    base().with_file(name, format!("{header}\n{}\n", rows.join("\n")))
}

fn base() -> TextFiles {
    let shapes =
        "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\na,59.9,10.7,1\na,59.8,10.8,2\n";
    TextFiles::from_sections(TOWN)
        .with_file(
            "trips.txt",
            "route_id,service_id,trip_id,shape_id\nr1,week,out,a\nr1,week,back,b\n",
        )
        .with_file("shapes.txt", shapes)
}

/// Describes the part of a timetable that does not depend on the order of rows.
fn describe(timetable: &Timetable) -> String {
    let mut text = String::new();
    for trip in timetable.trips() {
        text += &format!("{} {:?}\n", trip.id, timetable.trip_start_time(trip.idx));
        for call in timetable.trip_stop_times(trip.idx) {
            text += &format!("  {} {call:?}\n", timetable.stop(call.stop).id);
        }
    }
    let mut shapes: Vec<String> = timetable
        .shapes()
        .map(|shape| {
            format!(
                "{} {:?}\n",
                timetable.shape_id(shape),
                timetable.shape_points(shape).collect::<Vec<_>>()
            )
        })
        .collect();
    shapes.sort();
    text + &shapes.concat()
}

/// Returns stop times of two trips with distinct sequence numbers, some without times, ordered by trip and number.
fn stop_time_rows() -> impl Strategy<Value = Vec<String>> {
    let call =
        (any::<bool>(), prop::sample::select(vec!["harbor", "center:1", "center:2"]), 0_u32..2_000);
    prop::collection::vec(call, 1..16).prop_map(|calls| {
        let row = |trip: &str| {
            let trip = trip.to_owned();
            let calls = calls.clone();
            (0..calls.len()).map(move |at| {
                let (timed, stop, distance) = calls[at];
                let time = if timed { format!("08:{at:02}:00") } else { String::new() };
                format!("{trip},{time},{time},{stop},{at},{}", distance + at as u32 * 500)
            })
        };
        row("out").chain(row("back")).collect()
    })
}

proptest! {
    #[test]
    fn loading_any_bytes_as_a_zip_fails_without_panicking(bytes: Vec<u8>) {
        prop_assert!(ZipFiles::new(Cursor::new(bytes), &DatasetLimits::default()).is_err());
    }

    #[test]
    fn loading_any_tables_does_not_panic(tables in prop::collection::vec(tables(), 1..5)) {
        load_and_ask(tables.into_iter().fold(base(), |files, (name, text)| files.with_file(name, text)));
    }

    #[test]
    fn loading_any_bytes_as_a_table_does_not_panic(name in 0..FILES.len(), bytes: Vec<u8>) {
        load_and_ask(base().with_file(FILES[name].name, bytes));
    }

    #[test]
    fn loading_a_feed_with_changed_bytes_does_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut text = TOWN.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        load_and_ask(TextFiles::from_sections(&String::from_utf8_lossy(&text)));
    }

    #[test]
    fn the_order_of_stop_time_rows_does_not_matter(
        (rows, mixed) in stop_time_rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
    ) {
        let header = "trip_id,arrival_time,departure_time,stop_id,stop_sequence,shape_dist_traveled";
        let load = |rows: &[String]| {
            gtfs::load_timetable(&mut shuffled("stop_times.txt", header, rows), &DatasetLimits::default()).unwrap()
        };
        let ((sorted, sorted_problems), (mixed, mixed_problems)) = (load(&rows), load(&mixed));
        prop_assert_eq!(describe(&mixed), describe(&sorted));
        prop_assert_eq!(mixed_problems.total_count(), sorted_problems.total_count());
        prop_assert_eq!(mixed.row_counts(), sorted.row_counts());
    }

    #[test]
    fn the_order_of_shape_points_does_not_matter(
        mixed in Just((0..20).collect::<Vec<u32>>()).prop_shuffle(),
    ) {
        let header = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence";
        let row = |n: u32| format!("{},59.{n},10.{n},{}", ["a", "b"][n as usize % 2], n / 2);
        let load = |numbers: &mut dyn Iterator<Item = u32>| {
            let rows: Vec<String> = numbers.map(row).collect();
            gtfs::load_timetable(&mut shuffled("shapes.txt", header, &rows), &DatasetLimits::default()).unwrap().0
        };
        prop_assert_eq!(describe(&load(&mut mixed.into_iter())), describe(&load(&mut (0..20))));
    }
}
