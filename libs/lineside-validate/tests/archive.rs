//! Tests of archives, and of inputs that are too large for a rule page.

use std::io::{Cursor, Write as _};

use jiff::civil::date;
use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::{InMemoryFiles, ScheduleFileSource, ZipFileSource},
    rules::{gtfs::validate_schedule, gtfs_rt::ScheduleIndex},
};

const CONTEXT: ValidationContext =
    ValidationContext { today: date(2026, 6, 15), country: None, threads: 2 };
const IN_MEMORY: &str = "memory is readable and writable";

fn total(source: &dyn ScheduleFileSource, code: &str) -> u64 {
    let mut notices = Notices::new(10);
    validate_schedule(source, &CONTEXT, &mut notices).expect(IN_MEMORY);
    notices.get(code).map_or(0, |found| found.total)
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).expect(IN_MEMORY);
        writer.write_all(text.as_bytes()).expect(IN_MEMORY);
    }
    writer.finish().expect(IN_MEMORY).into_inner()
}

#[test]
fn files_in_a_subdirectory_are_reported_and_not_read() {
    let nested = zip(&[("feed/stops.txt", "stop_id\nS1\n"), ("readme.txt", "hello")]);
    let source = ZipFileSource::new(&nested, &DatasetLimits::default()).unwrap();
    assert_eq!(total(&source, "invalid_input_files_in_subfolder"), 1);
    assert_eq!(total(&source, "missing_required_file"), 5);
    assert_eq!(total(&source, "unknown_file"), 1);
    let flat = zip(&[("stops.txt", "stop_id\nS1\n"), ("docs/readme.txt", "hello")]);
    let source = ZipFileSource::new(&flat, &DatasetLimits::default()).unwrap();
    assert_eq!(total(&source, "invalid_input_files_in_subfolder"), 0);
    assert_eq!(total(&source, "missing_required_file"), 4);
}

#[test]
fn messages_are_checked_against_a_schedule_in_a_folder() {
    let trips = "trip_id,route_id,service_id\nT1,R,S\n";
    let nested = zip(&[("feed/stops.txt", "stop_id\nS1\n"), ("feed/trips.txt", trips)]);
    let read = |bytes: &[u8]| {
        let source = ZipFileSource::open_with_any_folder(bytes, &DatasetLimits::default()).unwrap();
        let timetable = ScheduleIndex::read_and_index_schedule(&source, &CONTEXT).unwrap();
        timetable.trip_ids().has_trip_id("T1")
    };
    assert!(read(&nested));
    assert!(read(&zip(&[("stops.txt", "stop_id\nS1\n"), ("trips.txt", trips)])));
    let two = zip(&[("a/trips.txt", trips), ("b/trips.txt", trips)]);
    assert!(
        ZipFileSource::open_with_any_folder(&two, &DatasetLimits::default()).is_err(),
        "several files have this name"
    );
}

#[test]
fn backslashes_in_paths_are_folder_separators() {
    let nested = zip(&[(r"feed\stops.txt", "stop_id\nS1\n"), (r"feed\trips.txt", "trip_id\nT1\n")]);
    let source = ZipFileSource::new(&nested, &DatasetLimits::default()).unwrap();
    assert_eq!(total(&source, "invalid_input_files_in_subfolder"), 1);
    assert_eq!(total(&source, "unknown_file"), 0);
    let source = ZipFileSource::open_with_any_folder(&nested, &DatasetLimits::default()).unwrap();
    assert!(source.are_tables_in_folder());
    assert_eq!(source.list_files(), [("stops.txt".to_owned(), 11), ("trips.txt".to_owned(), 11)]);
}

#[test]
fn messages_are_checked_against_files_of_any_case() {
    let trips = "trip_id,route_id,service_id\nT1,R,S\n";
    let has = |files: &[(&str, &str)]| {
        let bytes = zip(files);
        let source =
            ZipFileSource::open_with_any_folder(&bytes, &DatasetLimits::default()).unwrap();
        ScheduleIndex::read_and_index_schedule(&source, &CONTEXT)
            .unwrap()
            .trip_ids()
            .has_trip_id("T1")
    };
    assert!(has(&[("stops.txt", "stop_id\n"), ("Trips.txt", trips)]));
    assert!(has(&[("Stops.txt", "stop_id\n"), ("Trips.txt", trips)]));
    assert!(has(&[("feed/stops.txt", "stop_id\n"), ("feed/TRIPS.txt", trips)]));
    // As rider apps read it.
    assert!(has(&[("Stops.txt", "stop_id\n"), ("feed/trips.txt", trips)]));
    assert!(!has(&[("stops.txt", "stop_id\n"), ("feed/trips.txt", trips)]));
}

#[test]
fn a_body_that_is_not_an_archive_is_refused() {
    for bytes in [&b""[..], b"stop_id\nS1\n", b"<html>", b"PK\x03\x04 and then nothing"] {
        assert!(ZipFileSource::new(bytes, &DatasetLimits::default()).is_err());
    }
}

#[test]
fn an_unclosed_quote_is_reported() {
    let row = format!("S1,\"{}\n", "x".repeat(2 << 20));
    let source =
        InMemoryFiles::default().with_file("stops.txt", format!("stop_id,stop_name\n{row}"));
    assert_eq!(total(&source, "csv_parsing_failed"), 1);
}

/// Returns a schedule with a block of `n` simultaneous trips, and a block of two if `with_small`.
fn blocks(n: usize, with_small: bool) -> InMemoryFiles {
    let mut trips = String::from("route_id,service_id,trip_id,block_id\n");
    let mut times = String::from("trip_id,arrival_time,departure_time,stop_id,stop_sequence\n");
    let small = ["X", "Y"].map(|id| (id.to_owned(), "small")).into_iter();
    let large = (0..n).map(|n| (format!("T{n}"), "large"));
    for (id, block) in large.chain(small.filter(|_| with_small)) {
        trips += &format!("R,S,{id},{block}\n");
        times += &format!("{id},08:00:00,08:00:00,A,1\n{id},09:00:00,09:00:00,B,2\n");
    }
    let calendar = "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
                    S,1,1,1,1,1,1,1,20260101,20261231\n";
    InMemoryFiles::default()
        .with_file("routes.txt", "route_id,route_short_name,route_type\nR,1,3\n")
        .with_file("trips.txt", trips)
        .with_file("stop_times.txt", times)
        .with_file("calendar.txt", calendar)
        .with_file("calendar_dates.txt", "service_id,date,exception_type\n")
}

#[test]
fn an_oversized_block_is_reported_and_hides_no_other() {
    let code = "block_trips_with_overlapping_stop_times";
    let counted = |n: usize, with_small: bool| {
        let mut notices = Notices::new(3);
        let result = validate_schedule(&blocks(n, with_small), &CONTEXT, &mut notices);
        let (_, faults) = result.expect(IN_MEMORY);
        let has_fault = faults.iter().any(|fault| fault.rule == code);
        (notices.get(code).map_or(0, |found| found.total), has_fault)
    };
    assert_eq!(counted(100, true), (100 * 99 / 2 + 1, false));
    let (large, has_fault) = counted(25_000, false);
    assert!(has_fault && large > 1_000_000, "{large}");
    assert_eq!(counted(25_000, true), (large + 1, true));
}

#[test]
fn many_findings_are_counted_and_a_few_are_sampled() {
    let rows: String = (0..100_000).map(|n| format!("T{n},x,y,z,w\n")).collect();
    let header = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n";
    let source = InMemoryFiles::default().with_file("stop_times.txt", format!("{header}{rows}"));
    let mut notices = Notices::new(10);
    validate_schedule(&source, &CONTEXT, &mut notices).unwrap();
    let found = notices.get("invalid_time").unwrap();
    assert_eq!((found.total, found.samples.len()), (200_000, 10));
}

#[test]
fn lines_that_begin_with_a_hash_are_comments() {
    let stops = "# a remark, with \"a quote\nstop_id,stop_lat,stop_lon\n#S1,x\nS2,59.9,10.7\nS2,59.9,10.7\n#";
    let source = InMemoryFiles::default().with_file("stops.txt", stops);
    let mut notices = Notices::new(10);
    validate_schedule(&source, &CONTEXT, &mut notices).unwrap();
    assert!(notices.get("invalid_row_length").is_none());
    let found = notices.get("duplicate_key").unwrap();
    assert_eq!(found.samples[0]["newCsvRowNumber"], 5);
}

#[test]
fn reading_stops_at_an_oversized_row() {
    for row in [format!("S1,{}", "é".repeat(4_097)), ",".repeat(512)] {
        let source = InMemoryFiles::default()
            .with_file("stops.txt", format!("stop_id,stop_name\n{row}\nx\n"));
        assert_eq!(total(&source, "csv_parsing_failed"), 1);
        assert_eq!(total(&source, "invalid_row_length"), 0);
    }
    let fits = format!("stop_id,stop_name\nS1,{}\n", "é".repeat(4_096));
    assert_eq!(
        total(&InMemoryFiles::default().with_file("stops.txt", fits), "csv_parsing_failed"),
        0
    );
}
