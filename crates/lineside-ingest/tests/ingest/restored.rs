//! Tests of a start with the last good bytes of a crashed process.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_ingest::{
    Feed, FeedConfig, FeedState, Ingest, IngestOptions, MemorySnapshotStore, MessageObserver,
    ObservedMessage, SnapshotKey, SnapshotStore as _,
};
use lineside_sync::{Clock, RealClock, UnixMillis};

use crate::{
    running::{body, config, options, start_with, until, zip},
    support::*,
    upstream::{Answer, Upstream, http},
};

/// Returns the store of a process that crashed after its feeds were healthy.
async fn left_by(feeds: &[FeedConfig]) -> Arc<MemorySnapshotStore> {
    let snapshots = Arc::new(MemorySnapshotStore::default());
    let ingest = start_with(feeds.to_vec(), Arc::clone(&snapshots));
    for feed in ingest.feeds() {
        let id = feed.id();
        until(format_args!("{id} is ok"), || feed.status().state == FeedState::Ok).await;
    }
    ingest.shut_down().await;
    snapshots
}

fn n_vehicles(ingest: &Ingest) -> usize {
    ingest.networks()[0].state().vehicles().count()
}

#[tokio::test]
async fn a_server_starts_with_stored_data_while_its_producer_is_down() {
    let schedule = http("200 OK", &["etag: \"s\""], &zip(0));
    let vehicles = http("200 OK", &["etag: \"v\""], &body(48.87));
    let (city, cars) = (
        Upstream::start(Answer::Conditional("\"s\"", schedule)).await,
        Upstream::start(Answer::Conditional("\"v\"", vehicles)).await,
    );
    let mut second = config("vehicles", &cars.url("/vp.pb"));
    second.static_feed = Some(feed("city"));
    let feeds = [config("city", &city.url("/city.zip")), second];
    let snapshots = left_by(&feeds).await;
    for producer in [&city, &cars] {
        producer.set(Answer::HangUp);
    }
    let n_asked = cars.requests().len();
    let ingest = start_with(feeds.to_vec(), Arc::clone(&snapshots));
    // At once: no feed task has run yet.
    let held = ingest.find_feed("vehicles").unwrap();
    assert_eq!(held.snapshot().unwrap().bytes, body_of(&snapshots, "vehicles"));
    let status = held.status();
    assert!(status.is_restored && status.last_success.is_some());
    assert_eq!(status.state, FeedState::Unknown);
    assert!(status.reason.contains("since the start"), "{}", status.reason);
    until("the stored data are published", || {
        ingest.networks()[0].timetable().is_some() && n_vehicles(&ingest) == 1
    })
    .await;
    for feed in ingest.feeds() {
        until("the first poll has failed", || feed.status().state == FeedState::Stale).await;
        assert!(!feed.status().is_restored);
    }
    assert!(
        cars.requests()[n_asked].contains("if-none-match: \"v\""),
        "the first poll is conditional"
    );
    ingest.shut_down().await;
}

/// Records the observed messages.
#[derive(Debug, Default)]
struct Seen {
    messages: Mutex<Vec<Bytes>>,
    /// True if feeds reported trips before.
    knows_trips: bool,
}

impl MessageObserver for Seen {
    fn observe_message(&self, _: &Arc<Feed>, passed: ObservedMessage<'_>, _: UnixMillis) {
        let ObservedMessage::GtfsRt(bytes) = passed else { return };
        self.messages.lock().unwrap().push(bytes.clone());
    }

    fn has_reported_trips(&self, _: &Feed) -> bool {
        self.knows_trips
    }
}

#[tokio::test]
async fn a_restored_message_is_observed_once_its_source_confirms_it() {
    let (kept, next) = (body(48.87), body(48.88));
    let conditional = |bytes: &[u8]| http("200 OK", &["etag: \"v\""], bytes);
    let cars = Upstream::start(Answer::Conditional("\"v\"", conditional(&kept))).await;
    let feeds = vec![config("vehicles", &cars.url("/vp.pb"))];
    let snapshots = left_by(&feeds).await;
    cars.set(Answer::HangUp);
    let seen = Arc::new(Seen::default());
    let inspector = Some(Arc::clone(&seen) as _);
    let ingest = Ingest::start(IngestOptions { snapshots, inspector, ..options(feeds) });
    let held = ingest.find_feed("vehicles").unwrap();
    until("a poll has failed", || held.status().failures > 0).await;
    assert!(seen.messages.lock().unwrap().is_empty(), "an unconfirmed message is not observed");
    cars.set(Answer::Conditional("\"v\"", conditional(&kept)));
    let n_asked = cars.requests().len();
    until("the source confirms it several times", || cars.requests().len() > n_asked + 5).await;
    assert_eq!(*seen.messages.lock().unwrap(), [Bytes::from(kept.clone())]);
    cars.set(Answer::Bytes(http("200 OK", &[], &next)));
    until("the next message is observed", || seen.messages.lock().unwrap().len() > 1).await;
    assert_eq!(*seen.messages.lock().unwrap(), [Bytes::from(kept), Bytes::from(next)]);
    ingest.shut_down().await;
}

#[tokio::test]
async fn an_empty_feed_that_had_trips_before_the_start_is_empty() {
    let nothing = message(RealClock::new().wall_time().unix_seconds(), Vec::new());
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &[], &nothing))).await;
    for knows_trips in [false, true] {
        let seen = Arc::new(Seen { knows_trips, ..Seen::default() });
        let feeds = vec![config("vehicles", &cars.url("/vp.pb"))];
        let inspector = Some(Arc::clone(&seen) as _);
        let ingest = Ingest::start(IngestOptions { inspector, ..options(feeds) });
        let held = ingest.find_feed("vehicles").unwrap();
        until("the feed is polled", || held.status().state != FeedState::Unknown).await;
        let (state, reason) = (held.status().state, held.status().reason.clone());
        assert_eq!(state == FeedState::Empty, knows_trips, "{state}: {reason}");
        ingest.shut_down().await;
    }
}

fn body_of(snapshots: &MemorySnapshotStore, id: &str) -> Bytes {
    snapshots.read_snapshot(&SnapshotKey::for_feed(&feed(id))).unwrap().1
}

#[tokio::test]
async fn stored_bytes_confirmed_after_a_start_are_fresh() {
    let vehicles = http("200 OK", &["etag: \"v\""], &body(48.87));
    let cars = Upstream::start(Answer::Conditional("\"v\"", vehicles)).await;
    let feeds = [config("vehicles", &cars.url("/vp.pb"))];
    let snapshots = left_by(&feeds).await;
    let ingest = start_with(feeds.to_vec(), snapshots);
    let held = ingest.find_feed("vehicles").unwrap();
    until("the feed is ok", || held.status().state == FeedState::Ok).await;
    let outcomes = held.status().outcomes.clone();
    assert!(outcomes.iter().all(|(outcome, _)| outcome == "not_modified"), "{outcomes:?}");
    assert_eq!((held.status().entities, n_vehicles(&ingest)), (1, 1));
    ingest.shut_down().await;
}

#[tokio::test]
async fn expired_stored_data_wait_for_a_new_reply() {
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &["etag: \"v\""], &body(48.87)))).await;
    let mut its = config("vehicles", &cars.url("/vp.pb"));
    let snapshots = left_by(std::slice::from_ref(&its)).await;
    let key = SnapshotKey::for_feed(&its.id);
    let (mut head, bytes) = snapshots.read_snapshot(&key).unwrap();
    head.confirmed_at = head.confirmed_at - Duration::from_secs(3_600);
    snapshots.save_snapshot(&key, head, bytes, None, Box::new(drop));
    its.max_age = Some(Duration::from_secs(60));
    cars.set(Answer::HangUp);
    let ingest = start_with(vec![its], snapshots);
    let held = ingest.find_feed("vehicles").unwrap();
    until("the first poll has failed", || held.status().failures > 0).await;
    assert_eq!((held.status().state, n_vehicles(&ingest)), (FeedState::Failing, 0));
    cars.set(Answer::Conditional("\"v\"", http("200 OK", &[], &body(48.87))));
    until("the same bytes are published", || n_vehicles(&ingest) == 1).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn stored_bytes_of_another_url_or_format_are_ignored() {
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &[], &body(48.87)))).await;
    let its = config("vehicles", &cars.url("/vp.pb"));
    let snapshots = left_by(std::slice::from_ref(&its)).await;
    cars.set(Answer::HangUp);
    let elsewhere = config("vehicles", &cars.url("/other.pb"));
    let mut other = its.clone();
    other.format = Some(Format::Raw);
    let mut same = its;
    same.query = vec![("key".to_owned(), lineside_ingest::Secret::new("another key"))];
    let mut another_line = same.clone();
    another_line.query.push(("line".to_owned(), lineside_ingest::Secret::new("4")));
    let all = [(elsewhere, false), (other, false), (same, true), (another_line, false)];
    for (config, is_used) in all {
        let ingest = start_with(vec![config], Arc::clone(&snapshots));
        assert_eq!(ingest.find_feed("vehicles").unwrap().snapshot().is_some(), is_used);
        ingest.shut_down().await;
    }
}

#[tokio::test]
async fn undecodable_stored_bytes_are_served_and_fetched_again() {
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &["etag: \"v\""], &body(48.87)))).await;
    let its = config("vehicles", &cars.url("/vp.pb"));
    let snapshots = left_by(std::slice::from_ref(&its)).await;
    let key = SnapshotKey::for_feed(&its.id);
    let (head, _) = snapshots.read_snapshot(&key).unwrap();
    let bad = Bytes::from_static(b"\xFF\xFF no message");
    snapshots.save_snapshot(&key, head, bad.clone(), None, Box::new(drop));
    let good = http("200 OK", &[], &body(48.88));
    cars.set(Answer::Conditional("\"v\"", good));
    let ingest = start_with(vec![its], snapshots);
    let held = ingest.find_feed("vehicles").unwrap();
    assert_eq!(held.snapshot().unwrap().bytes, bad);
    until("the source is requested unconditionally", || n_vehicles(&ingest) == 1).await;
    assert!(RealClock::new().wall_time() >= held.snapshot().unwrap().fetched_at);
    ingest.shut_down().await;
}
