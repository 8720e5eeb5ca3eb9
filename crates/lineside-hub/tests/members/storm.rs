//! Clients that connect, subscribe, enter, leave and publish in any order, with checks after each step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, ClientDelivery,
    EncodedChannelName, HistoryOptions, Hub, HubConfig, HubMetrics, Namespace, Position,
    PresenceError, PresenceMember, PublicationExtras, PublishError, RoomKey, SubscribeError,
};
use lineside_sync::{SimulatedClock, UnixMillis};

use crate::reader::{Outcome, Reader, Said, Told, name};
use crate::support::{Trace, Violation};

const STEPS: usize = 400;
const CLIENTS: usize = 6;
const USERS: usize = 3;
/// Channels under `told/` publish joins and leaves, those under `counted/` only count members, and all but `plain/`
/// have a history.
const CHANNELS: [&str; 6] =
    ["app/told/a", "app/told/b", "app/counted/a", "app/counted/b", "app/plain/a", "app/plain/b"];
/// The longest publication. Many fit into a log, few into all logs together.
const BYTES_MAX: usize = 400;
/// The node's limit for all rooms: enough for the last publication of each.
const TOTAL_BYTES: usize = 12_000;
/// Enough pulls for every client to get through the calm.
const CALM_PULLS: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    None,
    /// A leaving member stays on the list.
    LeaveForgotten,
    /// A user with two connections counts as two users.
    UserCountedTwice,
    /// A client loses a join, or a publication.
    JoinDropped,
    PublicationDropped,
    /// A session may subscribe to one channel beyond its limit.
    OneChannelMore,
}

/// The result of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// The digest of all events, in order.
    pub(crate) digest: u64,
    pub(crate) metrics: HubMetrics,
    /// The rare events that happened.
    pub(crate) happened: BTreeSet<&'static str>,
}

/// A source without networks.
struct Nothing;

impl ChannelStateSource for Nothing {
    fn resolve_channel(&self, _: &EncodedChannelName) -> Result<RoomKey, ChannelResolveError> {
        Err(BadChannelName::UnknownForm.into())
    }

    fn sequence_name(&self, channel: &EncodedChannelName, _: RoomKey) -> String {
        channel.as_str().to_owned()
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, _: &EncodedChannelName, _: RoomKey) -> ChannelState {
        ChannelState { position: None, parts: Vec::new() }
    }
}

pub(crate) struct Storm {
    rng: fastrand::Rng,
    injected_fault: InjectedFault,
    clock: SimulatedClock,
    hub: Arc<Hub>,
    channels_max: usize,
    present_max: usize,
    rooms_max: usize,
    clients: Vec<Reader>,
    /// A client that gets all joins and leaves from the beginning, and reads at once.
    witness: Reader,
    published_changes: Told,
    /// The members at the last tick, by channel.
    known: BTreeMap<&'static str, BTreeSet<String>>,
    published_data: Said,
    /// The position of each channel.
    last: BTreeMap<String, Position>,
    happened: BTreeSet<&'static str>,
    trace: Trace,
}

impl Storm {
    /// Runs one seed to its end; returns the result.
    pub(crate) fn run(seed: u64, injected_fault: InjectedFault) -> Result<Report, Violation> {
        let mut storm = Self::new(seed, injected_fault);
        let passed = storm.rage().and_then(|()| storm.calm());
        let Self { trace, hub, happened, .. } = storm;
        match passed {
            Ok(()) => Ok(Report { digest: trace.digest(), metrics: hub.metrics(), happened }),
            Err(violation) => Err(trace.explain(violation)),
        }
    }

    fn new(seed: u64, injected_fault: InjectedFault) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let clock = SimulatedClock::new(UnixMillis(0));
        let (present_max, rooms_max) = (rng.usize(4..14), rng.usize(5..14));
        let hub = new_hub(&mut rng, present_max, rooms_max, &clock);
        let channels_max = rng.usize(2..5);
        let mut witness = Reader::new(CLIENTS, 0);
        witness.connect(&hub, CHANNELS.len());
        let published_changes = Told::new();
        for channel in told_channels() {
            let subscribed = witness.subscribe(channel, false, CHANNELS.len());
            assert_eq!(subscribed, Ok(Some(Outcome::Begun)), "the first has place");
            assert_eq!(witness.follow_members(channel, &published_changes), None);
        }
        Self {
            clients: (0..CLIENTS).map(|n| Reader::new(n, rng.usize(..USERS))).collect(),
            rng,
            injected_fault,
            clock,
            hub,
            channels_max,
            present_max,
            rooms_max,
            witness,
            published_changes,
            known: BTreeMap::new(),
            published_data: Said::new(),
            last: BTreeMap::new(),
            happened: BTreeSet::new(),
            trace: Trace::default(),
        }
    }

    fn rage(&mut self) -> Result<(), Violation> {
        (0..STEPS).try_for_each(|_| {
            self.step()?;
            self.check_counts()
        })
    }

    fn step(&mut self) -> Result<(), Violation> {
        let n = self.rng.usize(..CLIENTS);
        let channel = CHANNELS[self.rng.usize(..CHANNELS.len())];
        match self.rng.u32(..100) {
            0..6 => self.connect(n),
            6..9 => self.clients[n].disconnect(),
            9..27 => self.subscribe(n, channel)?,
            27..31 => self.unsubscribe(n)?,
            31..45 => self.enter(n)?,
            45..52 => self.leave(n, channel),
            52..72 => self.publish(channel)?,
            72..80 => self.tick()?,
            80..94 => {
                for _ in 0..self.rng.usize(1..8) {
                    self.pull(n)?;
                }
            }
            _ => self.sweep()?,
        }
        Ok(())
    }

    /// All clients read everything, twice: losses of the first round are repaired before the second.
    fn calm(&mut self) -> Result<(), Violation> {
        self.tick()?;
        self.drain()?;
        for channel in CHANNELS {
            self.publish(channel)?;
            self.drain()?;
        }
        // A tick publishes at most as many changes as there are clients, and those overtake no reader.
        for n in 0..CLIENTS {
            self.enter(n)?;
        }
        let received: Vec<_> = told_channels().map(|channel| self.told_of(channel)).collect();
        self.tick()?;
        self.drain()?;
        for (channel, received) in told_channels().zip(received) {
            if self.told_of(channel) > received {
                let mut readers = self.clients.iter().filter(|it| it.is_on(channel));
                readers.try_for_each(|it| it.check_drained(&self.last, &self.published_changes))?;
            }
        }
        for client in &mut self.clients {
            client.disconnect();
        }
        self.tick()?;
        self.check_counts()?;
        if self.hub.metrics().present != 0 {
            return Err("the hub still counts present subscribers".into());
        }
        Ok(())
    }

    fn told_of(&self, channel: &str) -> usize {
        self.published_changes.get(channel).map_or(0, Vec::len)
    }

    fn drain(&mut self) -> Result<(), Violation> {
        for n in 0..CLIENTS {
            let mut pulls = 0;
            while self.pull(n)? {
                pulls += 1;
                if pulls > CALM_PULLS {
                    return Err(format!("client {n} still receives deliveries after the calm"));
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self, n: usize) {
        self.note(format!("{n} connects"));
        let one_more = usize::from(self.injected_fault == InjectedFault::OneChannelMore);
        self.clients[n].connect(&self.hub, self.channels_max + one_more);
    }

    fn subscribe(&mut self, n: usize, channel: &'static str) -> Result<(), Violation> {
        let resumes = self.rng.bool();
        let rooms = self.hub.metrics().rooms;
        let outcome = self.clients[n].subscribe(channel, resumes, self.channels_max)?;
        self.note(format!("{n} subscribes {channel}: {outcome:?}"));
        match outcome {
            Some(Outcome::Refused(error)) => self.is_right(error, rooms)?,
            Some(_) if channel.starts_with("app/told/") && self.rng.u8(..3) > 0 => {
                let error = self.clients[n].follow_members(channel, &self.published_changes);
                error.map_or(Ok(()), |error| self.is_right(error, rooms))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that there was reason to refuse a subscription.
    fn is_right(&mut self, error: SubscribeError, rooms: usize) -> Result<(), Violation> {
        match error {
            SubscribeError::TooManyChannels => _ = self.happened.insert("too many channels"),
            SubscribeError::TooManyRooms if rooms >= self.rooms_max => {
                self.happened.insert("too many rooms");
            }
            SubscribeError::AlreadySubscribed => {}
            error => return Err(format!("{error} with {rooms} of {} rooms", self.rooms_max)),
        }
        Ok(())
    }

    fn unsubscribe(&mut self, n: usize) -> Result<(), Violation> {
        let channels = self.clients[n].channels();
        let Some(channel) = self.rng.choice(&channels) else { return Ok(()) };
        self.note(format!("{n} unsubscribes {channel}"));
        self.clients[n].unsubscribe(channel)
    }

    /// Enters one of the channels that the client is subscribed to but not present in.
    fn enter(&mut self, n: usize) -> Result<(), Violation> {
        let client = &self.clients[n];
        let mut channels = client.channels();
        channels.retain(|channel| !client.memberships.contains_key(channel));
        let Some(channel) = self.rng.choice(&channels) else { return Ok(()) };
        let (id, user) = (client.id.as_str().into(), client.user.as_str().into());
        let member = Arc::new(PresenceMember { client: id, user, ..PresenceMember::default() });
        let is_full = self.present() >= self.present_max;
        let entered = self.hub.count_as_present(&name(channel), member);
        self.note(format!("{n} enters {channel}: {:?}", entered.as_ref().err()));
        match entered {
            Ok(membership) if !is_full && !channel.starts_with("app/plain/") => {
                self.clients[n].memberships.insert(channel.clone(), membership);
                Ok(())
            }
            Err(PresenceError::Full) if is_full => Ok(()),
            Err(PresenceError::PresenceDisabled) if channel.starts_with("app/plain/") => Ok(()),
            other => Err(format!("{channel}, full {is_full}: unexpected result {other:?}")),
        }
    }

    fn leave(&mut self, n: usize, channel: &str) {
        if let Some(membership) = self.clients[n].memberships.remove(channel) {
            self.note(format!("{n} leaves {channel}"));
            if self.injected_fault == InjectedFault::LeaveForgotten {
                self.witness.memberships.insert(format!("{n} {channel}"), membership);
            }
        }
    }

    fn publish(&mut self, channel: &str) -> Result<(), Violation> {
        let text = "x".repeat(self.rng.usize(1..BYTES_MAX)) + &self.rng.u16(..).to_string();
        let rooms = self.hub.metrics().rooms;
        let data = Bytes::from(text.clone());
        match self.hub.publish_to_app_channel(&name(channel), data, PublicationExtras::default()) {
            Ok(published) => {
                let Some(at) = published.position else { return Ok(()) };
                self.note(format!("{channel} at {}", at.offset));
                let previous = self.last.insert(channel.to_owned(), at);
                if previous.is_some_and(|before| before.epoch == at.epoch) {
                    let previous = previous.map_or(0, |before| before.offset);
                    if at.offset != previous + 1 {
                        return Err(format!("{channel}: {at:?} after {previous}"));
                    }
                } else if previous.is_some() {
                    self.happened.insert("new life");
                }
                self.published_data
                    .insert((channel.to_owned(), at.epoch.to_string(), at.offset), text);
                let published_changes = self.hear()?;
                if published_changes.is_empty() {
                    Ok(())
                } else {
                    Err(format!(
                        "member changes were published between ticks: {published_changes:?}"
                    ))
                }
            }
            Err(PublishError::TooManyRooms) if rooms >= self.rooms_max => Ok(()),
            Err(error) => Err(format!("{channel}: {error} with {rooms} rooms")),
        }
    }

    /// Checks that a tick publishes the joins and leaves since the last one, without those that cancelled out.
    fn tick(&mut self) -> Result<(), Violation> {
        self.note("tick".into());
        self.hub.publish_presence_changes();
        let mut received = self.hear()?;
        for channel in told_channels() {
            let there = self.there(channel);
            let known = self.known.insert(channel, there.clone()).unwrap_or_default();
            let came = there.difference(&known).map(|id| (true, id.clone()));
            let expected: BTreeSet<_> =
                came.chain(known.difference(&there).map(|id| (false, id.clone()))).collect();
            let changes = received.remove(channel).unwrap_or_default();
            let published_changes: BTreeSet<_> = changes.iter().cloned().collect();
            if published_changes != expected || published_changes.len() != changes.len() {
                return Err(format!("{channel}: changes {changes:?}, expected {expected:?}"));
            }
            if published_changes.is_empty() && !there.is_empty() {
                self.happened.insert("neither");
            }
            self.published_changes.entry(channel.to_owned()).or_default().extend(changes);
        }
        Ok(())
    }

    /// Returns all joins and leaves that the witness gets.
    fn hear(&mut self) -> Result<Told, Violation> {
        let mut received = Told::new();
        while let Some(delivery) = self.witness.hear() {
            match delivery {
                ClientDelivery::Member { channel, joined, member, .. } => {
                    let change = (joined, member.client.to_string());
                    received.entry(channel.as_str().to_owned()).or_default().push(change);
                }
                ClientDelivery::Publication { .. } => {}
                other => return Err(format!("the witness received an unexpected {other:?}")),
            }
        }
        Ok(received)
    }

    fn pull(&mut self, n: usize) -> Result<bool, Violation> {
        let injected_fault = self.injected_fault;
        let hears = move |delivery: &ClientDelivery| match delivery {
            ClientDelivery::Member { joined: true, .. } => {
                injected_fault != InjectedFault::JoinDropped
            }
            ClientDelivery::Publication { publication, .. } => {
                injected_fault != InjectedFault::PublicationDropped || publication.offset % 7 != 3
            }
            _ => true,
        };
        let line = self.clients[n]
            .pull(&self.published_data, &self.published_changes, hears)
            .map_err(|why| format!("client {n}: {why}"))?;
        let Some(line) = line else { return Ok(false) };
        if line.ends_with(": lost") {
            self.happened.insert("lost");
        }
        self.note(format!("{n} hears {line}"));
        Ok(true)
    }

    /// *Bounded memory*, of all rooms together.
    fn sweep(&mut self) -> Result<(), Violation> {
        self.clock.advance_time(Duration::from_millis(self.rng.u64(..8_000)));
        self.hub.trim_and_close_idle_rooms();
        let metrics = self.hub.metrics();
        let bytes = metrics.ring_bytes + metrics.state_bytes;
        if bytes > TOTAL_BYTES {
            return Err(format!("the rooms hold {bytes} bytes, more than the limit"));
        }
        Ok(())
    }

    /// Returns the members of a channel.
    fn there(&self, channel: &str) -> BTreeSet<String> {
        let inside = |client: &&Reader| client.memberships.contains_key(channel);
        self.clients.iter().filter(inside).map(|client| client.id.clone()).collect()
    }

    fn present(&self) -> usize {
        self.clients.iter().map(|client| client.memberships.len()).sum()
    }

    /// *Exact presence* and *bounded rooms*, at any time.
    fn check_counts(&self) -> Result<(), Violation> {
        let metrics = self.hub.metrics();
        if metrics.present != self.present() || metrics.present > self.present_max {
            return Err(format!(
                "{} subscribers are present, expected {}",
                metrics.present,
                self.present()
            ));
        }
        if metrics.rooms > self.rooms_max {
            return Err(format!("{} rooms exceed the limit of {}", metrics.rooms, self.rooms_max));
        }
        for channel in CHANNELS.into_iter().filter(|it| !it.starts_with("app/plain/")) {
            let there = self.there(channel);
            let inside = self.clients.iter().filter(|it| there.contains(&it.id));
            let users: Vec<_> = inside.map(|client| client.user.clone()).collect();
            let users = match self.injected_fault {
                InjectedFault::UserCountedTwice => users.len(),
                _ => users.iter().collect::<BTreeSet<_>>().len(),
            };
            let stats = self.hub.presence_stats(&name(channel));
            let stats = stats.map_err(|error| format!("{channel}: {error}"))?;
            if (stats.clients, stats.users) != (there.len(), users) {
                return Err(format!(
                    "{channel}: {stats:?}, expected {} clients of {users} users",
                    there.len()
                ));
            }
            let page = self.hub.presence_page(&name(channel), 0, CLIENTS);
            let page = page.map_err(|error| format!("{channel}: {error}"))?;
            let listed: BTreeSet<_> = page.members.iter().map(|it| it.client.to_string()).collect();
            if listed != there || page.members.len() != there.len() {
                return Err(format!("{channel}: {listed:?} are listed, expected {there:?}"));
            }
        }
        Ok(())
    }

    fn note(&mut self, line: String) {
        self.trace.note(line);
    }
}

fn told_channels() -> impl Iterator<Item = &'static str> {
    CHANNELS.into_iter().filter(|channel| channel.starts_with("app/told/"))
}

/// Creates a hub so small that every limit is exceeded now and then, except by the changes of one tick.
fn new_hub(
    rng: &mut fastrand::Rng,
    present_max: usize,
    rooms_max: usize,
    clock: &SimulatedClock,
) -> Arc<Hub> {
    let history = HistoryOptions { size: rng.usize(1..8), ttl: Duration::from_secs(10) };
    let namespace = |prefix: &str, presence, join_leave, history| Namespace {
        prefix: prefix.into(),
        history,
        presence,
        join_leave,
        ..Namespace::default()
    };
    let config = HubConfig {
        ring_publications: rng.usize(2 * CLIENTS..4 * CLIENTS),
        ring_age: Duration::from_secs(rng.u64(5..60)),
        ring_bytes_min: rng.usize(2_000..4_000),
        linger: Duration::from_secs(rng.u64(0..10)),
        rooms_max,
        present_max,
        total_bytes: TOTAL_BYTES,
        namespaces: vec![
            namespace("app/told/", true, true, Some(history)),
            namespace("app/counted/", true, false, Some(history)),
            namespace("app/plain/", false, false, None),
        ],
        ..HubConfig::default()
    };
    Hub::new(config, Arc::new(Nothing), Arc::new(clock.clone()), rng.u64(..))
}
