//! Tests of the city as a producer: correct replies, and each fault.

use crate::common::{CITY, SCHEDULE, START, after};
use bytes::Bytes;
use lineside_formats::gtfs::{DatasetLimits, ZipFiles, load_timetable};
use lineside_formats::gtfs_rt::proto;
use lineside_sim::{CityFeed, FaultPlan, FeedFault, FeedOrigin, OriginReply, ReplyBody};
use lineside_sync::UnixMillis;
use prost::Message as _;

fn origin(specs: &[&str]) -> FeedOrigin {
    FeedOrigin::new(CITY.clone(), FaultPlan::parse_fault_specs(specs.iter().copied()).unwrap())
}

fn get(origin: &FeedOrigin, feed: CityFeed, now: UnixMillis) -> OriginReply {
    origin.respond_to_feed(feed, now, None, None)
}

fn bytes(reply: &OriginReply) -> &Bytes {
    match &reply.body {
        ReplyBody::Bytes(bytes) => bytes,
        ReplyBody::Hang => panic!("hangs"),
    }
}

fn header<'a>(reply: &'a OriginReply, name: &str) -> Option<&'a str> {
    reply.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
}

fn message(reply: &OriginReply) -> proto::FeedMessage {
    proto::FeedMessage::decode(bytes(reply).clone()).unwrap()
}

#[test]
fn each_feed_is_served_with_its_type_and_validators() {
    let origin = origin(&[]);
    for feed in CityFeed::ALL {
        let reply = get(&origin, feed, after(3));
        assert_eq!(reply.status, 200);
        assert!(bytes(&reply).len() > 300, "{feed:?}");
        assert!(
            header(&reply, "etag").is_some_and(|tag| tag.starts_with('"') && tag.ends_with('"'))
        );
        assert!(header(&reply, "last-modified").is_some_and(|date| date.ends_with("GMT")));
        let expected = match feed {
            CityFeed::City | CityFeed::Twin => "application/zip",
            CityFeed::Vehicles | CityFeed::Trips | CityFeed::Alerts => "application/x-protobuf",
            CityFeed::Bikes => "application/json",
            _ => "text/xml; charset=utf-8",
        };
        assert_eq!(header(&reply, "content-type"), Some(expected));
        assert_eq!(CityFeed::feed_from_id(feed.as_str()), Some(feed));
    }
    let positions = message(&get(&origin, CityFeed::Vehicles, after(3)));
    assert_eq!(positions, CITY.vehicle_positions_feed(after(3)));
}

#[test]
fn an_unchanged_feed_is_answered_with_not_modified() {
    let origin = origin(&[]);
    let first = get(&origin, CityFeed::City, after(0));
    let (tag, date) = (header(&first, "etag").unwrap(), header(&first, "last-modified").unwrap());
    let other = "\"0000000000000000\"";
    let cases = [
        (Some(tag), None, 304),
        (Some(&*format!("{other}, W/{tag}")), None, 304),
        (Some("*"), None, 304),
        (Some(other), None, 200),
        (None, Some(date), 304),
        (None, Some("Thu, 01 Jan 1970 00:00:00 GMT"), 200),
        (None, Some("yesterday"), 200),
        (Some(other), Some(date), 200),
    ];
    for (tag, date, status) in cases {
        let reply = origin.respond_to_feed(CityFeed::City, after(60), tag, date);
        assert_eq!(reply.status, status, "{tag:?} {date:?}");
        assert_eq!(bytes(&reply).is_empty(), status == 304);
        assert!(header(&reply, "etag").is_some());
    }
    let positions = get(&origin, CityFeed::Vehicles, after(1));
    let later =
        origin.respond_to_feed(CityFeed::Vehicles, after(2), header(&positions, "etag"), None);
    assert_eq!(later.status, 200, "vehicles have moved");
}

#[test]
fn each_fault_has_its_documented_effect() {
    let origin = origin(&[]);
    let now = after(5);
    let good = get(&origin, CityFeed::Trips, now);
    let with = |fault| {
        origin.fault_control().switch_fault(CityFeed::Trips, Some(fault));
        get(&origin, CityFeed::Trips, now)
    };
    assert_eq!(with(FeedFault::Hang).body, ReplyBody::Hang);
    assert_eq!(with(FeedFault::Http500).status, 500);
    let html = with(FeedFault::Html);
    assert_eq!((html.status, bytes(&html).starts_with(b"<!doctype html>")), (200, true));
    let cut = with(FeedFault::Truncate);
    assert!(bytes(&cut).len() < bytes(&good).len() && bytes(&good).starts_with(bytes(&cut)));
    assert!(proto::FeedMessage::decode(bytes(&cut).clone()).is_err());
    let empty = with(FeedFault::Empty);
    assert_eq!((empty.status, bytes(&empty).len()), (200, 0));
    let old = message(&with(FeedFault::Skew)).header.timestamp.unwrap() as i64;
    assert!(now.unix_seconds() - old > 1_800, "{old}");
    for entity in message(&with(FeedFault::Ids)).entity {
        let update = entity.trip_update.unwrap();
        assert!(SCHEDULE.find_trip(update.trip.trip_id.as_deref().unwrap()).is_none());
        assert!(
            update
                .stop_time_update
                .iter()
                .all(|s| SCHEDULE.find_stop(s.stop_id.as_deref().unwrap()).is_none())
        );
    }
    origin.fault_control().switch_fault(CityFeed::Trips, None);
    assert_eq!(get(&origin, CityFeed::Trips, now), good, "after the fault the feed is as before");
}

#[test]
fn a_scripted_fault_affects_only_its_feed_and_period() {
    let origin = origin(&["city-alerts:500@60+2m"]);
    let status =
        |feed, seconds: i64| get(&origin, feed, UnixMillis(START.0 + seconds * 1_000)).status;
    assert_eq!([59, 60, 179, 180].map(|s| status(CityFeed::Alerts, s)), [200, 500, 500, 200]);
    assert_eq!(status(CityFeed::Vehicles, 90), 200);
}

#[test]
fn the_schedule_can_be_outdated_foreign_or_truncated() {
    let origin = origin(&[]);
    let with = |fault| {
        origin.fault_control().switch_fault(CityFeed::City, Some(fault));
        let reply = get(&origin, CityFeed::City, after(1));
        std::io::Cursor::new(bytes(&reply).to_vec())
    };
    let limits = DatasetLimits::default();
    let mut old = ZipFiles::new(with(FeedFault::Skew), &limits).unwrap();
    let (old, problems) = load_timetable(&mut old, &limits).unwrap();
    assert_eq!(problems.total_count(), 0);
    assert!(
        old.service_date_range().unwrap().1 < SCHEDULE.local_date_at(START.unix_seconds()),
        "the service of the old schedule has ended"
    );
    let mut foreign = ZipFiles::new(with(FeedFault::Ids), &limits).unwrap();
    let (foreign, problems) = load_timetable(&mut foreign, &limits).unwrap();
    assert_eq!(problems.total_count(), 0, "the schedule is valid, but has other ids");
    assert!(SCHEDULE.trips().take(50).all(|trip| foreign.find_trip(trip.id).is_none()));
    assert!(ZipFiles::new(with(FeedFault::Truncate), &limits).is_err());
}
