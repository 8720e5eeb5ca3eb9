//! Tests of the handoff between processes: networks resume at their revision, unnoticed by subscribers.

use std::{io::Cursor, sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::{FeedHeader, FeedMessage, feed_header::Incrementality};
use lineside_hub::{
    EncodedChannelName, Hub, HubConfig, Position, PublicationExtras, Session, SessionLimits,
};
use lineside_ingest::{
    HandoffError, HandoffFileContent, HandoffWriter, Ingest, IngestOptions, Network,
    NetworkChannelStates, NetworkWriter,
};
use lineside_model::{Dataset, DecodingLimits, FeedConfig, FeedState, SourceLocation};
use lineside_sync::{Clock, RealClock};
use lineside_testkit::wait_until;
use prost::Message as _;

use crate::{
    running::{options, zip},
    support::*,
};

impl World {
    /// Returns the file that a clean stop leaves.
    fn build_handoff(&self) -> Vec<u8> {
        let mut file = HandoffWriter::begin_handoff_file(Vec::new(), self.now()).unwrap();
        self.writer.write_network_to_handoff(&mut file).unwrap();
        self.hub.stop_app_publishing();
        for room in self.hub.export_room_logs(usize::MAX, |_, _| true).rooms {
            file.write_channel_log(&room).unwrap();
        }
        file.finish_handoff_file().unwrap()
    }

    /// Returns the next process, with other random values.
    pub(crate) fn restarted(&self, config: HubConfig, seed: u64) -> World {
        let mut handoff =
            HandoffFileContent::from_reader(Cursor::new(self.build_handoff())).unwrap();
        let ids = self.network.feed_ids().to_vec();
        let resumed = handoff.take_network(&ids[0]).unwrap();
        let continued = resumed.restore_from_handoff(&ids, self.network.dataset(), seed).unwrap();
        let clock = Arc::clone(&self.clock);
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let others = ids[1..].to_vec();
        let epoch = continued.epoch();
        let network = Network::new(ids[0].clone(), others, 1, epoch, Arc::clone(&shared));
        let network = Arc::new(network);
        let networks = vec![Arc::clone(&network)];
        let channels = Arc::new(NetworkChannelStates::new(networks, seed, Arc::clone(&shared)));
        let hub = Hub::new(config, Arc::clone(&channels) as _, shared, seed ^ 1);
        let mut writer = NetworkWriter::new(Arc::clone(&network), Some(Arc::clone(&hub)), seed);
        writer.resume_earlier_state(continued);
        hub.continue_group_sequence_at(1, network.sequence_position());
        for room in handoff.take_channel_logs() {
            assert_eq!(hub.restore_room_log(room, Duration::ZERO), Ok(true));
        }
        World { clock, network, writer, hub, channels }
    }
}

fn busy_world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let two = vec![
        vehicle("1", Some("T18"), 48.86, 2.34, EIGHT),
        vehicle("2", Some("T19"), 48.87, 2.34, EIGHT),
    ];
    world.apply("city-vehicles", two);
    world.apply("city-trips", vec![update("T18", 20, 120), update("T19", 10, -60)]);
    world.apply("city-alerts", vec![alert("a", Some("R1"), None, "works")]);
    world
}

fn differential(entity: Vec<lineside_formats::gtfs_rt::proto::FeedEntity>) -> Bytes {
    let mut header = FeedHeader {
        gtfs_realtime_version: "2.0".into(),
        timestamp: u64::try_from(EIGHT).ok(),
        ..Default::default()
    };
    header.set_incrementality(Incrementality::Differential);
    FeedMessage { header, entity }.encode_to_vec().into()
}

#[test]
fn a_restarted_network_has_the_same_state_and_publishes_only_changes() {
    let mut world = busy_world();
    world.clock.advance_time(Duration::from_secs(40));
    world.writer.advance_boards_if_due();
    let second = world.restarted(HubConfig::default(), 77);
    assert_eq!(second.network.sequence_position(), world.network.sequence_position());
    assert_eq!(second.network.state().at, world.network.state().at);
    for channel in ["feed/city", "route/city/R1", "stop/city/C", "area/u09tvn"] {
        assert_eq!(second.state_of(channel), world.state_of(channel), "{channel}");
        assert!(!second.state_of(channel).records.is_empty());
    }
    // In both worlds the same messages change nothing, and a real change is one change.
    for mut it in [world, second] {
        let same = vec![update("T18", 20, 120), update("T19", 10, -60)];
        let applied = it.apply("city-trips", same);
        assert_eq!((applied.changes.len(), applied.decoded), (0, 0));
        let applied = it.apply("city-trips", vec![update("T18", 20, 180), update("T19", 10, -60)]);
        // The trip update, and the vehicle that shows its delay.
        assert_eq!((applied.changes.len(), applied.decoded), (2, 1));
    }
}

#[test]
fn entities_of_a_differential_feed_can_be_deleted_after_a_restart() {
    let world = busy_world();
    let mut second = world.restarted(HubConfig::default(), 3);
    let mut deleted = vehicle("1", None, 0.0, 0.0, EIGHT);
    (deleted.vehicle, deleted.is_deleted) = (None, Some(true));
    let body = differential(vec![deleted]);
    let applied =
        second.writer.decode_and_apply_message("city-vehicles", body, second.now()).unwrap();
    assert_eq!((applied.changes.len(), applied.records), (1, 1));
    assert_eq!(second.state_of("feed/city-vehicles").ids("vehicle"), ["2"]);
}

#[test]
fn a_network_that_would_differ_gets_a_new_epoch() {
    let world = busy_world();
    let ids = world.network.feed_ids().to_vec();
    let dataset_now = world.network.dataset();
    let restore = |ids: &[_], dataset: Option<Arc<Dataset>>| {
        let mut handoff =
            HandoffFileContent::from_reader(Cursor::new(world.build_handoff())).unwrap();
        let network = handoff.take_network(&feed("city")).unwrap();
        network.restore_from_handoff(ids, dataset, 1).map(|continued| continued.epoch())
    };
    assert_eq!(restore(&ids, dataset_now.clone()), Ok(world.network.epoch()));
    assert_eq!(restore(&ids[..3], dataset_now.clone()), Err("its feeds have changed"));
    let swapped: Vec<_> = ids.iter().rev().cloned().collect();
    assert_eq!(restore(&swapped, dataset_now), Err("its feeds have changed"));
    assert_eq!(restore(&ids, None), Err("its schedule is missing"));
    let other = restore(&ids, Some(dataset(1)));
    assert_eq!(other, Err("its restored records differ from the saved ones"));
}

#[test]
fn a_truncated_or_changed_file_is_rejected() {
    let file = busy_world().build_handoff();
    let read = |file: &[u8]| HandoffFileContent::from_reader(Cursor::new(file)).map(drop);
    read(&file).unwrap();
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..200 {
        let at = rng.usize(..file.len());
        read(&file[..at]).unwrap_err();
        let mut changed = file.clone();
        changed[at] ^= rng.u8(1..);
        read(&changed).unwrap_err();
    }
    assert!(matches!(read(&[b'x'; 60]), Err(HandoffError::Foreign)));
}

/// A process with a schedule and vehicles from a folder.
struct Process {
    ingest: Arc<Ingest>,
}

impl Process {
    fn start(folder: &std::path::Path, handoff: Option<Vec<u8>>) -> Process {
        Process::with(folder, handoff, |_| {})
    }

    fn with(
        folder: &std::path::Path,
        handoff: Option<Vec<u8>>,
        change: impl FnOnce(&mut IngestOptions),
    ) -> Process {
        let config = |id: &str, file: &str, static_feed: Option<&str>| {
            let url = SourceLocation::parse(folder.join(file).to_str().unwrap()).unwrap();
            let poll = Some(Duration::from_millis(50));
            FeedConfig {
                poll,
                static_feed: static_feed.map(feed),
                ..FeedConfig::new(feed(id), url)
            }
        };
        let feeds =
            vec![config("city", "city.zip", None), config("vehicles", "v.pb", Some("city"))];
        let mut options = IngestOptions { seed: fastrand::u64(..), ..options(feeds) };
        change(&mut options);
        let handoff =
            handoff.map(|file| HandoffFileContent::from_reader(Cursor::new(file)).unwrap());
        Process { ingest: Ingest::start_polling_with_handoff(options, handoff) }
    }

    async fn stop(self) -> Vec<u8> {
        self.ingest.stop_polling().await;
        let mut file =
            HandoffWriter::begin_handoff_file(Vec::new(), RealClock::new().wall_time()).unwrap();
        let networks = self.ingest.write_networks_to_handoff(&mut file).unwrap();
        self.ingest.write_channel_logs_to_handoff(&networks, &mut file).unwrap();
        file.finish_handoff_file().unwrap()
    }

    async fn wait_until_ok(&self) {
        for id in ["city", "vehicles"] {
            let feed = self.ingest.find_feed(id).unwrap();
            wait_until(format_args!("{id} is ok"), async || feed.status().state == FeedState::Ok)
                .await;
        }
    }

    fn position(&self) -> Position {
        self.ingest.networks()[0].sequence_position()
    }

    fn subscribe(&self, channel: &str, from: Option<Position>) -> (Session, bool) {
        let mut session =
            self.ingest.hub().open_session(Arc::new(IdleReceiver), SessionLimits::default());
        let subscribed = session
            .subscribe(&EncodedChannelName::parse_channel_name(channel).unwrap(), from)
            .unwrap();
        (session, subscribed.recovered)
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("city.zip"), zip(0)).unwrap();
    write_vehicles(folder.path(), 48.87);
    folder
}

fn write_vehicles(folder: &std::path::Path, lat: f32) {
    let now = RealClock::new().wall_time().unix_seconds();
    let body = message(now, vec![vehicle("1", Some("T18"), lat, 2.34, now)]);
    // Renamed in one step, because the file is read concurrently.
    std::fs::write(folder.join("new"), body).unwrap();
    std::fs::rename(folder.join("new"), folder.join("v.pb")).unwrap();
}

#[tokio::test]
async fn feeds_serve_their_last_good_bytes_before_the_first_poll() {
    let folder = folder();
    let first = Process::start(folder.path(), None);
    first.wait_until_ok().await;
    let (session, _) = first.subscribe("route/city/R1", None);
    let channel = EncodedChannelName::parse_channel_name("app/chat").unwrap();
    let (listener, _) = first.subscribe("app/chat", None);
    let hub = first.ingest.hub();
    let n_published = hub
        .publish_to_app_channel(&channel, Bytes::from_static(b"1"), PublicationExtras::default())
        .unwrap();
    let position = first.position();
    let snapshots = ["city", "vehicles"].map(|id| first.ingest.find_feed(id).unwrap().snapshot());
    let file = first.stop().await;
    drop((session, listener));
    // The sources are gone, so all data come from the handoff.
    for file in ["city.zip", "v.pb"] {
        std::fs::rename(folder.path().join(file), folder.path().join(format!("{file}.away")))
            .unwrap();
    }
    let next = Process::start(folder.path(), Some(file));
    assert_eq!(next.position(), position);
    for (id, before) in ["city", "vehicles"].into_iter().zip(snapshots) {
        let feed = next.ingest.find_feed(id).unwrap();
        let (before, after) = (before.unwrap(), feed.snapshot().unwrap());
        assert_eq!(after.bytes, before.bytes);
        assert_eq!(after.etag(), before.etag());
        assert_eq!((after.fetched_at, &after.file_name), (before.fetched_at, &before.file_name));
        assert_eq!(feed.status().state, FeedState::Ok);
        assert!(feed.status().last_success.is_some());
    }
    assert_eq!(next.ingest.networks()[0].timetable().unwrap().trips().len(), 102);
    let (mut session, recovered) = next.subscribe("route/city/R1", Some(position));
    assert!(recovered && session.next_delivery().is_none(), "a resumed session misses nothing");
    let from = Position { offset: 0, ..n_published.position.unwrap() };
    let (mut session, recovered) = next.subscribe("app/chat", Some(from));
    assert!(
        recovered && session.next_delivery().is_some(),
        "the earlier publication is delivered again"
    );
    next.ingest.stop_polling().await;
}

#[tokio::test]
async fn after_a_restart_only_changed_bytes_are_published() {
    let folder = folder();
    let first = Process::start(folder.path(), None);
    first.wait_until_ok().await;
    let (session, _) = first.subscribe("feed/city", None);
    let position = first.position();
    let file = first.stop().await;
    drop(session);
    let next = Process::start(folder.path(), Some(file));
    let feed = next.ingest.find_feed("vehicles").unwrap();
    wait_until("the feed is polled twice", async || feed.status().fetches >= 2).await;
    assert_eq!(feed.status().outcomes[0].0, "same");
    assert_eq!(next.position(), position);
    write_vehicles(folder.path(), 48.88);
    wait_until("the vehicle has moved", async || next.position().offset > position.offset).await;
    let (mut session, recovered) = next.subscribe("feed/city", Some(position));
    assert!(recovered);
    let delivery = session.next_delivery().expect("the change is missing");
    assert_eq!(delivery.position(), Some(Position { offset: position.offset + 1, ..position }));
    next.ingest.stop_polling().await;
}

#[tokio::test]
async fn a_changed_configuration_gets_a_new_epoch_and_keeps_app_channels() {
    let folder = folder();
    let first = Process::start(folder.path(), None);
    first.wait_until_ok().await;
    let (session, _) = first.subscribe("feed/city", None);
    let (listener, _) = first.subscribe("app/chat", None);
    let channel = EncodedChannelName::parse_channel_name("app/chat").unwrap();
    let hub = first.ingest.hub();
    let n_published = hub
        .publish_to_app_channel(&channel, Bytes::from_static(b"1"), PublicationExtras::default())
        .unwrap();
    let position = first.position();
    let file = first.stop().await;
    drop((session, listener));
    let less = |options: &mut IngestOptions| drop(options.feeds.pop());
    let next = Process::with(folder.path(), Some(file), less);
    assert_ne!(next.position().epoch, position.epoch);
    let (_, recovered) = next.subscribe("feed/city", Some(position));
    assert!(!recovered);
    let (_, recovered) = next.subscribe("app/chat", n_published.position);
    assert!(recovered);
    next.ingest.stop_polling().await;
}

#[tokio::test]
async fn a_lowered_memory_limit_applies_to_the_schedule_of_a_restarted_network() {
    let folder = folder();
    let first = Process::start(folder.path(), None);
    first.wait_until_ok().await;
    let position = first.position();
    let file = first.stop().await;
    let next = Process::with(folder.path(), Some(file), |options| {
        options.load_limits = DecodingLimits::for_memory(1_000);
    });
    assert_ne!(next.position().epoch, position.epoch);
    let schedule = next.ingest.find_feed("city").unwrap();
    wait_until("the schedule is refused", async || schedule.status().failures > 0).await;
    assert!(next.ingest.networks()[0].timetable().is_none());
    next.ingest.stop_polling().await;
}
