//! Tests of a start with the last good bytes of a crashed process.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_ingest::{Feed, Ingest, IngestOptions, MessageObserver, ObservedMessage};
use lineside_model::{FeedConfig, FeedState, MemorySnapshotStore, SnapshotKey, SnapshotStore as _};
use lineside_sync::{Clock, RealClock, UnixMillis};
use lineside_testkit::wait_until;

use crate::{
    running::{body, config, options, start_with, zip},
    support::*,
    upstream::{Answer, Upstream, http},
};

/// Returns the store of a process that crashed after its feeds were healthy.
async fn stored_snapshots(feeds: &[FeedConfig]) -> Arc<MemorySnapshotStore> {
    let snapshots = Arc::new(MemorySnapshotStore::default());
    let ingest = start_with(feeds.to_vec(), Arc::clone(&snapshots));
    for feed in ingest.feeds() {
        let id = feed.id();
        wait_until(format_args!("{id} is ok"), async || feed.status().state == FeedState::Ok).await;
    }
    ingest.stop_polling().await;
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
    let snapshots = stored_snapshots(&feeds).await;
    for producer in [&city, &cars] {
        producer.set(Answer::HangUp);
    }
    let n_requests = cars.requests().len();
    let ingest = start_with(feeds.to_vec(), Arc::clone(&snapshots));
    // At once: no feed task has run yet.
    let restored_feed = ingest.find_feed("vehicles").unwrap();
    assert_eq!(restored_feed.snapshot().unwrap().bytes, snapshot_body(&snapshots, "vehicles"));
    let status = restored_feed.status();
    assert!(status.is_restored && status.last_success.is_some());
    assert_eq!(status.state, FeedState::Unknown);
    assert!(status.reason.contains("since the start"), "{}", status.reason);
    wait_until("the stored data are published", async || {
        ingest.networks()[0].timetable().is_some() && n_vehicles(&ingest) == 1
    })
    .await;
    for feed in ingest.feeds() {
        wait_until("the first poll has failed", async || feed.status().state == FeedState::Stale)
            .await;
        assert!(!feed.status().is_restored);
    }
    assert!(
        cars.requests()[n_requests].contains("if-none-match: \"v\""),
        "the first poll is conditional"
    );
    ingest.stop_polling().await;
}

/// Records the observed messages.
#[derive(Debug, Default)]
struct TestObserver {
    messages: Mutex<Vec<Bytes>>,
    /// True if feeds reported trips before.
    has_schedule: bool,
}

impl MessageObserver for TestObserver {
    fn observe_message(&self, _: &Arc<Feed>, observed: ObservedMessage<'_>, _: UnixMillis) {
        let ObservedMessage::GtfsRt(bytes) = observed else { return };
        self.messages.lock().unwrap().push(bytes.clone());
    }

    fn has_recently_reported_trips(&self, _: &Feed) -> bool {
        self.has_schedule
    }
}

#[tokio::test]
async fn a_restored_message_is_observed_once_its_source_confirms_it() {
    let (restored, next) = (body(48.87), body(48.88));
    let conditional = |bytes: &[u8]| http("200 OK", &["etag: \"v\""], bytes);
    let cars = Upstream::start(Answer::Conditional("\"v\"", conditional(&restored))).await;
    let feeds = vec![config("vehicles", &cars.url("/vp.pb"))];
    let snapshots = stored_snapshots(&feeds).await;
    cars.set(Answer::HangUp);
    let seen = Arc::new(TestObserver::default());
    let message_observer = Some(Arc::clone(&seen) as _);
    let ingest =
        Ingest::start_polling(IngestOptions { snapshots, message_observer, ..options(feeds) });
    let restored_feed = ingest.find_feed("vehicles").unwrap();
    wait_until("a poll has failed", async || restored_feed.status().failures > 0).await;
    assert!(seen.messages.lock().unwrap().is_empty(), "an unconfirmed message is not observed");
    cars.set(Answer::Conditional("\"v\"", conditional(&restored)));
    let n_requests = cars.requests().len();
    wait_until("the source confirms it several times", async || {
        cars.requests().len() > n_requests + 5
    })
    .await;
    assert_eq!(*seen.messages.lock().unwrap(), [Bytes::from(restored.clone())]);
    cars.set(Answer::Bytes(http("200 OK", &[], &next)));
    wait_until("the next message is observed", async || seen.messages.lock().unwrap().len() > 1)
        .await;
    assert_eq!(*seen.messages.lock().unwrap(), [Bytes::from(restored), Bytes::from(next)]);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_empty_feed_that_had_trips_before_the_start_is_empty() {
    let nothing = message(RealClock::new().wall_time().unix_seconds(), Vec::new());
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &[], &nothing))).await;
    for has_schedule in [false, true] {
        let seen = Arc::new(TestObserver { has_schedule, ..TestObserver::default() });
        let feeds = vec![config("vehicles", &cars.url("/vp.pb"))];
        let message_observer = Some(Arc::clone(&seen) as _);
        let ingest = Ingest::start_polling(IngestOptions { message_observer, ..options(feeds) });
        let restored_feed = ingest.find_feed("vehicles").unwrap();
        wait_until("the feed is polled", async || {
            restored_feed.status().state != FeedState::Unknown
        })
        .await;
        let (state, reason) = (restored_feed.status().state, restored_feed.status().reason.clone());
        assert_eq!(state == FeedState::Empty, has_schedule, "{state}: {reason}");
        ingest.stop_polling().await;
    }
}

fn snapshot_body(snapshots: &MemorySnapshotStore, id: &str) -> Bytes {
    snapshots.read_snapshot(&SnapshotKey::for_feed(&feed(id))).unwrap().1
}

#[tokio::test]
async fn stored_bytes_confirmed_after_a_start_are_fresh() {
    let vehicles = http("200 OK", &["etag: \"v\""], &body(48.87));
    let cars = Upstream::start(Answer::Conditional("\"v\"", vehicles)).await;
    let feeds = [config("vehicles", &cars.url("/vp.pb"))];
    let snapshots = stored_snapshots(&feeds).await;
    let ingest = start_with(feeds.to_vec(), snapshots);
    let restored_feed = ingest.find_feed("vehicles").unwrap();
    wait_until("the feed is ok", async || restored_feed.status().state == FeedState::Ok).await;
    let outcomes = restored_feed.status().outcomes.clone();
    assert!(outcomes.iter().all(|(outcome, _)| outcome == "not_modified"), "{outcomes:?}");
    assert_eq!((restored_feed.status().entities, n_vehicles(&ingest)), (1, 1));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn expired_stored_data_wait_for_a_new_reply() {
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &["etag: \"v\""], &body(48.87)))).await;
    let mut its = config("vehicles", &cars.url("/vp.pb"));
    let snapshots = stored_snapshots(std::slice::from_ref(&its)).await;
    let key = SnapshotKey::for_feed(&its.id);
    let (mut head, bytes) = snapshots.read_snapshot(&key).unwrap();
    head.confirmed_at = head.confirmed_at - Duration::from_secs(3_600);
    snapshots.save_snapshot(&key, head, bytes, None, Box::new(drop));
    its.max_age = Some(Duration::from_secs(60));
    cars.set(Answer::HangUp);
    let ingest = start_with(vec![its], snapshots);
    let restored_feed = ingest.find_feed("vehicles").unwrap();
    wait_until("the first poll has failed", async || restored_feed.status().failures > 0).await;
    assert_eq!((restored_feed.status().state, n_vehicles(&ingest)), (FeedState::Failing, 0));
    cars.set(Answer::Conditional("\"v\"", http("200 OK", &[], &body(48.87))));
    wait_until("the same bytes are published", async || n_vehicles(&ingest) == 1).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn stored_bytes_of_another_url_or_format_are_ignored() {
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &[], &body(48.87)))).await;
    let its = config("vehicles", &cars.url("/vp.pb"));
    let snapshots = stored_snapshots(std::slice::from_ref(&its)).await;
    cars.set(Answer::HangUp);
    let moved_config = config("vehicles", &cars.url("/other.pb"));
    let mut other = its.clone();
    other.format = Some(Format::Raw);
    let mut same = its;
    same.query = vec![("key".to_owned(), lineside_model::Secret::new("another key"))];
    let mut another_line = same.clone();
    another_line.query.push(("line".to_owned(), lineside_model::Secret::new("4")));
    let all = [(moved_config, false), (other, false), (same, true), (another_line, false)];
    for (config, is_used) in all {
        let ingest = start_with(vec![config], Arc::clone(&snapshots));
        assert_eq!(ingest.find_feed("vehicles").unwrap().snapshot().is_some(), is_used);
        ingest.stop_polling().await;
    }
}

#[tokio::test]
async fn undecodable_stored_bytes_are_served_and_fetched_again() {
    let cars = Upstream::start(Answer::Bytes(http("200 OK", &["etag: \"v\""], &body(48.87)))).await;
    let its = config("vehicles", &cars.url("/vp.pb"));
    let snapshots = stored_snapshots(std::slice::from_ref(&its)).await;
    let key = SnapshotKey::for_feed(&its.id);
    let (head, _) = snapshots.read_snapshot(&key).unwrap();
    let bad = Bytes::from_static(b"\xFF\xFF no message");
    snapshots.save_snapshot(&key, head, bad.clone(), None, Box::new(drop));
    let good = http("200 OK", &[], &body(48.88));
    cars.set(Answer::Conditional("\"v\"", good));
    let ingest = start_with(vec![its], snapshots);
    let restored_feed = ingest.find_feed("vehicles").unwrap();
    assert_eq!(restored_feed.snapshot().unwrap().bytes, bad);
    wait_until("the source is requested unconditionally", async || n_vehicles(&ingest) == 1).await;
    assert!(RealClock::new().wall_time() >= restored_feed.snapshot().unwrap().fetched_at);
    ingest.stop_polling().await;
}
