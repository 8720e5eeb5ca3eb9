//! Tests of feeds that are added, removed and changed at run time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use lineside_hub::{
    ChannelResolveError, ClientDelivery, EncodedChannelName, Session, SessionLimits,
    SubscribeError, SubscriptionEndReason,
};
use lineside_ingest::{ConfigChange, Ingest, PollNowRefusal, PollingStopped};
use lineside_model::{
    ArchiveSpan, FeedConfig, FeedState, LastPollOutcome, RequestRate, Secret,
    ServedContentFreshness,
};
use lineside_sync::{Clock as _, RealClock, UnixMillis};
use lineside_testkit::wait_until;

use crate::{
    running::{body, config, start, zip},
    support::*,
    upstream::{Answer, Upstream, http},
};

/// Starts a producer of one vehicle that supports conditional requests.
async fn producer(lat: f32) -> Upstream {
    let good = http("200 OK", &["etag: \"one\""], &body(lat));
    Upstream::start(Answer::Conditional("\"one\"", good)).await
}

async fn wait_until_ok(ingest: &Ingest, ids: &[&str]) {
    for id in ids {
        let is_ok =
            async || ingest.find_feed(id).is_some_and(|it| it.status().state == FeedState::Ok);
        wait_until(format_args!("{id} is ok"), is_ok).await;
    }
}

fn subscribe(ingest: &Ingest, channel: &str) -> Result<Session, SubscribeError> {
    let mut session = ingest.hub().open_session(Arc::new(IdleReceiver), SessionLimits::default());
    session.subscribe(&EncodedChannelName::parse_channel_name(channel).unwrap(), None)?;
    Ok(session)
}

/// Applies all deliveries; returns the reason if the subscription ended.
fn pull(
    session: &mut Session,
    received_state: &mut ReceivedState,
) -> Option<SubscriptionEndReason> {
    while let Some(delivery) = session.next_delivery() {
        match delivery {
            ClientDelivery::Ended { why, .. } => return Some(why),
            other => drop(received_state.apply(other.payload().unwrap().data())),
        }
    }
    None
}

fn ids(names: &[&str]) -> Vec<lineside_model::FeedId> {
    names.iter().map(|name| feed(name)).collect()
}

#[tokio::test]
async fn a_reconfigured_feed_keeps_its_data() {
    let upstream = producer(48.87).await;
    let before = config("f", &upstream.url("/vp.pb"));
    let ingest = start(vec![before.clone()]);
    wait_until_ok(&ingest, &["f"]).await;
    let (was, position) =
        (ingest.find_feed("f").unwrap(), ingest.networks()[0].sequence_position());
    let (mut session, mut received_state) =
        (subscribe(&ingest, "feed/f").unwrap(), ReceivedState::default());
    let n_requests = upstream.requests().len();
    let after = FeedConfig {
        name: Some("Buses".to_owned()),
        headers: vec![("x-key".to_owned(), Secret::new("two"))],
        max_bytes: 1 << 19,
        ..before
    };
    assert_eq!(ingest.preview_config_change(vec![after.clone()]).changed, ids(&["f"]));
    let changed = ingest.apply_feed_configs(vec![after.clone()]).await.unwrap();
    assert_eq!(changed, ConfigChange { changed: ids(&["f"]), ..ConfigChange::default() });
    let is = ingest.find_feed("f").unwrap();
    assert_eq!(is.config().display_name(), "Buses");
    assert!(Arc::ptr_eq(&was.snapshot().unwrap(), &is.snapshot().unwrap()));
    assert!(Arc::ptr_eq(&was.network(), &is.network()));
    wait_until("the source is polled again", async || upstream.requests().len() > n_requests + 1)
        .await;
    let last = upstream.requests().pop().unwrap();
    assert!(last.contains("x-key: two") && last.contains("if-none-match: \"one\""), "{last}");
    assert_eq!(ingest.networks()[0].sequence_position().epoch, position.epoch);
    assert_eq!(pull(&mut session, &mut received_state), None);
    assert_eq!(received_state.ids("vehicle"), ["1"]);
    assert!(ingest.apply_feed_configs(vec![after]).await.unwrap().is_unchanged());
    ingest.stop_polling().await;
    assert_eq!(ingest.apply_feed_configs(Vec::new()).await, Err(PollingStopped));
}

/// Reads a feed that does not change, while others are added and removed.
fn hammer(ingest: &Arc<Ingest>, stop: &Arc<AtomicBool>, reads: &Arc<AtomicU64>) -> JoinHandle<()> {
    let (ingest, stop, reads) = (Arc::clone(ingest), Arc::clone(stop), Arc::clone(reads));
    std::thread::spawn(move || {
        while !stop.load(Ordering::Acquire) {
            let feed = ingest.find_feed("stays").expect("the feed stays in the catalog");
            assert!(feed.snapshot().is_some_and(|it| !it.bytes.is_empty()));
            assert_eq!(feed.network().state().vehicles().count(), 1);
            assert!(ingest.feeds().iter().any(|feed| feed.id().as_str() == "stays"));
            let mut session =
                subscribe(&ingest, "feed/stays").expect("the channel accepts subscribers");
            let mut received_state = ReceivedState::default();
            assert_eq!(pull(&mut session, &mut received_state), None);
            assert_eq!(received_state.ids("vehicle"), ["1"]);
            reads.fetch_add(1, Ordering::AcqRel);
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adding_and_removing_feeds_does_not_interrupt_others() {
    const ROUNDS: u64 = 12;
    let upstream = producer(48.87).await;
    let one = |id: &str| config(id, &upstream.url(&format!("/{id}.pb")));
    let mut schedule = one("city");
    schedule.format = Some(lineside_formats::Format::Raw);
    let member = |id: &str| FeedConfig { static_feed: Some(feed("city")), ..one(id) };
    let ingest = start(vec![one("stays"), schedule.clone()]);
    wait_until_ok(&ingest, &["stays", "city"]).await;
    let (mut session, mut received_state) =
        (subscribe(&ingest, "feed/stays").unwrap(), ReceivedState::default());
    let position = ingest.find_network_of_feed("stays").unwrap().sequence_position();
    let (stop, reads) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let hammering = hammer(&ingest, &stop, &reads);
    for round in 0..ROUNDS {
        let seen = reads.load(Ordering::Acquire);
        let mut feeds = vec![one("stays"), schedule.clone()];
        if round % 2 == 0 {
            feeds.extend([one("comes"), member("joins")]);
        }
        let changed = ingest.apply_feed_configs(feeds).await.unwrap();
        let expect = ids(&["comes", "joins"]);
        if round % 2 == 0 {
            assert_eq!((changed.added, changed.networks), (expect, ids(&["city", "comes"])));
            wait_until_ok(&ingest, &["comes", "joins"]).await;
        } else {
            assert_eq!((changed.removed, changed.networks), (expect, ids(&["city"])));
            assert!(
                ingest.find_feed("comes").is_none()
                    && ingest.find_network_of_feed("joins").is_none()
            );
        }
        wait_until("the feed is read in this round", async || {
            reads.load(Ordering::Acquire) > seen + 1
        })
        .await;
    }
    stop.store(true, Ordering::Release);
    hammering.join().unwrap();
    assert_eq!(
        ingest.find_network_of_feed("stays").unwrap().sequence_position().epoch,
        position.epoch
    );
    assert_eq!(pull(&mut session, &mut received_state), None);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn removing_a_feed_ends_its_subscriptions() {
    let upstream = producer(48.87).await;
    let one = |id: &str| config(id, &upstream.url(&format!("/{id}.pb")));
    let ingest = start(vec![one("a"), one("b")]);
    wait_until_ok(&ingest, &["a", "b"]).await;
    let (mut on_a, mut on_b) =
        (subscribe(&ingest, "feed/a").unwrap(), subscribe(&ingest, "vehicle/b/1").unwrap());
    // The cell contains vehicles of both.
    let cell = "area/u09w";
    let mut on_area = subscribe(&ingest, cell).unwrap();
    let (mut state_a, mut state_b, mut area) = Default::default();
    assert_eq!(pull(&mut on_area, &mut area), None);
    assert_eq!(area.ids("vehicle").len(), 2, "{area:?}");
    ingest.apply_feed_configs(vec![one("a")]).await.unwrap();
    assert_eq!(pull(&mut on_b, &mut state_b), Some(SubscriptionEndReason::GroupEnded));
    assert_eq!(pull(&mut on_a, &mut state_a), None);
    assert_eq!(pull(&mut on_area, &mut area), None);
    assert_eq!(area.records.keys().filter(|key| key.0 == "b").count(), 0, "{area:?}");
    assert_eq!(area.ids("vehicle"), ["1"]);
    let refused = subscribe(&ingest, "vehicle/b/1").err();
    assert_eq!(refused, Some(SubscribeError::Unresolved(ChannelResolveError::UnknownFeed)));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_new_source_replaces_the_data_once_it_delivers() {
    let (old, new) = (producer(48.87).await, Upstream::start(Answer::HangUp).await);
    let ingest = start(vec![config("f", &old.url("/vp.pb"))]);
    wait_until_ok(&ingest, &["f"]).await;
    let feed = || ingest.find_feed("f").unwrap();
    let before = feed().snapshot().unwrap();
    let epoch = ingest.networks()[0].epoch();
    ingest.apply_feed_configs(vec![config("f", &new.url("/other"))]).await.unwrap();
    wait_until("the new source fails twice", async || new.requests().len() > 1).await;
    assert!(Arc::ptr_eq(&before, &feed().snapshot().unwrap()));
    assert_eq!(feed().network().state().vehicles().count(), 1);
    assert!(!new.requests()[0].contains("if-none-match"), "validators belong to one source");
    // The source turns into a schedule.
    new.set(Answer::Bytes(http("200 OK", &[], &zip(0))));
    wait_until("the schedule is loaded", async || ingest.networks()[0].timetable().is_some()).await;
    wait_until("its bytes are served", async || feed().snapshot().unwrap().bytes == zip(0)).await;
    assert_eq!(ingest.networks()[0].state().vehicles().count(), 0);
    assert_eq!(ingest.networks()[0].epoch(), epoch);
    // Back again, by the configured format only: the same bytes are served without decoding.
    let raw = Some(lineside_formats::Format::Raw);
    let config = FeedConfig { format: raw, ..config("f", &new.url("/other")) };
    ingest.apply_feed_configs(vec![config]).await.unwrap();
    wait_until("the schedule is removed", async || ingest.networks()[0].timetable().is_none())
        .await;
    assert_eq!(feed().format(), raw);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn networks_are_rebuilt_from_known_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.zip");
    std::fs::write(&path, zip(0)).unwrap();
    let now = RealClock::new().wall_time().unix_seconds();
    let vehicles = message(now, vec![vehicle("1", Some("T18"), 48.87, 2.34, now)]);
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &vehicles))).await;
    let (city, alone) =
        (config("city", path.to_str().unwrap()), config("vehicles", &upstream.url("/v")));
    let ingest = start(vec![city.clone(), alone.clone()]);
    wait_until_ok(&ingest, &["city", "vehicles"]).await;
    let mut session = subscribe(&ingest, "vehicle/vehicles/1").unwrap();
    let mut received_state = ReceivedState::default();
    assert_eq!(pull(&mut session, &mut received_state), None);
    assert!(received_state.find("vehicle", "1").unwrap()["lineside"].get("route_id").is_none());
    let timetable = ingest.networks()[0].timetable().unwrap();
    // The source sends nothing new from here on.
    upstream.set(Answer::ThenHang(Vec::new()));
    let joined = FeedConfig { static_feed: Some(feed("city")), ..alone.clone() };
    let changed = ingest.apply_feed_configs(vec![city.clone(), joined]).await.unwrap();
    assert_eq!((changed.changed, changed.networks), (ids(&["vehicles"]), ids(&["city"])));
    let network = ingest.find_network_of_feed("vehicles").unwrap();
    assert_eq!(network.id().as_str(), "city");
    assert!(
        Arc::ptr_eq(&timetable, &network.timetable().unwrap()),
        "the schedule is not loaded again"
    );
    assert_eq!(pull(&mut session, &mut received_state), Some(SubscriptionEndReason::GroupEnded));
    let mut session = subscribe(&ingest, "vehicle/vehicles/1").unwrap();
    assert_eq!(pull(&mut session, &mut received_state), None);
    assert_eq!(received_state.find("vehicle", "1").unwrap()["lineside"]["route_id"], "R1");
    assert!(ingest.find_feed("vehicles").unwrap().snapshot().is_some());
    // Separate them again.
    ingest.apply_feed_configs(vec![alone, city]).await.unwrap();
    assert_eq!(ingest.networks()[0].id().as_str(), "vehicles");
    assert_eq!(ingest.networks()[0].state().vehicles().count(), 1);
    assert_eq!(ingest.networks()[1].state().vehicles().count(), 0);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_paused_feed_is_served_and_not_polled() {
    let upstream = producer(48.87).await;
    let other = producer(48.88).await;
    let one = config("f", &upstream.url("/vp.pb"));
    let ingest = start(vec![one.clone(), config("other", &other.url("/o"))]);
    wait_until_ok(&ingest, &["f", "other"]).await;
    let paused = FeedConfig { paused: true, ..one.clone() };
    ingest.apply_feed_configs(vec![paused, config("other", &other.url("/o"))]).await.unwrap();
    let status = || ingest.find_feed("f").unwrap().status();
    wait_until("the reason says that it is paused", async || status().reason.starts_with("paused"))
        .await;
    let are_others_polled = async || {
        let meanwhile = other.requests().len();
        wait_until("the other source is polled", async || other.requests().len() > meanwhile + 5)
            .await;
    };
    // A request that the pause cancelled may still arrive.
    are_others_polled().await;
    let n_requests = upstream.requests().len();
    are_others_polled().await;
    assert_eq!(upstream.requests().len(), n_requests);
    assert_eq!(status().next_poll, None);
    assert!(ingest.find_feed("f").unwrap().snapshot().is_some() && ingest.is_ready());
    assert_eq!(ingest.poll_now("f").await, Err(PollNowRefusal::Paused));
    let last = || {
        let bins = ingest
            .poll_archive()
            .list_poll_bins(&feed("f"), ArchiveSpan::Day, UnixMillis(0))
            .unwrap();
        bins.last().map(|bin| (bin.last, bin.last_serving)).unwrap()
    };
    wait_until("the archive records the pause", async || {
        last() == (LastPollOutcome::Paused, ServedContentFreshness::Fresh)
    })
    .await;
    let old = FeedConfig { max_age: Some(Duration::from_millis(1)), paused: true, ..one.clone() };
    ingest.apply_feed_configs(vec![old, config("other", &other.url("/o"))]).await.unwrap();
    wait_until("the archive records that nothing is served", async || {
        last() == (LastPollOutcome::Paused, ServedContentFreshness::Nothing)
    })
    .await;
    ingest.apply_feed_configs(vec![one]).await.unwrap();
    wait_until("the source is polled again", async || upstream.requests().len() > n_requests).await;
    wait_until("the reason no longer mentions the pause", async || {
        !status().reason.contains("paused")
    })
    .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn poll_now_respects_the_rate_limit() {
    let upstream = producer(48.87).await;
    let mut rare = config("f", &upstream.url("/vp.pb"));
    rare.poll = Some(Duration::from_secs(3_600));
    let mut limited = FeedConfig { id: feed("limited"), ..rare.clone() };
    limited.url = lineside_model::SourceLocation::parse(&producer(1.0).await.url("/l")).unwrap();
    limited.rate = RequestRate::parse("1/h").ok();
    let ingest = start(vec![rare, limited]);
    wait_until_ok(&ingest, &["f", "limited"]).await;
    let fetches = |id| ingest.find_feed(id).unwrap().status().fetches;
    assert_eq!(ingest.poll_now("f").await, Ok(()));
    wait_until("the source is polled", async || fetches("f") == 2).await;
    let next = ingest.find_feed("limited").unwrap().status().next_poll;
    let Err(PollNowRefusal::RateLimited(wait)) = ingest.poll_now("limited").await else {
        panic!("the poll is not refused");
    };
    assert!(wait > Duration::from_secs(3_000) && wait <= Duration::from_secs(3_600), "{wait:?}");
    assert_eq!(fetches("limited"), 1);
    assert!(next.is_some() && ingest.find_feed("limited").unwrap().status().next_poll.is_some());
    assert_eq!(ingest.poll_now("none").await, Err(PollNowRefusal::UnknownFeed));
    ingest.stop_polling().await;
    assert_eq!(ingest.poll_now("f").await, Err(PollNowRefusal::Unavailable));
}
