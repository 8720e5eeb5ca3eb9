//! Tests that our own rules find nothing in the demo city's feeds, over most of an hour and at its ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::DatasetLimits;
use lineside_formats::siri::{
    self, EstimatedTimetableSubscriptionRequest, MessagePayload, SiriMessage,
    SituationExchangeSubscriptionRequest, SubscriptionRequest,
    VehicleMonitoringSubscriptionRequest,
};
use lineside_formats::{Format, gtfs_rt, sniff_format};
use lineside_sim::{City, CityFeed, CityOptions, FaultPlan, FeedOrigin, ReplyBody};
use lineside_sync::UnixMillis;
use lineside_validate::gtfs::{InMemoryFiles, ZipFileSource};
use lineside_validate::rules::gtfs_rt::{
    MessageWithContext, RealtimeRuleScope, ScheduleIndex, validate_realtime_message,
};
use lineside_validate::{NoticeKind, Notices, ValidationContext};

use super::*;

/// 07:30 of a Wednesday, in UTC.
const START: UnixMillis = UnixMillis(1_781_681_400_000);
/// Seconds between two checks, and seconds from the first check to the last.
const STEP_S: i64 = 110;
const LENGTH_S: i64 = 3_300;
/// Seconds from one poll of messages to the next.
const POLL_S: i64 = 15;
/// Warnings that the city provokes on purpose, as many producers do: predictions for trips whose vehicle is not known
/// (yet), trips by headway without a place in a timetable, and updates of a trip that are older than 90 seconds. None
/// is an error.
const EXPECTED_CODES: [&str; 5] = ["W002", "W003", "W005", "W009", "stale_trip_update"];
/// The address that the city would deliver subscriptions to.
const INBOX: &str = "http://127.0.0.1:9/inbox";
const HEARTBEAT: &[u8] = b"<HeartbeatNotification";

fn origin() -> FeedOrigin {
    let options = CityOptions { vehicles: 120, ..CityOptions::with_start(START) };
    FeedOrigin::new(Arc::new(City::generate_city(7, options)), FaultPlan::default())
}

fn instants() -> impl Iterator<Item = UnixMillis> {
    (0..=LENGTH_S / STEP_S).map(|step| UnixMillis(START.0 + step * STEP_S * 1_000))
}

fn feed_bytes(origin: &FeedOrigin, path: &str, now: UnixMillis) -> Bytes {
    let reply = origin.respond_to_path(path, now, None, None).unwrap();
    match reply.body {
        ReplyBody::Bytes(bytes) => bytes,
        ReplyBody::Hang => panic!("{path} hangs"),
    }
}

fn check_plan(origin: &FeedOrigin, now: UnixMillis) -> CheckPlan {
    let at = Timestamp::from_millisecond(now.0).unwrap();
    let zone = TimeZone::get(origin.city().time_zone()).unwrap();
    CheckPlan {
        input: "demo".to_owned(),
        today: at.to_zoned(zone).date(),
        at: at.to_string(),
        now: now.unix_seconds(),
        // Only this check lacks the schedule.
        ignored: vec![codes::SCHEDULE_NOT_GIVEN.to_owned()],
        ..CheckPlan::for_tests()
    }
}

/// The findings by code, each with an example.
type FindingExamples = BTreeMap<String, String>;

fn add_findings(found: &mut FindingExamples, checked: &CheckReport) {
    assert!(checked.errors.is_empty(), "{:?}", checked.errors);
    for it in &checked.findings {
        let example = format!("{} times, as {:?}", it.total, it.samples.first());
        found.entry(it.code.clone()).or_insert(example);
    }
}

fn check_body(
    origin: &FeedOrigin,
    body: &Bytes,
    now: UnixMillis,
    files: GbfsSystemCheckFiles,
) -> CheckReport {
    let plan = CheckPlan { files, ..check_plan(origin, now) };
    check_input(body, plan, &CheckReadProgress::default(), &|| 0.0).unwrap()
}

fn is_expected_finding(kind: &NoticeKind) -> bool {
    EXPECTED_CODES.contains(&kind.code) && kind.severity < Severity::Error
}

#[test]
fn the_demo_schedules_have_no_findings() {
    let origin = origin();
    for feed in [CityFeed::City, CityFeed::Twin] {
        let body = feed_bytes(&origin, feed.file_name(), START);
        let mut found = FindingExamples::new();
        let checked = check_body(&origin, &body, START, GbfsSystemCheckFiles::default());
        assert_eq!(checked.format, Format::Gtfs);
        add_findings(&mut found, &checked);
        assert_eq!(found, FindingExamples::new(), "{}", feed.as_str());
        assert_eq!(checked.unread, []);
    }
}

#[test]
fn the_demo_messages_have_only_the_expected_findings() {
    let origin = origin();
    let zip = feed_bytes(&origin, CityFeed::City.file_name(), START);
    let source = ZipFileSource::new(&zip, &DatasetLimits::default()).unwrap();
    let context =
        ValidationContext { today: check_plan(&origin, START).today, country: None, threads: 1 };
    let timetable = ScheduleIndex::read_and_index_schedule(&source, &context).unwrap();
    let scope = RealtimeRuleScope { has_schedule: true, ..RealtimeRuleScope::default() };
    let read = |feed: CityFeed, now: UnixMillis| {
        let body = feed_bytes(&origin, feed.file_name(), now);
        let (message, problems) =
            gtfs_rt::decode_feed_message(body, &gtfs_rt::FeedMessageLimits::default()).unwrap();
        assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
        message
    };
    let feeds = [CityFeed::Vehicles, CityFeed::Trips, CityFeed::Alerts];
    let mut found = FindingExamples::new();
    for now in instants() {
        // Each message follows the previous poll and is validated with the other feeds, as the server does.
        let before = feeds.map(|feed| read(feed, UnixMillis(now.0 - POLL_S * 1_000)));
        let messages = feeds.map(|feed| read(feed, now));
        for (at, feed) in feeds.into_iter().enumerate() {
            let others: Vec<_> = messages.iter().enumerate().filter(|(it, _)| *it != at).collect();
            let others: Vec<_> = others.into_iter().map(|(_, message)| message).collect();
            let subject = MessageWithContext::new(&messages[at], &timetable, now.unix_seconds())
                .with_rule_scope(scope);
            let subject =
                subject.with_previous_message(Some(&before[at])).with_other_feed_messages(&others);
            let mut notices = Notices::new(1);
            assert_eq!(validate_realtime_message(&subject, &context, &mut notices), []);
            for it in notices.iter().filter(|it| !is_expected_finding(it.kind)) {
                let example = format!("{} times, as {:?}", it.total, it.samples.first());
                let code = format!("{} {}", feed.as_str(), it.kind.code);
                found.entry(code).or_insert(example);
            }
        }
    }
    assert_eq!(found, FindingExamples::new());
}

#[test]
fn the_demo_siri_responses_have_no_findings() {
    let origin = origin();
    for feed in [CityFeed::TwinTimetables, CityFeed::TwinVehicles, CityFeed::TwinSituations] {
        let mut found = FindingExamples::new();
        for now in instants() {
            let body = feed_bytes(&origin, feed.file_name(), now);
            assert_eq!(sniff_format(&body), Some(Format::Siri));
            add_findings(
                &mut found,
                &check_body(&origin, &body, now, GbfsSystemCheckFiles::default()),
            );
        }
        assert_eq!(found, FindingExamples::new(), "{}", feed.as_str());
    }
}

#[test]
fn the_demo_siri_subscription_deliveries_have_no_findings() {
    let origin = origin();
    let request = SubscriptionRequest {
        requestor_ref: Some("me".into()),
        consumer_address: Some(INBOX.into()),
        estimated_timetables: vec![EstimatedTimetableSubscriptionRequest {
            subscription_identifier: Some("et".into()),
            ..Default::default()
        }],
        vehicle_monitorings: vec![VehicleMonitoringSubscriptionRequest {
            subscription_identifier: Some("vm".into()),
            ..Default::default()
        }],
        situation_exchanges: vec![SituationExchangeSubscriptionRequest {
            subscription_identifier: Some("sx".into()),
            ..Default::default()
        }],
        ..SubscriptionRequest::default()
    };
    let message = SiriMessage {
        payloads: vec![MessagePayload::SubscriptionRequest(request)],
        ..SiriMessage::default()
    };
    let text = siri::encode_xml(&message);
    origin
        .answer_siri_message(CityFeed::TwinTimetables.file_name(), START, text.as_bytes())
        .unwrap();
    let (mut found, mut n) = (FindingExamples::new(), 0);
    for now in instants() {
        for delivery in origin.list_due_siri_deliveries(now) {
            origin.record_delivery_outcome(&delivery, true);
            // A heartbeat holds no data.
            if delivery.body.windows(HEARTBEAT.len()).any(|it| it == HEARTBEAT) {
                continue;
            }
            add_findings(
                &mut found,
                &check_body(&origin, &delivery.body, now, GbfsSystemCheckFiles::default()),
            );
            n += 1;
        }
    }
    assert!(n > 30, "{n} deliveries");
    assert_eq!(found, FindingExamples::new());
}

#[test]
fn the_demo_bikes_have_no_findings_and_rotate_their_ids() {
    let origin = origin();
    origin.set_base_url("http://127.0.0.1:9/");
    let mut found = FindingExamples::new();
    let system = |now: UnixMillis| -> Vec<(String, Bytes)> {
        let discovery = feed_bytes(&origin, CityFeed::Bikes.file_name(), now);
        let (system, _) = lineside_gbfs::decode_discovery_file(
            &discovery,
            &lineside_gbfs::DiscoveryLimits::default(),
        )
        .unwrap();
        let others = system.entries.iter().map(|entry| {
            let path = format!("gbfs/{}.json", entry.name);
            (entry.name.to_string(), feed_bytes(&origin, &path, now))
        });
        [("gbfs".to_owned(), discovery.clone())].into_iter().chain(others).collect()
    };
    let mut before = Vec::new();
    for now in instants() {
        let read = system(now);
        let files = GbfsSystemCheckFiles {
            read: read.clone(),
            earlier: before,
            is_whole: true,
            ..GbfsSystemCheckFiles::default()
        };
        add_findings(&mut found, &check_body(&origin, &Bytes::new(), now, files));
        before = read;
    }
    assert_eq!(found, FindingExamples::new());
}

#[test]
fn an_incorrect_demo_feed_would_be_reported() {
    // This guards the tests above: the same check finds an error.
    let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
    let timetable =
        ScheduleIndex::read_and_index_schedule(&InMemoryFiles::default(), &context).unwrap();
    let origin = origin();
    let body = feed_bytes(&origin, CityFeed::Trips.file_name(), START);
    let (message, _) =
        gtfs_rt::decode_feed_message(body, &gtfs_rt::FeedMessageLimits::default()).unwrap();
    let scope = RealtimeRuleScope { has_schedule: true, ..RealtimeRuleScope::default() };
    let subject =
        MessageWithContext::new(&message, &timetable, START.unix_seconds()).with_rule_scope(scope);
    let mut notices = Notices::new(1);
    validate_realtime_message(&subject, &context, &mut notices);
    assert!(notices.get("E003").is_some());
}
