//! A scripted source with one network and one cell, and hooks in its reads.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelRoom, ChannelState, ChannelStateSource,
    ClientDelivery, EncodedChannelName, Epoch, Hub, HubConfig, NewsListener, Position, RoomKey,
    Session, SessionLimits, SubscriptionEndReason,
};
use lineside_sync::{Clock, SimulatedClock, Sleep, UnixMillis};
use parking_lot::Mutex;

pub(crate) const EPOCH: Epoch = Epoch::from_bits(1);
pub(crate) const OTHER_EPOCH: Epoch = Epoch::from_bits(2);
pub(crate) const GROUP: u32 = 1;
pub(crate) const ROUTE: u8 = 2;
const AREA: u8 = 3;

type Hook = Box<dyn FnOnce() + Send>;

pub(crate) struct Script {
    now: Mutex<Position>,
    /// The group of the routes; `None` once the routes no longer exist.
    pub(crate) group: Mutex<Option<u32>>,
    part_bytes: Mutex<Vec<usize>>,
    /// Hooks that run once each, after the position was read and before it is returned.
    pub(crate) in_position: Mutex<VecDeque<Hook>>,
    pub(crate) in_read: Mutex<VecDeque<Hook>>,
}

pub(crate) fn at(offset: u64) -> Position {
    Position { epoch: EPOCH, offset }
}

pub(crate) fn route(id: u64) -> RoomKey {
    RoomKey { group: GROUP, kind: ROUTE, id }
}

impl ChannelStateSource for Script {
    /// `route/<n>` counts with the network, `area/<n>` has its own sequence, `twin/<n>` has the key of `route/<n>`.
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let segments: Vec<_> = channel.decoded_segments().collect();
        let id = segments[1].parse().map_err(|_| ChannelResolveError::UnknownFeed)?;
        match &*segments[0] {
            "route" | "twin" => {
                let group = self.group.lock().ok_or(ChannelResolveError::UnknownFeed)?;
                Ok(RoomKey { group, ..route(id) })
            }
            "area" => Ok(RoomKey { group: 0, kind: AREA, id }),
            _ => Err(BadChannelName::UnknownForm.into()),
        }
    }

    fn sequence_name(&self, channel: &EncodedChannelName, key: RoomKey) -> String {
        if key.has_own_sequence() { channel.to_string() } else { "city".into() }
    }

    fn current_position(&self, _: &EncodedChannelName, key: RoomKey) -> Option<Position> {
        let now = *self.now.lock();
        let hook = self.in_position.lock().pop_front();
        hook.into_iter().for_each(|hook| hook());
        let is_known = key.has_own_sequence() || Some(key.group) == *self.group.lock();
        is_known.then_some(now)
    }

    fn read_state(&self, _: &EncodedChannelName, _: RoomKey) -> ChannelState {
        let now = *self.now.lock();
        let parts = self.part_bytes.lock().iter().map(|bytes| vec![b's'; *bytes].into()).collect();
        let hook = self.in_read.lock().pop_front();
        hook.into_iter().for_each(|hook| hook());
        ChannelState { position: Some(now), parts }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Signals(AtomicUsize);

impl Signals {
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::AcqRel)
    }
}

impl NewsListener for Signals {
    fn signal_news(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

pub(crate) struct Stage {
    pub(crate) source: Arc<Script>,
    pub(crate) clock: SimulatedClock,
    pub(crate) hub: Arc<Hub>,
}

/// Creates a hub with a ring of four and a linger time of ten seconds.
pub(crate) fn stage() -> Stage {
    stage_with(HubConfig {
        ring_publications: 4,
        linger: Duration::from_secs(10),
        ..HubConfig::default()
    })
}

pub(crate) fn stage_with(config: HubConfig) -> Stage {
    let clock = SimulatedClock::new(UnixMillis(0));
    stage_by(config, clock.clone(), Arc::new(clock))
}

fn stage_by(config: HubConfig, clock: SimulatedClock, shown: Arc<dyn Clock>) -> Stage {
    let source = Arc::new(Script {
        now: Mutex::new(at(10)),
        group: Mutex::new(Some(GROUP)),
        part_bytes: Mutex::new(vec![5]),
        in_position: Mutex::default(),
        in_read: Mutex::default(),
    });
    let hub = Hub::new(config, source.clone(), shown, 7);
    Stage { source, clock, hub }
}

/// A clock that runs a hook once before it returns the time.
#[derive(Default)]
pub(crate) struct Interruption(Mutex<Option<Hook>>);

impl Interruption {
    pub(crate) fn set(&self, hook: impl FnOnce() + Send + 'static) {
        *self.0.lock() = Some(Box::new(hook));
    }
}

impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interruption")
    }
}

impl Clock for Interruption {
    fn monotonic(&self) -> Duration {
        let hook = self.0.lock().take();
        hook.into_iter().for_each(|hook| hook());
        Duration::ZERO
    }

    fn wall_time(&self) -> UnixMillis {
        UnixMillis(0)
    }

    fn sleep_until(&self, _: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

pub(crate) fn interrupted_stage() -> (Stage, Arc<Interruption>) {
    let interruption = Arc::new(Interruption::default());
    let clock = SimulatedClock::new(UnixMillis(0));
    (stage_by(HubConfig::default(), clock, interruption.clone()), interruption)
}

impl Stage {
    pub(crate) fn session(&self) -> (Session, Arc<Signals>) {
        let signals = Arc::new(Signals::default());
        (self.hub.open_session(signals.clone(), SessionLimits::default()), signals)
    }

    /// Opens a session on one channel, from a position if given.
    pub(crate) fn on(&self, channel: &str, from: Option<Position>) -> (Session, Arc<Signals>) {
        let (mut session, signals) = self.session();
        session.subscribe(&name(channel), from).expect("a subscription");
        (session, signals)
    }

    pub(crate) fn room(&self, id: u64) -> Arc<ChannelRoom> {
        self.hub.find_room(route(id)).expect("a living room")
    }

    pub(crate) fn parts(&self, bytes: &[usize]) {
        *self.source.part_bytes.lock() = bytes.to_vec();
    }

    pub(crate) fn swap(&self, to: Position) {
        *self.source.now.lock() = to;
    }

    /// Publishes the offsets one by one, each in its own batch, on the routes given.
    pub(crate) fn publish(&self, offsets: impl IntoIterator<Item = u64>, routes: &[u64]) {
        for offset in offsets {
            self.publish_at(at(offset), routes);
        }
    }

    pub(crate) fn publish_at(&self, at: Position, routes: &[u64]) {
        self.swap(at);
        let mut batch = self.hub.open_publish_batch();
        for id in routes {
            batch.append_publication(&self.room(*id), Some(at), Bytes::from_static(b"change"));
        }
        batch.finish_and_signal_listeners();
    }
}

pub(crate) fn name(channel: &str) -> EncodedChannelName {
    EncodedChannelName::parse_channel_name(channel).expect("a channel")
}

/// Returns all deliveries of a session in short form: `s12` the last part of a state at 12, `g12` that of a gap state,
/// `s.` or `g.` another part, `12` a publication, `+a` and `-a` a join and a leave of a, `x3000` a disconnect, `slow`,
/// `lost` or `over` the end.
pub(crate) fn drain(session: &mut Session) -> String {
    let all: Vec<String> =
        std::iter::from_fn(|| session.next_delivery()).map(|it| brief(&it)).collect();
    all.join(" ")
}

pub(crate) fn brief(delivery: &ClientDelivery) -> String {
    let offset = delivery.position().map_or(".".into(), |position| position.offset.to_string());
    match delivery {
        ClientDelivery::State { gap, .. } => format!("{}{offset}", if *gap { 'g' } else { 's' }),
        ClientDelivery::Publication { .. } => offset,
        ClientDelivery::Member { joined, member, .. } => {
            format!("{}{}", if *joined { '+' } else { '-' }, member.client)
        }
        ClientDelivery::Disconnect { order, .. } => format!("x{}", order.code),
        ClientDelivery::Ended { why: SubscriptionEndReason::Slow, .. } => "slow".into(),
        ClientDelivery::Ended { why: SubscriptionEndReason::Lost, .. } => "lost".into(),
        ClientDelivery::Ended { why: SubscriptionEndReason::GroupEnded, .. } => "over".into(),
    }
}

pub(crate) fn held(session: &mut Session) -> Vec<String> {
    session
        .client_positions()
        .map(|(name, position)| format!("{name}@{}", position.offset))
        .collect()
}
