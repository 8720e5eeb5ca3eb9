//! Tests of replays.

use std::{fs, sync::Arc, time::Duration};

use lineside_hub::{EncodedChannelName, SessionLimits};
use lineside_model::{FeedConfig, FeedState, SourceLocation};
use lineside_sync::{Clock, RealClock, UnixMillis};
use lineside_testkit::{WAIT_MAX, wait_until};

use crate::{
    running::{body, config, start, write_city, zip},
    support::*,
};

#[tokio::test]
async fn a_replay_advances_at_its_speed_with_recorded_times() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..5_i64 {
        let at = EIGHT + n * 20;
        let body = message(at, vec![vehicle("1", Some("T18"), 48.86 + n as f32 * 0.01, 2.34, at)]);
        fs::write(dir.path().join(format!("frame-{}.pb", 9 - n)), body).unwrap();
    }
    let gtfs = tempfile::tempdir().unwrap();
    write_city(gtfs.path());
    let schedule = FeedConfig::new(feed("city"), SourceLocation::Path(gtfs.path().to_owned()));
    let feeds = |location| {
        let mut recorded = FeedConfig::new(feed("recorded"), location);
        recorded.static_feed = Some(feed("city"));
        vec![recorded, schedule.clone()]
    };
    let ingest = start(feeds(SourceLocation::Path(dir.path().join("not there"))));
    let network = ingest.find_network_of_feed("city").unwrap();
    assert_eq!(network.id().as_str(), "city");
    // A subscriber from before the start receives each frame, however slow the machine is.
    let mut session = ingest.hub().open_session(Arc::new(IdleReceiver), SessionLimits::default());
    session.subscribe(&EncodedChannelName::parse_channel_name("feed/city").unwrap(), None).unwrap();
    let started = RealClock::new();
    let url = format!("replay://{}?speed=20", dir.path().display());
    ingest.apply_feed_configs(feeds(SourceLocation::parse(&url).unwrap())).await.unwrap();
    let (mut received_state, mut seen) = (ReceivedState::default(), Vec::new());
    while seen.len() < 5 {
        while let Some(delivery) = session.next_delivery() {
            received_state.apply(delivery.payload().unwrap().data());
            let lat = received_state
                .find("vehicle", "1")
                .and_then(|it| it["position"]["latitude"].as_f64());
            seen.extend(lat.filter(|lat| seen.last() != Some(lat)));
        }
        started.sleep(Duration::from_millis(5)).await;
        assert!(started.monotonic() < WAIT_MAX, "{seen:?}");
    }
    assert!(seen.is_sorted());
    // Eighty recorded seconds take four real ones.
    assert!(started.monotonic() >= Duration::from_millis(3_750));
    let feed = ingest.find_feed("recorded").unwrap();
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    assert!(
        network.data_time_now().unix_seconds() >= EIGHT + 80
            && network.data_time_now().unix_seconds() < EIGHT + 80 + 1_000
    );
    let state = network.state();
    let vehicle = state.vehicles().next().unwrap();
    assert_eq!(vehicle.vehicle().unwrap().timestamp, Some(EIGHT as u64 + 80));
    wait_until("the schedule is loaded", async || network.timetable().is_some()).await;
    let join = || network.state().vehicles().next().unwrap().join.route_short_name.clone();
    wait_until("the vehicle has its route", async || join().as_deref() == Some("12")).await;
    let board = next_departures(&network, "C", network.data_time_now().unix_seconds(), 40).unwrap();
    assert!(board.iter().any(|departure| departure.trip_id == "T19"));
    ingest.stop_polling().await;
}

/// The clock of a recording jumps over a gap at the moment when the next message is due: the message before it does not
/// become stale by that.
#[tokio::test]
async fn a_gap_of_a_recording_makes_nothing_stale() {
    const GAP: i64 = 2 * 86_400;
    let dir = tempfile::tempdir().unwrap();
    for at in [EIGHT, EIGHT + 5, EIGHT + GAP] {
        let body = message(at, vec![vehicle("1", None, 48.9, 2.3, at)]);
        fs::write(dir.path().join(format!("{at}.pb")), body).unwrap();
    }
    let url = format!("replay://{}?speed=500", dir.path().display());
    let ingest = start(vec![FeedConfig::new(feed("r"), SourceLocation::parse(&url).unwrap())]);
    let network = ingest.find_network_of_feed("r").unwrap();
    wait_until("the message after the gap is played", async || {
        let vehicle = network.state().vehicles().next().cloned();
        vehicle.is_some_and(|it| it.vehicle().unwrap().timestamp == Some((EIGHT + GAP) as u64))
    })
    .await;
    let periods =
        ingest.poll_archive().list_feed_state_periods(&feed("r"), UnixMillis(0), 100).unwrap();
    let n_stale = periods.iter().filter(|period| period.state == FeedState::Stale).count();
    assert_eq!(n_stale, 0, "{periods:?}");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_clock_of_an_ended_replay_stops_and_its_feed_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("1.pb"), message(EIGHT, vec![vehicle("1", None, 48.9, 2.3, EIGHT)]))
        .unwrap();
    let url = format!("replay://{}?speed=10000", dir.path().display());
    let ingest = start(vec![FeedConfig::new(feed("r"), SourceLocation::parse(&url).unwrap())]);
    let (feed, network) =
        (ingest.find_feed("r").unwrap(), ingest.find_network_of_feed("r").unwrap());
    wait_until("the feed is stale", async || feed.status().state == FeedState::Stale).await;
    assert_eq!(network.replay_ended_at(), Some(UnixMillis::from_seconds(EIGHT)));
    let stopped = network.data_time_now();
    assert_eq!(stopped, UnixMillis::from_seconds(EIGHT + 600));
    RealClock::new().sleep(Duration::from_millis(5)).await;
    assert_eq!(network.data_time_now(), stopped);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn recorded_time_ends_with_the_replay() {
    let dir = tempfile::tempdir().unwrap();
    let frame = |lat| message(EIGHT, vec![vehicle("1", None, lat, 2.3, EIGHT)]);
    fs::create_dir(dir.path().join("recorded")).unwrap();
    for (name, bytes) in
        [("recorded/1.pb", frame(48.9).to_vec()), ("live.pb", body(48.8)), ("city.zip", zip(0))]
    {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let path = |name: &str| dir.path().join(name).display().to_string();
    let vehicles = |url: &str| {
        let static_feed = Some(feed("city"));
        FeedConfig { static_feed, ..config("vehicles", url) }
    };
    let city = config("city", &path("city.zip"));
    let recorded = vehicles(&format!("replay://{}?speed=1", path("recorded")));
    let ingest = start(vec![city.clone(), recorded.clone()]);
    let now = || ingest.find_network_of_feed("city").unwrap().data_time_now();
    let is_recorded = async || now().unix_seconds() < EIGHT + 1_000;
    wait_until("the network uses the recorded time", is_recorded).await;
    // The network continues with another source, then without the feed.
    for feeds in [vec![city.clone(), vehicles(&path("live.pb"))], vec![city.clone()]] {
        ingest.apply_feed_configs(feeds).await.unwrap();
        assert!(now().unix_seconds().abs_diff(RealClock::new().wall_time().unix_seconds()) < 100);
        ingest.apply_feed_configs(vec![city.clone(), recorded.clone()]).await.unwrap();
        wait_until("the network uses the recorded time again", is_recorded).await;
    }
    ingest.stop_polling().await;
}
