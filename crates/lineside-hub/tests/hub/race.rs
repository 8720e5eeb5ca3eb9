//! Tests with real threads: publishing while rooms are created and closed, and while sessions sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, ClientDelivery,
    EncodedChannelName, Epoch, Hub, HubConfig, NewsListener, Position, RoomKey, Session,
    SessionLimits,
};
use lineside_sync::{SimulatedClock, UnixMillis};

const ROUNDS: u64 = 1_500;
/// Short rounds, because only the loss of a round's last signal can be noticed.
const ROUND: u64 = 12;
const READERS: u64 = 3;
const ROUTES: u64 = 4;
const GROUP: u32 = 1;
const EPOCH: Epoch = Epoch::from_bits(9);
/// A wait this long for the next relevant revision means that a signal was lost.
const LOST_SIGNAL: Duration = Duration::from_secs(3);
const WAITS: usize = 4;

/// A network whose state is its revision.
struct Counter(AtomicU64);

impl Counter {
    fn now(&self) -> Position {
        // Relaxed on purpose: the hub must order this against its tables by itself.
        Position { epoch: EPOCH, offset: self.0.load(Ordering::Relaxed) }
    }
}

impl ChannelStateSource for Counter {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let id = channel.decoded_segments().nth(1).and_then(|id| id.parse().ok());
        Ok(key(id.ok_or(BadChannelName::UnknownForm)?))
    }

    fn sequence_name(&self, _: &EncodedChannelName, _: RoomKey) -> String {
        "counter".into()
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        Some(self.now())
    }

    fn read_state(&self, _: &EncodedChannelName, _: RoomKey) -> ChannelState {
        ChannelState { position: Some(self.now()), parts: vec![Bytes::from_static(b"state")] }
    }
}

struct Unparks {
    thread: Thread,
    signaled: AtomicBool,
}

impl NewsListener for Unparks {
    fn signal_news(&self) {
        self.signaled.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Returns a key with a separate kind for each route, so that the interest in it rises and falls too.
fn key(route: u64) -> RoomKey {
    RoomKey { group: GROUP, kind: route as u8, id: route }
}

/// Returns true if a revision concerns a route: each concerns one or two routes, the last of a round all.
fn concerns(revision: u64, route: u64) -> bool {
    revision.is_multiple_of(ROUND) || revision % ROUTES == route || revision / 7 % ROUTES == route
}

fn publish(source: &Counter, hub: &Hub, done: &[AtomicU64]) {
    for revision in 2..=ROUNDS * ROUND {
        source.0.store(revision, Ordering::Relaxed);
        let at = Position { epoch: EPOCH, offset: revision };
        let mut batch = hub.open_publish_batch();
        let interest = hub.room_group(GROUP);
        for route in (0..ROUTES).filter(|route| concerns(revision, *route)) {
            if interest.has_rooms_of_kind(route as u8)
                && let Some(room) = hub.find_room(key(route))
            {
                batch.append_publication(&room, Some(at), Bytes::from_static(b"change"));
            }
        }
        batch.finish_and_signal_listeners();
        while revision % ROUND == 0
            && done.iter().any(|done| done.load(Ordering::Acquire) < revision)
        {
            thread::yield_now();
        }
    }
}

/// One channel of a reader, complete up to its cursor.
struct ChannelCursor {
    channel: EncodedChannelName,
    route: u64,
    cursor: u64,
}

impl ChannelCursor {
    /// Checks that every relevant revision arrives, or a state in its place.
    fn take(&mut self, delivery: &ClientDelivery, listed: u64) {
        let offset = delivery.position().expect("the state has one part").offset;
        assert!(offset > self.cursor || self.cursor == 0, "{offset} after {}", self.cursor);
        assert!(
            offset > listed || listed == 0,
            "{offset} arrived after {listed} was listed as held"
        );
        if let ClientDelivery::Publication { .. } = delivery {
            let missed = (self.cursor + 1..offset).find(|it| concerns(*it, self.route));
            assert_eq!(missed, None, "route {} at {offset} after {}", self.route, self.cursor);
        }
        self.cursor = offset;
    }
}

/// The reader's progress; a reader that has failed no longer blocks the publisher.
struct Done<'a>(&'a AtomicU64);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Ordering::Release);
    }
}

struct Reader<'a> {
    hub: &'a Arc<Hub>,
    listener: Arc<Unparks>,
    session: Session,
    cursors: Vec<ChannelCursor>,
    /// The position that it would return with.
    listed: Option<Position>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of two routes.
    fn new(hub: &'a Arc<Hub>, number: u64) -> Self {
        let channel =
            |route| EncodedChannelName::parse_channel_name(&format!("c/{route}")).expect("a name");
        let cursors = [number, number + 1].map(|route| ChannelCursor {
            channel: channel(route),
            route,
            cursor: 0,
        });
        let listener =
            Arc::new(Unparks { thread: thread::current(), signaled: AtomicBool::new(false) });
        let session = hub.open_session(listener.clone(), SessionLimits::default());
        let mut reader = Self { hub, listener, session, cursors: cursors.into(), listed: None };
        reader.open();
        reader
    }

    fn open(&mut self) {
        self.session = self.hub.open_session(self.listener.clone(), SessionLimits::default());
        for entry in &mut self.cursors {
            let subscribed =
                self.session.subscribe(&entry.channel, self.listed).expect("subscribed");
            entry.cursor = if subscribed.recovered { subscribed.position.offset } else { 0 };
        }
    }

    /// Reads to the end, and reconnects now and then so that rooms are created and closed.
    fn run(mut self, rng: &mut fastrand::Rng, done: &Done<'_>) {
        loop {
            // From here on a signal counts only if it comes after the session was drained.
            self.listener.signaled.store(false, Ordering::Release);
            while let Some(delivery) = self.session.next_delivery() {
                self.take(&delivery);
                self.note_listed();
            }
            self.note_listed();
            let all = self.cursors.iter().map(|held| held.cursor).min().unwrap_or(0);
            done.0.store(all, Ordering::Release);
            if all == ROUNDS * ROUND {
                return;
            }
            if rng.bool() {
                self.listed = self.listed.filter(|_| rng.bool());
                self.open();
            } else {
                assert!(self.is_signaled(), "a signal was lost");
            }
        }
    }

    /// Waits for a signal. The thread may also wake for a signal that it has already taken.
    fn is_signaled(&self) -> bool {
        (0..WAITS).any(|_| {
            thread::park_timeout(LOST_SIGNAL);
            self.listener.signaled.swap(false, Ordering::Acquire)
        })
    }

    fn take(&mut self, delivery: &ClientDelivery) {
        let listed = self.listed.filter(|_| matches!(delivery, ClientDelivery::Publication { .. }));
        let entry = self.cursors.iter_mut().find(|held| held.channel == *delivery.channel());
        entry
            .expect("a subscribed channel")
            .take(delivery, listed.map_or(0, |position| position.offset));
    }

    fn note_listed(&mut self) {
        self.listed = self.session.client_positions().next().map(|(_, position)| position);
    }
}

#[test]
fn concurrent_publishing_and_room_creation_lose_nothing() {
    let source = Arc::new(Counter(AtomicU64::new(1)));
    // Rooms close as soon as they are left; the ring holds everything, so that no reader is too slow.
    let config = HubConfig {
        linger: Duration::ZERO,
        ring_publications: usize::MAX,
        ring_bytes_min: usize::MAX / 2,
        ring_bytes_max: usize::MAX / 2,
        ..HubConfig::default()
    };
    let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
    let hub = Hub::new(config, source.clone(), clock, 1);
    let done: Vec<AtomicU64> = (0..READERS).map(|_| AtomicU64::new(0)).collect();
    let is_finished = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|number| {
                let (hub, done) = (&hub, &done[number as usize]);
                scope.spawn(move || {
                    Reader::new(hub, number)
                        .run(&mut fastrand::Rng::with_seed(number), &Done(done));
                })
            })
            .collect();
        scope.spawn(|| publish(&source, &hub, &done));
        scope.spawn(|| {
            while !is_finished.load(Ordering::Acquire) {
                hub.trim_and_close_idle_rooms();
                thread::yield_now();
            }
        });
        let results: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        is_finished.store(true, Ordering::Release);
        results.into_iter().for_each(|result| result.expect("a reader without violations"));
    });
    hub.trim_and_close_idle_rooms();
    let metrics = hub.metrics();
    assert_eq!((metrics.sessions, metrics.rooms, metrics.ring_bytes), (0, 0, 0));
}
