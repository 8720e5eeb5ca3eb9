//! Our own feeds, held against our own rules: what the demo's city serves is to be quiet, over most of an hour and at its ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    self, EstimatedTimetableSubscriptionRequest, Message, Payload,
    SituationExchangeSubscriptionRequest, SubscriptionRequest,
    VehicleMonitoringSubscriptionRequest,
};
use lineside_formats::{Format, gtfs_rt, sniff};
use lineside_sim::{Body, City, CityOptions, FaultPlan, FeedId, Origin};
use lineside_sync::UnixMillis;
use lineside_validate::gtfs::{TextSource, ZipSource};
use lineside_validate::rules::gtfs_rt::{Scope, Subject, Timetable, validate};
use lineside_validate::{Context, Kind, Notices};

use super::*;

/// 07:30 of a Wednesday, in UTC.
const START: UnixMillis = UnixMillis(1_781_681_400_000);
/// Seconds between two looks, and how long they go on.
const STEP_S: i64 = 110;
const LENGTH_S: i64 = 3_300;
/// Seconds from one poll of messages to the next.
const POLL_S: i64 = 15;
/// What the city does as many producers do, which validators warn of: trips of which predictions are told and whose vehicle is not
/// known (yet), runs by headway that have no place in a timetable, and news of a trip that are older than a minute and a half. No
/// error is among them.
const ON_PURPOSE: [&str; 5] = ["W002", "W003", "W005", "W009", "stale_trip_update"];
/// Where the city would bring what is subscribed to.
const INBOX: &str = "http://127.0.0.1:9/inbox";
const HEARTBEAT: &[u8] = b"<HeartbeatNotification";

fn origin() -> Origin {
    let options = CityOptions { vehicles: 120, ..CityOptions::starting(START) };
    Origin::new(Arc::new(City::generate(7, options)), FaultPlan::default())
}

fn instants() -> impl Iterator<Item = UnixMillis> {
    (0..=LENGTH_S / STEP_S).map(|step| UnixMillis(START.0 + step * STEP_S * 1_000))
}

fn bytes(origin: &Origin, path: &str, now: UnixMillis) -> Bytes {
    let reply = origin.respond_at(path, now, None, None).unwrap();
    match reply.body {
        Body::Bytes(bytes) => bytes,
        Body::Hang => panic!("{path} hangs"),
    }
}

fn plan(origin: &Origin, now: UnixMillis) -> Plan {
    let at = Timestamp::from_millisecond(now.0).unwrap();
    let zone = TimeZone::get(origin.city().time_zone()).unwrap();
    Plan {
        input: "demo".to_owned(),
        today: at.to_zoned(zone).date(),
        at: at.to_string(),
        now: now.seconds(),
        // It is the look that has none.
        ignored: vec![codes::SCHEDULE_NOT_GIVEN.to_owned()],
        ..Plan::plain()
    }
}

/// What was found, by code, with one of it.
type Found = BTreeMap<String, String>;

fn add(found: &mut Found, checked: &Checked) {
    assert!(checked.errors.is_empty(), "{:?}", checked.errors);
    for it in &checked.findings {
        let told = format!("{} times, as {:?}", it.total, it.samples.first());
        found.entry(it.code.clone()).or_insert(told);
    }
}

fn look(origin: &Origin, body: &Bytes, now: UnixMillis, files: Files) -> Checked {
    let plan = Plan { files, ..plan(origin, now) };
    check(body, plan, &Progress::default(), &|| 0.0).unwrap()
}

fn is_on_purpose(kind: &Kind) -> bool {
    ON_PURPOSE.contains(&kind.code) && kind.severity < Severity::Error
}

#[test]
fn the_schedules_of_the_demo_are_quiet() {
    let origin = origin();
    for feed in [FeedId::City, FeedId::Twin] {
        let body = bytes(&origin, feed.file_name(), START);
        let mut found = Found::new();
        let checked = look(&origin, &body, START, Files::default());
        assert_eq!(checked.format, Format::Gtfs);
        add(&mut found, &checked);
        assert_eq!(found, Found::new(), "{}", feed.as_str());
        assert_eq!(checked.unread, []);
    }
}

#[test]
fn the_messages_of_the_demo_say_what_they_mean_to_and_have_no_error() {
    let origin = origin();
    let zip = bytes(&origin, FeedId::City.file_name(), START);
    let source = ZipSource::new(&zip, &Limits::default()).unwrap();
    let context = Context { today: plan(&origin, START).today, country: None, threads: 1 };
    let timetable = Timetable::read(&source, &context).unwrap();
    let scope = Scope { has_schedule: true, ..Scope::default() };
    let read = |feed: FeedId, now: UnixMillis| {
        let body = bytes(&origin, feed.file_name(), now);
        let (message, problems) = gtfs_rt::decode(body, &gtfs_rt::Limits::default()).unwrap();
        assert_eq!(problems.total(), 0, "{:?}", problems.kept());
        message
    };
    let feeds = [FeedId::Vehicles, FeedId::Trips, FeedId::Alerts];
    let mut found = Found::new();
    for now in instants() {
        // Each after the poll before it, and beside the others, as the server does.
        let before = feeds.map(|feed| read(feed, UnixMillis(now.0 - POLL_S * 1_000)));
        let messages = feeds.map(|feed| read(feed, now));
        for (at, feed) in feeds.into_iter().enumerate() {
            let others: Vec<_> = messages.iter().enumerate().filter(|(it, _)| *it != at).collect();
            let others: Vec<_> = others.into_iter().map(|(_, message)| message).collect();
            let subject = Subject::new(&messages[at], &timetable, now.seconds()).within(scope);
            let subject = subject.after(Some(&before[at])).beside(&others);
            let mut notices = Notices::new(1);
            assert_eq!(validate(&subject, &context, &mut notices), []);
            for it in notices.iter().filter(|it| !is_on_purpose(it.kind)) {
                let told = format!("{} times, as {:?}", it.total, it.samples.first());
                let code = format!("{} {}", feed.as_str(), it.kind.code);
                found.entry(code).or_insert(told);
            }
        }
    }
    assert_eq!(found, Found::new());
}

#[test]
fn the_siri_of_the_demo_is_quiet_whoever_asks() {
    let origin = origin();
    for feed in [FeedId::TwinTimetables, FeedId::TwinVehicles, FeedId::TwinSituations] {
        let mut found = Found::new();
        for now in instants() {
            let body = bytes(&origin, feed.file_name(), now);
            assert_eq!(sniff(&body), Some(Format::Siri));
            add(&mut found, &look(&origin, &body, now, Files::default()));
        }
        assert_eq!(found, Found::new(), "{}", feed.as_str());
    }
}

#[test]
fn the_siri_of_the_demo_is_quiet_for_those_who_subscribe() {
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
    let message =
        Message { payloads: vec![Payload::SubscriptionRequest(request)], ..Message::default() };
    let text = siri::encode_xml(&message);
    origin.answer_at(FeedId::TwinTimetables.file_name(), START, text.as_bytes()).unwrap();
    let (mut found, mut n) = (Found::new(), 0);
    for now in instants() {
        for delivery in origin.deliveries(now) {
            origin.settle(&delivery, true);
            // What only says that the city is there holds no data.
            if delivery.body.windows(HEARTBEAT.len()).any(|it| it == HEARTBEAT) {
                continue;
            }
            add(&mut found, &look(&origin, &delivery.body, now, Files::default()));
            n += 1;
        }
    }
    assert!(n > 30, "{n} deliveries");
    assert_eq!(found, Found::new());
}

#[test]
fn the_bikes_of_the_demo_are_quiet_and_change_their_names() {
    let origin = origin();
    origin.stands_at("http://127.0.0.1:9/");
    let mut found = Found::new();
    let system = |now: UnixMillis| -> Vec<(String, Bytes)> {
        let discovery = bytes(&origin, FeedId::Bikes.file_name(), now);
        let (system, _) =
            lineside_formats::gbfs::decode(&discovery, &lineside_formats::gbfs::Limits::default())
                .unwrap();
        let others = system.entries.iter().map(|entry| {
            let path = format!("gbfs/{}.json", entry.name);
            (entry.name.to_string(), bytes(&origin, &path, now))
        });
        [("gbfs".to_owned(), discovery.clone())].into_iter().chain(others).collect()
    };
    let mut before = Vec::new();
    for now in instants() {
        let read = system(now);
        let files = Files { read: read.clone(), before, is_whole: true, ..Files::default() };
        add(&mut found, &look(&origin, &Bytes::new(), now, files));
        before = read;
    }
    assert_eq!(found, Found::new());
}

#[test]
fn a_feed_that_is_not_as_it_should_be_would_be_told() {
    // What holds the tests above up: the same look finds what is wrong.
    let context = Context { today: Date::ZERO, country: None, threads: 1 };
    let timetable = Timetable::read(&TextSource::default(), &context).unwrap();
    let origin = origin();
    let body = bytes(&origin, FeedId::Trips.file_name(), START);
    let (message, _) = gtfs_rt::decode(body, &gtfs_rt::Limits::default()).unwrap();
    let scope = Scope { has_schedule: true, ..Scope::default() };
    let subject = Subject::new(&message, &timetable, START.seconds()).within(scope);
    let mut notices = Notices::new(1);
    validate(&subject, &context, &mut notices);
    assert!(notices.get("E003").is_some());
}
