//! Tests of the handoff from one hub to the next: returning clients notice nothing, and beyond the limit the oldest
//! publications are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, ClientDelivery,
    EncodedChannelName, Epoch, HandoffRoomLogs, HistoryOptions, HistoryQuery, Hub, HubConfig,
    Namespace, NewsListener, Position, PresenceMember, PublicationExtras, PublishError, RoomKey,
    Session, SessionLimits,
};
use lineside_sync::{SimulatedClock, UnixMillis};
use parking_lot::Mutex;
use proptest::prelude::*;

const EPOCH: Epoch = Epoch::from_bits(77);
const ROUTES: u64 = 3;
const CHANNELS: [&str; 6] = ["route/0", "route/1", "route/2", "app/x", "app/kept/x", "app/kept/y"];

/// One network of a few routes, whose revision outlives its hub; and the extra size of its states.
#[derive(Default)]
struct Network(Mutex<u64>, AtomicUsize);

impl Network {
    fn position(&self) -> Position {
        Position { epoch: EPOCH, offset: *self.0.lock() }
    }
}

impl ChannelStateSource for Network {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let mut segments = channel.decoded_segments();
        match (segments.next().as_deref(), segments.next()) {
            (Some("route"), Some(id)) => {
                let id = id.parse().ok().filter(|id| *id < ROUTES);
                id.map(|id| RoomKey { group: 1, kind: 5, id })
                    .ok_or(ChannelResolveError::UnknownFeed)
            }
            _ => Err(BadChannelName::UnknownForm.into()),
        }
    }

    fn sequence_name(&self, _: &EncodedChannelName, _: RoomKey) -> String {
        "city".to_owned()
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        Some(self.position())
    }

    fn read_state(&self, channel: &EncodedChannelName, _: RoomKey) -> ChannelState {
        let at = self.position();
        let more = " ".repeat(self.1.load(Ordering::Relaxed));
        ChannelState { position: Some(at), parts: vec![format!("{channel} at {at}{more}").into()] }
    }
}

struct Nobody;

impl NewsListener for Nobody {
    fn signal_news(&self) {}
}

/// One of several successive processes with the same network.
struct Process {
    network: Arc<Network>,
    clock: SimulatedClock,
    hub: Arc<Hub>,
}

fn config() -> HubConfig {
    let history = HistoryOptions { size: 3, ttl: Duration::from_secs(60) };
    HubConfig {
        ring_publications: 6,
        linger: Duration::from_secs(10),
        namespaces: vec![Namespace {
            prefix: "app/kept/".into(),
            history: Some(history),
            ..Namespace::default()
        }],
        ..HubConfig::default()
    }
}

impl Process {
    fn first() -> Self {
        let clock = SimulatedClock::new(UnixMillis(0));
        clock.advance_time(Duration::from_secs(3_600));
        Self::with(Arc::default(), clock, 1)
    }

    fn with(network: Arc<Network>, clock: SimulatedClock, seed: u64) -> Self {
        let source: Arc<Network> = network.clone();
        let hub = Hub::new(config(), source, Arc::new(clock.clone()), seed);
        Self { network, clock, hub }
    }

    fn kept(&self, bytes_max: usize) -> HandoffRoomLogs {
        self.hub.stop_app_publishing();
        self.hub.export_room_logs(bytes_max, |_, _| true)
    }

    /// Starts the next process `away` later, with a new clock.
    fn next(&self, handoff: HandoffRoomLogs, away: Duration) -> Self {
        let next = Self::with(self.network.clone(), SimulatedClock::new(UnixMillis(0)), 2);
        for room in handoff.rooms {
            assert_eq!(next.hub.restore_room_log(room, away), Ok(true));
        }
        next.hub.continue_group_sequence_at(1, self.network.position());
        next
    }

    fn session(&self) -> Session {
        self.hub.open_session(Arc::new(Nobody), SessionLimits::default())
    }

    /// Changes a route: the state first, then the room, if it exists.
    fn change(&self, route: u64) {
        self.change_of(route, 0);
    }

    /// Changes a route, with `more` additional bytes.
    fn change_of(&self, route: u64, more: usize) {
        let at = {
            let mut revision = self.network.0.lock();
            *revision += 1;
            Position { epoch: EPOCH, offset: *revision }
        };
        let mut batch = self.hub.open_publish_batch();
        batch.mark_group_published_up_to(1, at);
        if let Some(room) = self.hub.find_room(RoomKey { group: 1, kind: 5, id: route }) {
            let more = " ".repeat(more);
            batch.append_publication(&room, Some(at), format!("change {}{more}", at.offset).into());
        }
        batch.finish_and_signal_listeners();
    }

    fn say(
        &self,
        channel: &str,
        text: &str,
        extras: PublicationExtras,
    ) -> Result<(), PublishError> {
        self.hub
            .publish_to_app_channel(&name(channel), Bytes::from(text.to_owned()), extras)
            .map(drop)
    }

    /// Returns all deliveries to a client that returns to a channel with a position.
    fn come_back(&self, channel: &str, from: Position) -> String {
        let mut session = self.session();
        let subscribed = session.subscribe(&name(channel), Some(from)).expect("subscribed");
        format!("{subscribed:?}: {}", told(&mut session))
    }
}

fn name(channel: &str) -> EncodedChannelName {
    EncodedChannelName::parse_channel_name(channel).expect("a channel")
}

fn told(session: &mut Session) -> String {
    let mut deliveries = Vec::new();
    while let Some(delivery) = session.next_delivery() {
        deliveries.push(match delivery {
            ClientDelivery::State { state, part, gap, .. } => {
                format!("state {:?} gap {gap}", state.parts()[part].data())
            }
            ClientDelivery::Publication { epoch, publication, .. } => {
                let (data, extras) = (publication.payload.data(), publication.extras());
                format!("{epoch}:{} {data:?} {extras:?}", publication.offset)
            }
            other => format!("{other:?}"),
        });
    }
    let positions: Vec<String> =
        session.client_positions().map(|(name, position)| format!("{name}@{position}")).collect();
    format!("{} held {}", deliveries.join("; "), positions.join(","))
}

#[derive(Clone, Debug)]
enum Step {
    Change(u64),
    Publish(usize, u8),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..ROUTES).prop_map(Step::Change),
        4 => (3..CHANNELS.len(), any::<u8>()).prop_map(|(channel, what)| Step::Publish(channel, what)),
        1 => (0..20_u64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    /// After any history, and from any position, a client gets from the second process what the first one would have
    /// sent.
    #[test]
    fn a_returning_client_notices_no_restart(steps in steps(), back in 0..12_u64) {
        let first = Process::first();
        let mut listening: Vec<Session> = CHANNELS.iter().map(|channel| {
            let mut session = first.session();
            session.subscribe(&name(channel), None).expect("subscribed");
            session
        }).collect();
        for step in steps {
            match step {
                Step::Change(route) => first.change(route),
                Step::Publish(channel, what) => {
                    let publisher = PresenceMember { client: "c".into(), ..PresenceMember::default() };
                    let extras = PublicationExtras {
                        publisher: (what % 3 == 0).then(|| Arc::new(publisher)),
                        tags: vec![("tag".into(), what.to_string().into())],
                        skip_history: what % 5 == 0,
                    };
                    first.say(CHANNELS[channel], &format!("said {what}"), extras)?;
                }
                Step::Wait(seconds) => {
                    first.clock.advance_time(Duration::from_secs(seconds));
                    first.hub.trim_and_close_idle_rooms();
                }
            }
        }
        let positions: Vec<Option<Position>> = listening.iter_mut().map(|session| {
            told(session);
            session.client_positions().next().map(|(_, position)| position)
        }).collect();
        let next = first.next(first.kept(usize::MAX), Duration::ZERO);
        for (channel, held) in CHANNELS.iter().zip(positions) {
            let Some(held) = held else { continue };
            let from = Position { offset: held.offset.saturating_sub(back), ..held };
            prop_assert_eq!(next.come_back(channel, from), first.come_back(channel, from), "{}", channel);
        }
        let all = HistoryQuery { limit: 100, since: None, reverse: false };
        let history = |hub: &Hub, channel| {
            let history = hub.read_history(&name(channel), all).expect("a history");
            let texts: Vec<Bytes> =
                history.publications.iter().map(|it| it.payload.data().clone()).collect();
            (history.position.offset, texts)
        };
        for channel in &CHANNELS[4..] {
            prop_assert_eq!(history(&next.hub, channel), history(&first.hub, channel));
        }
    }
}

#[test]
fn offsets_continue_after_a_restart() {
    let first = Process::first();
    let mut session = first.session();
    session.subscribe(&name("route/1"), None).expect("subscribed");
    told(&mut session);
    first.change(1);
    let from = first.network.position();
    first.change(1);
    let next = first.next(first.kept(usize::MAX), Duration::from_secs(5));
    next.change(1);
    let deliveries = next.come_back("route/1", from);
    assert!(
        deliveries.contains("recovered: true") && deliveries.contains("change 2"),
        "{deliveries}"
    );
    assert!(deliveries.contains("change 3") && !deliveries.contains("state"), "{deliveries}");
}

#[test]
fn the_ring_size_of_a_large_state_survives_a_restart() {
    let first = Process::first();
    let mut session = first.session();
    session.subscribe(&name("route/1"), None).expect("subscribed");
    first.network.1.store(200 << 10, Ordering::Relaxed);
    first.change(1);
    told(&mut session);
    let from = first.network.position();
    for _ in 0..3 {
        first.change_of(1, 40 << 10);
    }
    let next = first.next(first.kept(usize::MAX), Duration::ZERO);
    next.hub.trim_and_close_idle_rooms();
    next.change(2);
    let deliveries = next.come_back("route/1", from);
    assert!(deliveries.contains("recovered: true"), "{}", &deliveries[..200]);
}

#[test]
fn a_sealed_hub_refuses_publications() {
    let first = Process::first();
    first.say("app/kept/x", "before", PublicationExtras::default()).expect("published");
    let handoff = first.kept(usize::MAX);
    let after = first.say("app/kept/x", "after", PublicationExtras::default());
    assert_eq!(after, Err(PublishError::Stopping));
    assert_eq!(handoff.rooms.len(), 1);
    assert_eq!(handoff.rooms[0].publications.len(), 1);
    assert_eq!(first.kept(usize::MAX), handoff);
}

#[test]
fn the_newest_publications_are_saved_within_the_limit() {
    let first = Process::first();
    for second in 0..3 {
        for channel in ["app/kept/x", "app/kept/y"] {
            first
                .say(channel, &format!("second {second}"), PublicationExtras::default())
                .expect("published");
        }
        first.clock.advance_time(Duration::from_secs(1));
    }
    let handoff = first.kept(2 * "second 2".len());
    assert_eq!(handoff.n_omitted, 4);
    for room in &handoff.rooms {
        assert_eq!((room.floor, room.publications.len()), (2, 1), "{room:?}");
    }
    let epoch = handoff.rooms[0].epoch;
    let channel = handoff.rooms[0].channel.to_string();
    let next = first.next(handoff, Duration::ZERO);
    let back = |offset| next.come_back(&channel, Position { epoch, offset });
    assert!(back(2).contains("recovered: true") && back(2).contains("second 2"), "{}", back(2));
    assert!(
        back(1).contains("recovered: false"),
        "a lost publication must not be silent: {}",
        back(1)
    );
}

#[test]
fn saved_history_ages_between_two_processes() {
    let first = Process::first();
    first.say("app/kept/x", "old", PublicationExtras::default()).expect("published");
    first.clock.advance_time(Duration::from_secs(40));
    first.say("app/kept/x", "new", PublicationExtras::default()).expect("published");
    let next = first.next(first.kept(usize::MAX), Duration::from_secs(30));
    let all = HistoryQuery { limit: 100, since: None, reverse: false };
    let texts = |expected: &[&str]| {
        let history = next.hub.read_history(&name("app/kept/x"), all).expect("a history");
        let texts: Vec<&[u8]> =
            history.publications.iter().map(|it| &it.payload.data()[..]).collect();
        let expected: Vec<&[u8]> = expected.iter().map(|text| text.as_bytes()).collect();
        assert_eq!(texts, expected);
        assert_eq!(history.position.offset, 2);
    };
    texts(&["new"]);
    next.clock.advance_time(Duration::from_secs(31));
    texts(&[]);
}

#[test]
fn a_restored_room_lingers_for_returning_clients() {
    let first = Process::first();
    first.session().subscribe(&name("route/1"), None).expect("subscribed");
    first.change(1);
    let next = first.next(first.kept(usize::MAX), Duration::ZERO);
    for (seconds, rooms) in [(100, 1), (31, 0)] {
        next.clock.advance_time(Duration::from_secs(seconds));
        next.hub.trim_and_close_idle_rooms();
        assert_eq!(next.hub.metrics().rooms, rooms, "after {seconds} s more");
    }
}

#[test]
fn user_subscriptions_are_not_saved() {
    let first = Process::first();
    let mut session = first.session();
    session.subscribe(&name("app/x"), None).expect("subscribed");
    session.subscribe_to_user_orders("someone").expect("subscribed");
    let handoff = first.kept(usize::MAX);
    let names: Vec<&str> = handoff.rooms.iter().map(|room| room.channel.as_str()).collect();
    assert_eq!(names, ["app/x"]);
}
