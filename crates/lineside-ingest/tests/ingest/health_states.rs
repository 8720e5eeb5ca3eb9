//! Tests of feed states by their sources' replies: old, empty, frozen, or healthy without content.

use std::time::Duration;

use lineside_formats::Format;
use lineside_model::{FailureCode, FeedState, FetchPhase, PollQuery, ServedContentFreshness};
use lineside_sync::{Clock, RealClock, UnixMillis};
use lineside_testkit::{TestSchedule, wait_until};

use crate::{
    running::{body, config, start, wait_until_failed, zip, zip_of},
    support::*,
    upstream::{Answer, Upstream, http},
};

const NO_CONTENT: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test]
async fn data_older_than_max_age_are_removed() {
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &body(48.87)))).await;
    let mut config = config("f", &upstream.url("/"));
    config.max_age = Some(Duration::from_millis(1_500));
    let ingest = start(vec![config]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the vehicle is known", async || feed.network().state().vehicles().count() == 1)
        .await;
    upstream.set(Answer::HangUp);
    wait_until("the vehicle is removed", async || feed.network().state().vehicles().count() == 0)
        .await;
    assert_eq!(feed.status().state, FeedState::Failing);
    assert!(feed.status().reason.contains("too old"), "{}", feed.status().reason);
    upstream.set(Answer::Bytes(http("200 OK", &[], &body(48.88))));
    wait_until("the vehicle is known again", async || {
        feed.network().state().vehicles().count() == 1
    })
    .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn old_data_are_late_and_no_data_are_empty() {
    let old = RealClock::new().wall_time().unix_seconds() - 1_800;
    let late = message(old, vec![vehicle("1", None, 48.87, 2.34, old)]);
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &late))).await;
    let ingest = start(vec![config("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the feed is late", async || feed.status().state == FeedState::Late).await;
    let record = |state: &str| {
        let records = feed.network().state();
        let json = records.feed_status_records().next().unwrap().json().clone();
        String::from_utf8_lossy(&json).contains(&format!("\"state\":\"{state}\""))
    };
    assert!(record("late"));
    upstream.set(Answer::Bytes(http("200 OK", &[], &message(old + 1_800, Vec::new()))));
    wait_until("the feed is empty", async || {
        feed.status().state == FeedState::Empty && record("empty")
    })
    .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_empty_realtime_body_is_no_failure_and_keeps_the_bytes() {
    let first = body(48.87);
    let upstream = Upstream::start(Answer::Bytes(NO_CONTENT.to_vec())).await;
    let mut config = config("f", &upstream.url("/"));
    config.format = Some(Format::GtfsRt);
    let ingest = start(vec![config]);
    let feed = ingest.find_feed("f").unwrap();
    // So far no feed has reported trips that could be missing.
    wait_until("an empty reply is accepted", async || feed.status().empty_since.is_some()).await;
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    for nothing in [NO_CONTENT.to_vec(), http("200 OK", &["etag: \"none\""], b"")] {
        upstream.set(Answer::Bytes(http("200 OK", &[], &first)));
        wait_until("the feed has a vehicle", async || feed.status().entities == 1).await;
        upstream.set(Answer::Bytes(nothing));
        wait_until("the feed is empty", async || feed.status().state == FeedState::Empty).await;
        let status = feed.status();
        assert_eq!((status.failures, status.last_error.clone()), (0, None));
        assert_eq!(feed.snapshot().unwrap().bytes, first);
    }
    ingest.stop_polling().await;
    assert!(upstream.requests().iter().all(|request| !request.contains("if-none-match")));
    let all = PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 1_000 };
    let polls = ingest.poll_archive().list_polls(feed.id(), all).unwrap();
    let with_nothing =
        |serving| polls.iter().any(|poll| poll.outcome == "nothing" && poll.serving == serving);
    assert!(
        with_nothing(ServedContentFreshness::Nothing)
            && with_nothing(ServedContentFreshness::Stale),
        "{polls:?}"
    );
    assert!(!with_nothing(ServedContentFreshness::Fresh));
}

#[tokio::test]
async fn an_empty_realtime_body_is_ok_while_no_trip_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("city.zip");
    // The timetable's service ended long ago.
    let expired = city(0).replace("20301231", "20200102");
    std::fs::write(&path, zip_of(&expired)).unwrap();
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &body(48.87)))).await;
    let mut vehicles = config("f", &upstream.url("/"));
    vehicles.static_feed = Some(feed("city"));
    let ingest = start(vec![config("city", path.to_str().unwrap()), vehicles]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the schedule is loaded", async || feed.network().timetable().is_some()).await;
    wait_until("the feed has a vehicle", async || feed.status().entities == 1).await;
    upstream.set(Answer::Bytes(NO_CONTENT.to_vec()));
    let reason = || feed.status().reason.clone();
    wait_until("an empty reply is accepted", async || reason().contains("no trips are running"))
        .await;
    assert_eq!(feed.status().state, FeedState::Ok);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_empty_schedule_body_is_a_failure() {
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &zip(0)))).await;
    let ingest = start(vec![config("city", &upstream.url("/"))]);
    let feed = ingest.find_feed("city").unwrap();
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    upstream.set(Answer::Bytes(NO_CONTENT.to_vec()));
    wait_until_failed(&feed, FailureCode::Empty).await;
    let error = feed.status().last_error.clone().unwrap();
    assert_eq!((error.phase, error.status), (Some(FetchPhase::Body), Some(204)));
    assert_eq!(feed.status().state, FeedState::Stale);
    assert_eq!(feed.snapshot().unwrap().bytes, zip(0));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn frozen_vehicles_are_detected_in_repeated_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("city.zip");
    std::fs::write(&path, all_day().zip()).unwrap();
    let still = |lat| {
        let vehicle_at = |n: i32| vehicle(&n.to_string(), None, lat, 2.34, -1);
        // Without a timestamp, the age of the message is unknown.
        http("200 OK", &[], &message(-1, (0..20).map(vehicle_at).collect()))
    };
    let upstream = Upstream::start(Answer::Bytes(still(48.87))).await;
    let mut vehicles = config("f", &upstream.url("/"));
    vehicles.static_feed = Some(feed("city"));
    // The healthy state lasts this long only, and the test must observe it.
    vehicles.late_after = Duration::from_secs(5);
    let ingest = start(vec![config("city", path.to_str().unwrap()), vehicles]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the feed is late", async || feed.status().reason.contains("unchanged")).await;
    assert_eq!(feed.status().state, FeedState::Late);
    upstream.set(Answer::Bytes(still(48.88)));
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    ingest.stop_polling().await;
}

/// Returns twelve trips that run at all hours of every day.
fn all_day() -> TestSchedule {
    let schedule = TestSchedule::new("UTC")
        .stop("A", "Here", 48.86, 2.34)
        .stop("B", "There", 48.92, 2.34)
        .route("R", "1", 3);
    (0..12).fold(schedule, |schedule, n| schedule.trip(&format!("T{n}"), "A 00:00, B 24:00"))
}

#[tokio::test]
async fn a_feed_that_changes_its_format_is_not_late() {
    let old = RealClock::new().wall_time().unix_seconds() - 1_800;
    let late = message(old, vec![vehicle("1", None, 48.87, 2.34, old)]);
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &late))).await;
    let ingest = start(vec![config("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the feed is late", async || feed.status().state == FeedState::Late).await;
    for (path, body) in [("/list.csv", b"stop;name\n1;Here\n".to_vec()), ("/city.zip", zip(0))] {
        upstream.set(Answer::Bytes(http("200 OK", &[], &body)));
        ingest.apply_feed_configs(vec![config("f", &upstream.url(path))]).await.unwrap();
        let feed = ingest.find_feed("f").unwrap();
        let has_arrived = async || feed.snapshot().is_some_and(|it| it.bytes == body);
        wait_until(format!("{path} is served"), has_arrived).await;
        wait_until(format!("{path} is ok"), async || feed.status().state == FeedState::Ok).await;
        assert_eq!(feed.status().data_time, None);
    }
    ingest.stop_polling().await;
}
