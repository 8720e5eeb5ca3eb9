//! What is written is read back: by the loader, by `csv`, and by `gtfs-structures`.

use std::io::{Cursor, Read};

use lineside_formats::gtfs::{
    self, Files, Limits, MemoryTables, Tables, Timetable, ZipFiles, ZipTables,
};
use proptest::prelude::*;

use super::{load_sound, town};

/// The name of a table, its columns, its rows.
type Table = (&'static str, Vec<String>, Vec<Vec<String>>);

/// The town's tables as rows, read by `csv`.
fn rows_of_town() -> Vec<Table> {
    let mut files = town();
    let names = gtfs::fields::FILES.iter().map(|spec| spec.name);
    let mut tables = Vec::new();
    for name in names {
        let Some(reader) = files.open(name).unwrap() else { continue };
        let mut reader = csv::Reader::from_reader(reader);
        let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let header = cells(reader.headers().unwrap());
        tables.push((name, header, reader.records().map(|row| cells(&row.unwrap())).collect()));
    }
    tables
}

fn write(tables: &[Table], to: &mut dyn Tables) {
    fn texts(cells: &[String]) -> Vec<&str> {
        cells.iter().map(String::as_str).collect()
    }
    for (name, columns, rows) in tables {
        to.begin(name, &texts(columns)).unwrap();
        for row in rows {
            to.row(&texts(row)).unwrap();
        }
    }
}

fn zip_of(tables: &[Table]) -> Vec<u8> {
    let mut zip = ZipTables::new(Cursor::new(Vec::new()));
    write(tables, &mut zip);
    zip.finish().unwrap().into_inner()
}

/// What a timetable says, row by row. Its tables of ids are hashed with chance, so they are not compared.
fn describe(timetable: &Timetable) -> String {
    let mut said = vec![format!("{:?}", timetable.row_counts())];
    said.extend(timetable.agencies().map(|agency| format!("{agency:?}")));
    said.extend(timetable.stops().map(|stop| format!("{stop:?}")));
    said.extend(timetable.routes().map(|route| format!("{route:?}")));
    for trip in timetable.trips() {
        said.push(format!("{trip:?} {}", timetable.service_id(trip.service)));
        said.extend(timetable.stop_times(trip.idx).map(|call| format!("{call:?}")));
    }
    said.join("\n")
}

#[test]
fn a_written_zip_loads_as_the_town_that_it_was() {
    let before = load_sound(town());
    let limits = Limits::default();
    let bytes = zip_of(&rows_of_town());
    let mut files = ZipFiles::new(Cursor::new(&bytes), &limits).unwrap();
    let (after, problems) = gtfs::load(&mut files, &limits).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.kept());
    assert_eq!(describe(&before), describe(&after));
}

#[test]
fn others_read_it_too() {
    let bytes = zip_of(&rows_of_town());
    let theirs = gtfs_structures::RawGtfs::from_reader(Cursor::new(bytes)).unwrap();
    assert_eq!(theirs.trips.unwrap().len(), 2);
    assert_eq!(theirs.stop_times.unwrap().len(), 4);
    assert_eq!(theirs.routes.unwrap()[0].long_name.as_deref(), Some("Center – Harbor"));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    assert_eq!(zip_of(&rows_of_town()), zip_of(&rows_of_town()));
}

#[test]
fn tables_in_memory_are_files() {
    let mut tables = MemoryTables::new();
    write(&rows_of_town(), &mut tables);
    let (timetable, problems) = gtfs::load(&mut tables, &Limits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.kept());
    assert_eq!(describe(&load_sound(town())), describe(&timetable));
}

proptest! {
    #[test]
    fn cells_of_any_text_are_read_back(rows in prop::collection::vec(prop::collection::vec("\\PC{0,12}", 3), 1..20)) {
        let mut tables = MemoryTables::new();
        tables.begin("stops.txt", &["stop_id", "stop_name", "stop_desc"]).unwrap();
        for row in &rows {
            tables.row(&["x", &row[0], &row[1]]).unwrap();
        }
        let mut bytes = Vec::new();
        tables.open("stops.txt").unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let read: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
        prop_assert_eq!(read.len(), rows.len());
        for (row, record) in rows.iter().zip(&read) {
            prop_assert_eq!([row[0].trim(), row[1].trim()], [&record[1], &record[2]]);
        }
    }
}
