//! Compares the memory that checks of schedules take with the estimate.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fmt::Write as _, process::Command};

use jiff::civil::date;
use lineside_formats::gtfs::fields::{FieldKind, FileSpec, find_file_spec};
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::{InMemoryFiles, estimate_max_memory},
    rules::{gtfs::validate_schedule, gtfs_rt::ScheduleIndex},
};

/// Just above seven eighths of a power of two, after which hash tables have just grown.
const ROWS: usize = 230_000;
/// The memory of a check apart from rows.
const FIXED: u64 = 4 << 20;

/// Returns a short text that is unique to the row.
fn short(row: usize) -> String {
    let signs = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut text = String::new();
    let mut rest = row;
    while rest > 0 || text.is_empty() {
        text.push(char::from(signs[rest % signs.len()]));
        rest /= signs.len();
    }
    text
}

fn cell(kind: FieldKind, row: usize) -> String {
    match kind {
        FieldKind::Url => format!("http://a.de/{}", short(row)),
        FieldKind::Email => format!("{}@a.de", short(row)),
        FieldKind::Phone => row.to_string(),
        FieldKind::Color => format!("{row:06X}"),
        FieldKind::Date => "20260101".to_owned(),
        FieldKind::Time | FieldKind::LocalTime => "8:00:00".to_owned(),
        FieldKind::Latitude | FieldKind::Longitude => (row % 80 + 1).to_string(),
        FieldKind::Float(_) | FieldKind::Integer(_) | FieldKind::Enum(_) | FieldKind::Amount => {
            "1".to_owned()
        }
        FieldKind::RouteType => "3".to_owned(),
        FieldKind::Currency => "EUR".to_owned(),
        FieldKind::Language => "de".to_owned(),
        FieldKind::Timezone => "UTC".to_owned(),
        FieldKind::Id | FieldKind::Ref(_) | FieldKind::Text => short(row),
    }
}

/// Returns a file with these columns, in which all texts are distinct.
fn file(spec: &FileSpec, columns: &[&str]) -> String {
    let mut text = columns.join(",");
    for row in 0..ROWS {
        for (at, name) in columns.iter().enumerate() {
            let field = spec.find_field_spec(name).unwrap();
            let end = if at == 0 { '\n' } else { ',' };
            write!(text, "{end}{}", cell(field.kind, row)).unwrap();
        }
    }
    text
}

/// Returns a memory value of this process, in bytes.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Returns a schedule of one file, in one of the shapes that take the most memory.
fn schedule(shape: &str) -> (&'static str, String) {
    let some =
        |name: &'static str, columns: &[&str]| (name, file(find_file_spec(name).unwrap(), columns));
    let all = |name: &'static str| {
        let fields = find_file_spec(name).unwrap().fields;
        some(name, &fields.iter().map(|field| field.name).collect::<Vec<_>>())
    };
    let twice = |name: &'static str| {
        let fields = find_file_spec(name).unwrap().fields;
        let names = fields.iter().chain(fields.first()).map(|field| field.name);
        some(name, &names.collect::<Vec<_>>())
    };
    match shape {
        "stops with all" => all("stops.txt"),
        "agencies with all" => all("agency.txt"),
        "trips with all" => all("trips.txt"),
        "stops with an id" => some("stops.txt", &["stop_id"]),
        "groups with an id" => some("location_groups.txt", &["location_group_id"]),
        "days" => some("calendar_dates.txt", &["service_id", "date", "exception_type"]),
        "one trip" => {
            ("stop_times.txt", format!("trip_id,stop_sequence\n{}", "1,1\n".repeat(4 * ROWS)))
        }
        // Only real-time rules accept such a header.
        "stops with a column twice" => twice("stops.txt"),
        "trips with a column twice" => twice("trips.txt"),
        "times with a column twice" => twice("stop_times.txt"),
        "trips with an id" => some("trips.txt", &["trip_id"]),
        "a zone" => ("locations.geojson", zone()),
        _ => panic!("unknown shape {shape:?}"),
    }
}

/// Shapes for rules over schedules.
const SCHEDULES: [&str; 8] = [
    "stops with all",
    "agencies with all",
    "trips with all",
    "stops with an id",
    "groups with an id",
    "days",
    "one trip",
    "a zone",
];

/// Shapes for the schedule index of messages.
const TIMETABLES: [&str; 7] = [
    "stops with all",
    "trips with all",
    "one trip",
    "stops with a column twice",
    "trips with a column twice",
    "times with a column twice",
    "trips with an id",
];

/// Returns a zone of many points.
fn zone() -> String {
    let points: String = (0..ROWS).map(|n| format!(",[{},{}]", n % 80, n % 60)).collect();
    format!(
        r#"{{"type":"FeatureCollection","features":[{{"id":"a","type":"Feature","properties":{{}},
        "geometry":{{"type":"Polygon","coordinates":[[[0,0]{points}]]}}}}]}}"#
    )
}

/// Validates a schedule, or prepares it for messages. Returns the peak memory and the estimate.
fn measure_memory(shape: &str, for_messages: bool) -> (u64, u64) {
    let (name, text) = schedule(shape);
    let size = text.len() as u64;
    let source = InMemoryFiles::default().with_file(name, text);
    let estimate = estimate_max_memory(&source, name, size).unwrap().unwrap();
    let context = ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };
    let before = memory("VmRSS:");
    if for_messages {
        drop(ScheduleIndex::read_and_index_schedule(&source, &context).unwrap());
    } else {
        drop(validate_schedule(&source, &context, &mut Notices::new(1)).unwrap());
    }
    (memory("VmHWM:").saturating_sub(before), estimate)
}

/// The variable with the shape, for a test that runs itself in another process.
const SHAPE: &str = "LINESIDE_SHAPE";

/// Measures each schedule in a process of its own, because the peak is per process. Returns their output.
fn look_at_each(shapes: &[&str], for_messages: bool, test: &str) -> String {
    if let Ok(shape) = std::env::var(SHAPE) {
        let (took, estimate) = measure_memory(&shape, for_messages);
        assert!(took > FIXED, "{shape} is too small for a comparison");
        assert!(
            took <= estimate + FIXED,
            "{shape} needed {took} bytes; the estimate is {estimate}"
        );
        return format!("{shape}: {took} bytes; the estimate is {estimate}");
    }
    let mut all = String::new();
    for shape in shapes {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let ran =
            command.args(["--exact", test, "--nocapture"]).env(SHAPE, shape).output().unwrap();
        let output = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && output.contains("the estimate is"), "{output}");
        all += &output;
    }
    all
}

#[test]
fn a_validation_uses_no_more_memory_than_estimated() {
    println!(
        "{}",
        look_at_each(&SCHEDULES, false, "a_validation_uses_no_more_memory_than_estimated")
    );
}

#[test]
fn a_schedule_for_messages_uses_no_more_memory_than_estimated() {
    let test = "a_schedule_for_messages_uses_no_more_memory_than_estimated";
    println!("{}", look_at_each(&TIMETABLES, true, test));
}
