//! Runs the examples on the page of each GTFS rule as tests.
//!
//! A case is a `##` heading. Its blocks name files (```` ```csv stops.txt ````), which replace those of a small
//! schedule without faults; `Without: shapes.txt` removes a file, `Today: 2026-01-02` and `PhoneNumberingPlan: NO` set
//! the context. A `json` block lists the expected notices of the page's code, with the relevant fields; without such a
//! block, none are expected.

mod support;

use std::{fs, path::Path};

use jiff::civil::{Date, date};
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::{InMemoryFiles, ScheduleFileSource},
    notice::NoticeKind,
    rules::{
        gtfs::{file_of_notice_line_numbers, schedule_notice_kinds, validate_schedule},
        gtfs_rt,
    },
};
use serde_json::{Map, Value};

const BASE: &[(&str, &str)] = &[
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone,agency_lang\n\
         A1,North Lines,https://north.example,Europe/Oslo,en\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon\n\
         S1,Harbour Square,59.900,10.700\nS2,City Hall,59.910,10.720\nS3,Old Mill,59.920,10.740\n",
    ),
    (
        "routes.txt",
        "route_id,agency_id,route_short_name,route_long_name,route_type\n\
         R1,A1,1,Harbour to Mill,3\n",
    ),
    ("trips.txt", "route_id,service_id,trip_id,shape_id\nR1,W1,T1,H1\n"),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
         T1,08:00:00,08:00:00,S1,1\nT1,08:05:00,08:05:00,S2,2\nT1,08:10:00,08:10:00,S3,3\n",
    ),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
         W1,1,1,1,1,1,1,1,20260101,20261231\n",
    ),
    (
        "shapes.txt",
        "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\n\
         H1,59.900,10.700,1\nH1,59.910,10.720,2\nH1,59.920,10.740,3\n",
    ),
    (
        "feed_info.txt",
        "feed_publisher_name,feed_publisher_url,feed_lang,feed_start_date,feed_end_date,feed_version,feed_contact_email\n\
         North Lines,https://north.example,en,20260101,20261231,1,data@north.example\n",
    ),
];

const TODAY: Date = date(2026, 6, 15);

/// Codes that no page can demonstrate. `tests/archive.rs` does, except for a billion rows.
const TOO_LARGE: [&str; 3] =
    ["csv_parsing_failed", "invalid_input_files_in_subfolder", "too_many_rows"];

struct Case {
    heading: String,
    source: InMemoryFiles,
    today: Date,
    country: Option<[u8; 2]>,
    expected: Vec<Value>,
}

fn base() -> InMemoryFiles {
    BASE.iter().fold(InMemoryFiles::default(), |source, (name, text)| source.with_file(name, *text))
}

/// Parses the cases of a page.
fn cases(page: &str) -> Vec<Case> {
    let begin = |heading: &str| {
        let heading = heading.to_owned();
        Case { heading, source: base(), today: TODAY, country: None, expected: Vec::new() }
    };
    let block = |case: &mut Case, info: &str, text: &str| match info.split_once(' ') {
        Some((_, name)) => case.source = case.source.clone().with_file(name, unescaped(text)),
        None if info == "json" => {
            case.expected = serde_json::from_str(text).expect("the JSON is a list");
        }
        None => panic!("unknown block {info:?}"),
    };
    let line = |case: &mut Case, line: &str| match line.split_once(": ") {
        Some(("Without", names)) => {
            for name in names.split(", ") {
                case.source = case.source.clone().without_file(name);
            }
        }
        Some(("Today", today)) => case.today = today.parse().expect("a date"),
        Some(("Country", country)) => {
            case.country = Some(country.as_bytes().try_into().expect("two letters"));
        }
        _ => {}
    };
    support::cases(page, begin, block, line)
}

/// Decodes `\x..`, with which pages write bytes that an editor would hide or change.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.expect("two hexadecimal digits after \\x"));
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn check(kind: &NoticeKind) -> Result<(), String> {
    let cases = cases(kind.page);
    let expected: Vec<&[Value]> = cases.iter().map(|case| case.expected.as_slice()).collect();
    support::has_both(&expected, TOO_LARGE.contains(&kind.code))?;
    for case in &cases {
        let context = ValidationContext { today: case.today, country: case.country, threads: 2 };
        let mut notices = Notices::new(100);
        let (_, errors) = validate_schedule(&case.source, &context, &mut notices)
            .map_err(|error| format!("{}: {error}", case.heading))?;
        if !errors.is_empty() {
            return Err(format!("{}: {errors:?}", case.heading));
        }
        support::hold(kind, &case.heading, &case.expected, &notices)?;
        let rows = notices.get(kind.code).map_or(&[][..], |found| &found.samples);
        rows.iter().try_for_each(|row| is_where_it_is_said(kind, &case.source, row))?;
    }
    Ok(())
}

/// Checks that the file to which a kind's line numbers belong is present and has that line.
fn is_where_it_is_said(
    kind: &NoticeKind,
    source: &InMemoryFiles,
    row: &Map<String, Value>,
) -> Result<(), String> {
    let Some(file) = file_of_notice_line_numbers(kind) else { return Ok(()) };
    let lines = row.iter().filter(|(field, _)| field.to_lowercase().contains("csvrownumber"));
    let last = lines.filter_map(|(_, line)| line.as_u64()).max().unwrap_or_default();
    let mut text = String::new();
    source
        .read_file_with(file.file_name(), &mut |read| {
            text = read.and_then(|read| std::io::read_to_string(read).ok()).unwrap_or_default();
        })
        .map_err(|error| error.to_string())?;
    match (text.lines().count() as u64) < last {
        true => Err(format!("{} has no line {last}", file.file_name())),
        false => Ok(()),
    }
}

#[test]
fn every_page_matches_its_rule() {
    support::check_all(schedule_notice_kinds(), check);
}

#[test]
fn each_rule_has_one_page_and_each_field_is_described() {
    support::describe_all(schedule_notice_kinds(), "src/rules/gtfs");
}

#[test]
fn the_base_schedule_of_the_cases_is_valid() {
    let context = ValidationContext { today: TODAY, country: None, threads: 1 };
    let mut notices = Notices::new(10);
    validate_schedule(&base(), &context, &mut notices).unwrap();
    let found: Vec<_> = notices.iter().map(|found| (found.kind.code, &found.samples)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Returns the list of all kinds, as in the documentation.
fn list() -> String {
    let mut list = String::from(
        "# Rules for schedules and real time\n\n\
         The codes, severities and counts are those of the reference validators; there are [a few differences](differences.md).\n\
         The page of a code says what it means and how to fix it, and its examples are tests.\n\
         Other formats: [GBFS](gbfs.md), [SIRI](siri.md), [NeTEx](netex.md); [data that cannot be decoded](decoding.md).\n\n\
         ## Schedules\n\n",
    );
    rows(&mut list, "gtfs", schedule_notice_kinds().collect());
    let (words, numbered): (Vec<_>, Vec<_>) =
        gtfs_rt::realtime_notice_kinds().partition(|kind| kind.code.contains('_'));
    list.push_str("\n## Real time\n\nThe codes of the reference's real-time validator, for GTFS-Realtime.\n\n");
    rows(&mut list, "gtfs_rt", numbered);
    list.push_str(
        "\n## Real time, beyond the reference\n\n\
         Rules that the reference does not have: whether message and schedule match, how fresh each entity is, and where vehicles can be.\n\n",
    );
    rows(&mut list, "gtfs_rt", words);
    list
}

fn rows(list: &mut String, format: &str, mut kinds: Vec<&NoticeKind>) {
    list.push_str("| code | severity | what is wrong |\n|---|---|---|\n");
    let rules = "libs/lineside-validate/src/rules";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules").join(format);
    let mut families: Vec<_> =
        fs::read_dir(&folder).expect("a folder").map(|it| it.expect("an entry").path()).collect();
    families.retain(|path| path.is_dir());
    kinds.sort_by_key(|kind| kind.code);
    for kind in kinds {
        let page = format!("{}.md", kind.code);
        let family = families.iter().find(|family| family.join(&page).is_file());
        // Pages without a family are in the parent folder.
        let name = family.and_then(|family| family.file_name()?.to_str());
        let name = name.map_or(String::new(), |name| format!("{name}/"));
        let summary = kind.page_summary().replace('\n', " ").replace('|', "\\|");
        list.push_str(&format!(
            "| [`{}`](../../{rules}/{format}/{name}{page}) | {} | {summary} |\n",
            kind.code,
            kind.severity.severity_report_name().to_lowercase(),
        ));
    }
}

#[test]
fn the_documentation_lists_each_kind() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules/README.md");
    if std::env::var_os("LINESIDE_BLESS").is_some() {
        fs::write(&path, list()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == list(), "docs/rules/README.md is outdated; run `cargo xtask bless`");
}
