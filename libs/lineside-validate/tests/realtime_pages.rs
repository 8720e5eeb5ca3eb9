//! Runs the examples on the page of each real-time rule as tests.
//!
//! A case is a `##` heading. ```` ```json message ```` is the message to be checked, in place of one without faults,
//! `previous` the message before it, and `other` a message of another feed, all in the JSON form of GTFS-Realtime. A
//! missing header is that of the message without faults, and `previous` is 30 seconds older; `history` lists the
//! creation and receive times of earlier messages. ```` ```csv stops.txt ```` replaces a file of the schedule, and
//! `before/stops.txt` a file of its previous version. `Now: 1767250010` sets the clock. A `json` block lists the
//! expected notices of the page's code, with the relevant fields; without such a block, none are expected.

mod support;

use jiff::civil::date;
use lineside_formats::gtfs_rt::{FeedMessageLimits, decode_json, proto::FeedMessage};
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::InMemoryFiles,
    notice::{NoticeKind, Severity},
    rules::gtfs_rt::{
        MessageHistory, MessageWithContext, OtherScheduleVersion, RealtimeRuleScope, ScheduleIndex,
        realtime_notice_kinds, validate_realtime_message, validate_realtime_while,
        validate_schedule_for_realtime,
    },
};
use prost::Message as _;
use serde_json::{Value, json};

/// T1 and T2 belong to one block, T3 to another route, T4 visits S1 twice, F1 runs about every ten minutes, and F2
/// exactly every ten minutes.
const SCHEDULE: &[(&str, &str)] = &[
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\n\
         A1,North Lines,https://north.example,Europe/Oslo\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n\
         S1,Harbour Square,59.900,10.700,,\nS2,City Hall,59.910,10.720,,\n\
         S3,Old Mill,59.920,10.740,,P1\nP1,Old Mill,59.920,10.740,1,\n",
    ),
    ("routes.txt", "route_id,agency_id,route_short_name,route_type\nR1,A1,1,3\nR2,A1,2,3\n"),
    (
        "trips.txt",
        "route_id,service_id,trip_id,direction_id,block_id,shape_id\n\
         R1,W1,T1,0,B1,H1\nR1,W1,T2,1,B1,H1\nR2,W1,T3,0,,\nR2,W1,T4,0,,\nR2,W1,F1,0,,\nR2,W1,F2,0,,\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
         T1,08:00:00,08:00:00,S1,1\nT1,,,S2,2\nT1,08:10:00,08:10:00,S3,3\n\
         T2,09:00:00,09:00:00,S3,1\nT2,09:10:00,09:10:00,S1,2\n\
         T3,10:00:00,10:00:00,S1,1\nT3,10:10:00,10:10:00,S3,2\n\
         T4,11:00:00,11:00:00,S1,1\nT4,11:05:00,11:05:00,S2,2\nT4,11:10:00,11:10:00,S1,3\n\
         F1,06:00:00,06:00:00,S1,1\nF1,06:10:00,06:10:00,S3,2\n\
         F2,06:00:00,06:00:00,S1,1\nF2,06:10:00,06:10:00,S3,2\n",
    ),
    (
        "frequencies.txt",
        "trip_id,start_time,end_time,headway_secs,exact_times\n\
         F1,06:00:00,20:00:00,600,0\nF2,06:00:00,20:00:00,600,1\n",
    ),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
         W1,1,1,1,1,1,1,1,20260101,20261231\n",
    ),
    (
        "shapes.txt",
        "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\n\
         H1,59.900,10.700,1\nH1,59.905,10.710,2\nH1,59.910,10.720,3\nH1,59.920,10.740,4\n",
    ),
];

/// The creation time of the message without faults: 2026-01-01, 07:46:40 in Oslo.
const MADE: i64 = 1_767_250_000;

const CONTEXT: ValidationContext =
    ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };

struct Case {
    heading: String,
    schedule: InMemoryFiles,
    previous_schedule: Option<InMemoryFiles>,
    message: Value,
    previous: Option<Value>,
    others: Vec<Value>,
    history: Vec<(u64, i64)>,
    now: i64,
    expected: Vec<Value>,
}

fn base() -> Case {
    let empty = InMemoryFiles::default();
    Case {
        heading: String::new(),
        schedule: SCHEDULE.iter().fold(empty, |source, (name, text)| source.with_file(name, *text)),
        message: json!({"entity": [
            {"id": "1", "trip_update": {
                "trip": {"trip_id": "T1", "route_id": "R1", "start_date": "20260101",
                    "start_time": "08:00:00", "direction_id": 0, "schedule_relationship": "SCHEDULED"},
                "vehicle": {"id": "V1"},
                "timestamp": MADE - 5,
                "stop_time_update": [
                    {"stop_sequence": 1, "stop_id": "S1", "departure": {"time": 1_767_250_860},
                        "schedule_relationship": "SCHEDULED"},
                    {"stop_sequence": 3, "stop_id": "S3", "arrival": {"delay": 60},
                        "schedule_relationship": "SCHEDULED"}
                ]
            }},
            {"id": "2", "vehicle": {
                "trip": {"trip_id": "T1", "route_id": "R1", "schedule_relationship": "SCHEDULED"},
                "vehicle": {"id": "V1"},
                "position": {"latitude": 59.901, "longitude": 10.702, "bearing": 45, "speed": 9.5},
                "stop_id": "S1",
                "timestamp": MADE - 5
            }},
            {"id": "3", "alert": {
                "active_period": [{"start": 1_767_240_000}],
                "informed_entity": [{"agency_id": "A1", "route_id": "R1"}, {"stop_id": "P1"}]
            }}
        ]}),
        previous_schedule: None,
        previous: None,
        others: Vec::new(),
        history: Vec::new(),
        now: MADE + 10,
        expected: Vec::new(),
    }
}

fn message(value: &Value, made: i64) -> FeedMessage {
    let mut value = value.clone();
    let version = json!({
        "gtfs_realtime_version": "2.0", "incrementality": "FULL_DATASET", "timestamp": made
    });
    value.as_object_mut().expect("an object").entry("header").or_insert(version);
    let text = serde_json::to_vec(&value).expect("JSON");
    let (message, problems) = decode_json(&text, &FeedMessageLimits::default()).expect("a message");
    assert!(problems.is_empty(), "{problems:?}");
    message
}

/// Parses the cases of a page.
fn cases(page: &str) -> Vec<Case> {
    let begin = |heading: &str| Case { heading: heading.to_owned(), ..base() };
    let line = |case: &mut Case, line: &str| {
        if let Some(now) = line.strip_prefix("Now: ") {
            case.now = now.trim().parse().expect("seconds since 1970");
        }
    };
    support::cases(page, begin, put_block, line)
}

fn put_block(case: &mut Case, info: &str, text: &str) {
    let value = || serde_json::from_str(text).expect("JSON");
    match info.split_once(' ') {
        Some(("csv", name)) if name.starts_with("before/") => {
            let name = name.trim_start_matches("before/");
            let previous_schedule =
                case.previous_schedule.take().unwrap_or_else(|| base().schedule);
            case.previous_schedule = Some(previous_schedule.with_file(name, text.as_bytes()));
        }
        Some(("csv", name)) => {
            case.schedule = case.schedule.clone().with_file(name, text.as_bytes());
        }
        Some(("json", "message")) => case.message = value(),
        Some(("json", "previous")) => case.previous = Some(value()),
        Some(("json", "other")) => case.others.push(value()),
        Some(("json", "history")) => {
            case.history = serde_json::from_str(text).expect("pairs of seconds");
        }
        None if info == "json" => {
            case.expected = serde_json::from_str(text).expect("the JSON is a list");
        }
        _ => panic!("unknown block {info:?}"),
    }
}

fn found(case: &Case) -> Notices {
    let timetable =
        ScheduleIndex::read_and_index_schedule(&case.schedule, &CONTEXT).expect("a schedule");
    let judged = message(&case.message, MADE);
    let previous = case.previous.as_ref().map(|value| message(value, MADE - 30));
    let others: Vec<FeedMessage> = case.others.iter().map(|value| message(value, MADE)).collect();
    let others: Vec<&FeedMessage> = others.iter().collect();
    let previous_schedule = case.previous_schedule.as_ref().map(|source| {
        ScheduleIndex::read_and_index_schedule(source, &CONTEXT).expect("a schedule").trip_ids()
    });
    let versions: Vec<OtherScheduleVersion<'_>> = previous_schedule
        .iter()
        .map(|trips| OtherScheduleVersion { name: "before", trips })
        .collect();
    let mut history = MessageHistory::default();
    for (made, received) in &case.history {
        let mut earlier = judged.clone();
        earlier.header.timestamp = Some(*made);
        history.add_message_times(&earlier, *received);
    }
    let subject = MessageWithContext::new(&judged, &timetable, case.now)
        .with_previous_message(previous.as_ref())
        .with_other_feed_messages(&others);
    let subject =
        subject.with_other_schedule_versions(&versions).with_message_history(Some(&history));
    let mut notices = Notices::new(100);
    let errors = validate_realtime_message(&subject, &CONTEXT, &mut notices);
    assert!(errors.is_empty(), "{errors:?}");
    validate_schedule_for_realtime(&timetable, &mut notices);
    notices
}

fn check(kind: &NoticeKind) -> Result<(), String> {
    let cases = cases(kind.page);
    let expected: Vec<&[Value]> = cases.iter().map(|case| case.expected.as_slice()).collect();
    support::has_both(&expected, false)?;
    cases
        .iter()
        .try_for_each(|case| support::hold(kind, &case.heading, &case.expected, &found(case)))
}

#[test]
fn every_page_matches_its_rule() {
    support::check_all(realtime_notice_kinds(), check);
}

#[test]
fn each_rule_has_one_page_and_each_field_is_described() {
    support::describe_all(realtime_notice_kinds(), "src/rules/gtfs_rt");
    for kind in realtime_notice_kinds() {
        // The reference validator's codes are a letter and a number; Lineside's own are words.
        let letter = if kind.severity == Severity::Error { 'E' } else { 'W' };
        let is_word = kind.code.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
        assert!(is_word || kind.code.starts_with(letter), "{}", kind.code);
    }
}

#[test]
fn an_empty_schedule_reports_unknown_references() {
    let notices = found(&Case { schedule: InMemoryFiles::default(), ..base() });
    let codes: Vec<_> = notices.iter().map(|found| (found.kind.code, found.total)).collect();
    assert_eq!(codes, [("E003", 2), ("E004", 2), ("E011", 4), ("E034", 1)]);
}

#[test]
fn without_a_schedule_only_independent_rules_report_findings() {
    let scope = RealtimeRuleScope { has_schedule: false, ..RealtimeRuleScope::default() };
    let timetable = ScheduleIndex::new_empty_index();
    let mut loud = Vec::new();
    for kind in realtime_notice_kinds() {
        for case in cases(kind.page) {
            let judged = message(&case.message, MADE);
            let previous = case.previous.as_ref().map(|value| message(value, MADE - 30));
            let others = case.others.iter().map(|value| message(value, MADE));
            let others: Vec<FeedMessage> = others.collect();
            let others: Vec<&FeedMessage> = others.iter().collect();
            let mut history = MessageHistory::default();
            for (made, received) in &case.history {
                let mut earlier = judged.clone();
                earlier.header.timestamp = Some(*made);
                history.add_message_times(&earlier, *received);
            }
            let subject = MessageWithContext::new(&judged, &timetable, case.now)
                .with_previous_message(previous.as_ref());
            let subject = subject
                .with_other_feed_messages(&others)
                .with_message_history(Some(&history))
                .with_rule_scope(scope);
            let mut notices = Notices::new(1);
            assert!(validate_realtime_message(&subject, &CONTEXT, &mut notices).is_empty());
            assert!(
                notices.iter().all(|found| scope.applies_to_code(found.kind.code)),
                "{notices:?}"
            );
            let is_reported = notices.get(kind.code).is_some();
            assert!(!is_reported || !case.expected.is_empty(), "{} in {}", kind.code, case.heading);
            if is_reported {
                loud.push(kind.code);
            }
        }
    }
    for kind in realtime_notice_kinds().filter(|kind| scope.applies_to_code(kind.code)) {
        assert!(loud.contains(&kind.code), "no page reports {}", kind.code);
    }
}

#[test]
fn validating_a_damaged_message_does_not_panic() {
    let timetable = ScheduleIndex::read_and_index_schedule(&base().schedule, &CONTEXT).unwrap();
    let pages = realtime_notice_kinds().flat_map(|kind| cases(kind.page));
    let messages: Vec<FeedMessage> = pages.map(|case| message(&case.message, MADE)).collect();
    let mut random = fastrand::Rng::with_seed(7);
    let mut previous: Option<FeedMessage> = None;
    for _ in 0..5_000 {
        let mut bytes = messages[random.usize(..messages.len())].encode_to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        let Ok(broken) = FeedMessage::decode(bytes.as_slice()) else { continue };
        let others: Vec<&FeedMessage> = previous.iter().collect();
        let subject = MessageWithContext::new(&broken, &timetable, MADE);
        let subject =
            subject.with_previous_message(previous.as_ref()).with_other_feed_messages(&others);
        let errors = validate_realtime_message(&subject, &CONTEXT, &mut Notices::new(10));
        assert!(errors.is_empty(), "{errors:?} in {broken:?}");
        previous = Some(broken);
    }
}

#[test]
fn an_interrupted_validation_is_marked_as_cut_short() {
    let timetable = ScheduleIndex::read_and_index_schedule(&base().schedule, &CONTEXT).unwrap();
    let broken = message(&json!({"entity": [{"id": "1", "trip_update": {"trip": {}}}]}), MADE);
    let subject = MessageWithContext::new(&broken, &timetable, MADE);
    let codes = |n_checks: usize| {
        let left = std::cell::Cell::new(n_checks);
        let should_continue = || left.replace(left.get().saturating_sub(1)) > 0;
        let mut notices = Notices::new(10);
        let verdict = validate_realtime_while(&subject, &mut notices, &should_continue);
        assert!(verdict.errors.is_empty());
        (notices.iter().count(), verdict.is_cut_short)
    };
    let (whole, is_cut_short) = codes(1_000);
    assert!(!is_cut_short && whole > 1);
    assert_eq!(codes(0), (0, true));
    let (some, is_cut_short) = codes(6);
    assert!(is_cut_short && some < whole, "{some} of {whole}");
}

#[test]
fn the_base_message_of_the_cases_is_valid() {
    let notices = found(&base());
    let found: Vec<_> = notices.iter().map(|found| (found.kind.code, &found.samples)).collect();
    assert!(found.is_empty(), "{found:?}");
}
