//! Written tables are read back by the loader, by `csv`, and by `gtfs-structures`.

use std::io::{Cursor, Read};

use lineside_formats::gtfs::{
    self, BoardingType, DatasetLimits, FileSet, InMemoryTables, StopTimeRow, TableWriter,
    Timetable, TimetableBuilder, ZipFiles, ZipTableWriter,
};
use proptest::prelude::*;

use super::{load_sound, town};

/// The name of a table, its columns and its rows.
type Table = (&'static str, Vec<String>, Vec<Vec<String>>);

/// Returns the town's tables as rows, read with `csv`.
fn rows_of_town() -> Vec<Table> {
    let mut files = town();
    let names = gtfs::fields::FILES.iter().map(|spec| spec.name);
    let mut tables = Vec::new();
    for name in names {
        let Some(reader) = files.open_file(name).unwrap() else { continue };
        let mut reader = csv::Reader::from_reader(reader);
        let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let header = cells(reader.headers().unwrap());
        tables.push((name, header, reader.records().map(|row| cells(&row.unwrap())).collect()));
    }
    tables
}

fn write(tables: &[Table], to: &mut dyn TableWriter) {
    fn texts(cells: &[String]) -> Vec<&str> {
        cells.iter().map(String::as_str).collect()
    }
    for (name, columns, rows) in tables {
        to.begin_table(name, &texts(columns)).unwrap();
        for row in rows {
            to.write_row(&texts(row)).unwrap();
        }
    }
}

fn zip_of(tables: &[Table]) -> Vec<u8> {
    let mut zip = ZipTableWriter::new(Cursor::new(Vec::new()));
    write(tables, &mut zip);
    zip.finish_archive().unwrap().into_inner()
}

/// Describes a timetable, row by row. Its hash tables have random seeds and are not compared.
fn describe(timetable: &Timetable) -> String {
    let mut lines = vec![format!("{:?}", timetable.row_counts())];
    lines.extend(timetable.agencies().map(|agency| format!("{agency:?}")));
    lines.extend(timetable.stops().map(|stop| format!("{stop:?}")));
    lines.extend(timetable.routes().map(|route| format!("{route:?}")));
    for trip in timetable.trips() {
        lines.push(format!("{trip:?} {}", timetable.service_id(trip.service)));
        lines.extend(timetable.trip_stop_times(trip.idx).map(|call| format!("{call:?}")));
    }
    lines.join("\n")
}

#[test]
fn a_written_zip_loads_as_the_same_timetable() {
    let before = load_sound(town());
    let limits = DatasetLimits::default();
    let bytes = zip_of(&rows_of_town());
    let mut files = ZipFiles::new(Cursor::new(&bytes), &limits).unwrap();
    let (after, problems) = gtfs::load_timetable(&mut files, &limits).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    assert_eq!(describe(&before), describe(&after));
}

#[test]
fn the_written_zip_is_read_by_gtfs_structures() {
    let bytes = zip_of(&rows_of_town());
    let theirs = gtfs_structures::RawGtfs::from_reader(Cursor::new(bytes)).unwrap();
    assert_eq!(theirs.trips.unwrap().len(), 2);
    assert_eq!(theirs.stop_times.unwrap().len(), 4);
    assert_eq!(theirs.routes.unwrap()[0].long_name.as_deref(), Some("Center – Harbor"));
}

#[test]
fn equal_rows_are_written_as_equal_bytes() {
    assert_eq!(zip_of(&rows_of_town()), zip_of(&rows_of_town()));
}

#[test]
fn tables_in_memory_load_like_files() {
    let mut tables = InMemoryTables::new();
    write(&rows_of_town(), &mut tables);
    let (timetable, problems) =
        gtfs::load_timetable(&mut tables, &DatasetLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    assert_eq!(describe(&load_sound(town())), describe(&timetable));
}

/// Returns rows of stop times, most of which have valid references.
fn any_row() -> impl Strategy<Value = StopTimeRow<'static>> {
    let one_of = |texts: &[&'static str]| prop::sample::select(texts.to_vec());
    // Missing, plausible, implausible and invalid times.
    let time = || {
        prop_oneof![
            1 => Just(None),
            6 => (0..90_000).prop_map(Some),
            1 => (600_000..3_700_000).prop_map(Some),
            1 => Just(Some(-60)),
        ]
    };
    let boarding = || {
        prop::sample::select(vec![
            BoardingType::Regular,
            BoardingType::None,
            BoardingType::AskDriver,
        ])
    };
    (
        one_of(&["out", "out", "back", "back", " back", "out\u{1}", "nobody's", "", " "]),
        time(),
        time(),
        one_of(&["harbor", "center:1", "center:2", "harbor ", "ha\trbor", "elsewhere", "", "\n"]),
        prop_oneof![8 => 0..12_u32, 1 => 60_000..70_000_u32],
        one_of(&[
            "",
            "",
            "Pier",
            "Pier ",
            "Pi\ner",
            "Harbor",
            "the \"old\" pier, by ferry",
            "Ålesund",
        ]),
        boarding(),
        boarding(),
    )
        .prop_map(
            |(trip_id, arrival, departure, stop_id, sequence, headsign, pickup, drop_off)| {
                StopTimeRow {
                    trip_id,
                    arrival,
                    departure,
                    stop_id,
                    sequence,
                    headsign,
                    pickup,
                    drop_off,
                }
            },
        )
}

/// Writes the town with these stop times.
fn write_town(rows: &[StopTimeRow<'_>], to: &mut dyn TableWriter) {
    let mut tables = rows_of_town();
    tables.retain(|(name, ..)| *name != "stop_times.txt");
    write(&tables, to);
    to.begin_table("stop_times.txt", &StopTimeRow::COLUMNS).unwrap();
    for row in rows {
        to.write_stop_time(row).unwrap();
    }
}

/// Checks that rows give the same timetable with and without text in between.
fn check_stop_times(rows: &[StopTimeRow<'_>], limits: &DatasetLimits) {
    let mut both = (InMemoryTables::new(), TimetableBuilder::new(limits.clone()));
    write_town(rows, &mut both);
    let (as_text, problems) = gtfs::load_timetable(&mut both.0, limits).unwrap();
    let (as_values, others) = both.1.build_timetable().unwrap();
    assert_eq!(describe(&as_text), describe(&as_values));
    assert_eq!(problems.retained_problems(), others.retained_problems());
    assert_eq!(
        problems.problem_counts().collect::<Vec<_>>(),
        others.problem_counts().collect::<Vec<_>>()
    );
}

#[test]
fn excess_stop_times_are_dropped_alike_from_values_and_text() {
    let row = StopTimeRow {
        trip_id: "out",
        stop_id: "harbor",
        departure: Some(60),
        ..StopTimeRow::default()
    };
    let rows: Vec<_> = (1..9).map(|sequence| StopTimeRow { sequence, ..row }).collect();
    check_stop_times(&rows, &DatasetLimits { rows: 5, ..DatasetLimits::default() });
}

#[test]
fn duplicate_stop_times_are_reported_alike_from_values_and_text() {
    let row =
        StopTimeRow { trip_id: "back", stop_id: "harbor", sequence: 3, ..StopTimeRow::default() };
    let rows = [60, 120, 180].map(|time| StopTimeRow { arrival: Some(time), ..row });
    check_stop_times(&rows, &DatasetLimits::default());
}

#[test]
fn stop_times_must_be_written_after_the_tables_that_they_refer_to() {
    let mut tables = TimetableBuilder::new(DatasetLimits::default());
    write_town(&[], &mut tables);
    assert!(tables.begin_table("trips.txt", &["trip_id"]).is_err());
    assert!(tables.begin_table("feed_info.txt", &["feed_lang"]).is_ok());
    let mut tables = TimetableBuilder::new(DatasetLimits::default());
    assert!(tables.write_stop_time(&StopTimeRow::default()).is_err());
    assert!(
        tables.begin_table("stop_times.txt", &StopTimeRow::COLUMNS).is_err(),
        "there are no trips"
    );
    assert!(TimetableBuilder::new(DatasetLimits::default()).build_timetable().is_err());
}

proptest! {
    #[test]
    fn stop_times_from_values_equal_those_from_text(rows in prop::collection::vec(any_row(), 0..40)) {
        // Each row has a sequence number of its own; another test covers duplicates.
        let numbered = (0..).zip(&rows);
        let rows: Vec<_> = numbered
            .map(|(at, row)| StopTimeRow { sequence: row.sequence * 64 + at, ..*row })
            .collect();
        check_stop_times(&rows, &DatasetLimits::default());
    }

    #[test]
    fn cells_of_any_text_round_trip(rows in prop::collection::vec(prop::collection::vec("\\PC{0,12}", 3), 1..20)) {
        let mut tables = InMemoryTables::new();
        tables.begin_table("stops.txt", &["stop_id", "stop_name", "stop_desc"]).unwrap();
        for row in &rows {
            tables.write_row(&["x", &row[0], &row[1]]).unwrap();
        }
        let mut bytes = Vec::new();
        tables.open_file("stops.txt").unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let read: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
        prop_assert_eq!(read.len(), rows.len());
        for (row, record) in rows.iter().zip(&read) {
            prop_assert_eq!([row[0].trim(), row[1].trim()], [&record[1], &record[2]]);
        }
    }
}
