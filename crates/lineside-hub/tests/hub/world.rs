//! A model of ingest: two networks of keyed records that move between routes and cells, published by writers that can
//! be halted between any two steps.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Context, Waker};

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName,
    Epoch, Hub, Position, RoomKey,
};
use parking_lot::Mutex;

pub(crate) const NETWORKS: usize = 2;
pub(crate) const ROUTES: u8 = 3;
pub(crate) const CELLS: u8 = 3;
const KEYS: u8 = 8;
const RECORDS_PER_PART: usize = 3;
const CHANGES_PER_PUBLICATION: usize = 2;

const FEED: u8 = 1;
const ROUTE: u8 = 2;
const VEHICLE: u8 = 3;
const AREA: u8 = 4;

/// An injected fault that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    None,
    /// A subscriber gets a state that was read before its room was entered in the table.
    StateBeforeRoom,
    /// Publishers append first and swap the state afterwards.
    AppendBeforeSwap,
    /// A position counts, even if its epoch is another.
    EpochNotCompared,
    /// A client lists the newest position of a network instead of one that covers all its channels.
    NewestListed,
    /// A publisher that has missed publications does not mark a gap.
    JumpNotMarked,
    /// A publisher forgets that a moved record leaves a room.
    MoveNotPublished,
}

/// The content of a channel: value by key.
pub(crate) type Holdings = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug)]
struct Record {
    route: u8,
    cell: u8,
    version: u32,
}

#[derive(Clone, Debug)]
struct Network {
    epoch: Epoch,
    revision: u64,
    dataset: u32,
    records: BTreeMap<u8, Record>,
}

/// One channel's whole history in one epoch, with or without listeners.
#[derive(Debug, Default)]
struct Written {
    publications: Vec<u64>,
    restatements: Vec<u64>,
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct World {
    pub(crate) injected_fault: InjectedFault,
    networks: Mutex<Vec<Arc<Network>>>,
    /// The networks when a channel was last resolved: for one of the faults.
    old_networks: Mutex<Vec<Arc<Network>>>,
    written: Mutex<BTreeMap<(String, Epoch), Written>>,
    jobs: Mutex<Vec<Option<Job>>>,
    rng: Mutex<fastrand::Rng>,
    /// The interruptions of a read end with a chance of one in this number, each time.
    attempts_left: u32,
}

/// The outcome of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Poll {
    Changes,
    /// A new dataset: the same records, in newly joined channels.
    Dataset,
    /// A new epoch with other records, announced to every room.
    NewEpoch,
    /// The owner's state without publications, as taken by a following node that has missed too much.
    Jump,
    /// Another writer continues with the same records in a new epoch, and announces it only in rooms with changes.
    NewWriter,
}

impl World {
    pub(crate) fn new(seed: u64, injected_fault: InjectedFault) -> Arc<Self> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let networks: Vec<_> = (0..NETWORKS).map(|_| Arc::new(new_network(&mut rng, 0))).collect();
        Arc::new(Self {
            injected_fault,
            attempts_left: [1, 2, 2, 4, 10][rng.usize(..5)],
            old_networks: Mutex::new(networks.clone()),
            networks: Mutex::new(networks),
            written: Mutex::default(),
            jobs: Mutex::new((0..NETWORKS).map(|_| None).collect()),
            rng: Mutex::new(rng),
        })
    }

    pub(crate) fn channels() -> Vec<String> {
        let mut channels: Vec<String> = (0..CELLS).map(|cell| format!("area/{cell}")).collect();
        for network in 0..NETWORKS {
            channels.push(format!("feed/{network}"));
            channels.extend((0..ROUTES).map(|route| format!("route/{network}/{route}")));
            channels.extend((0..KEYS).map(|key| format!("vehicle/{network}/{key}")));
        }
        channels
    }

    pub(crate) fn epoch(&self, network: usize) -> Epoch {
        self.networks.lock()[network].epoch
    }

    /// Returns the content that a subscriber of the channel should have.
    pub(crate) fn holdings(&self, channel: &str) -> Holdings {
        let networks = self.networks.lock().clone();
        holdings(&networks, channel)
    }

    /// Returns the first publication after `position`, and true if a restatement comes no later.
    pub(crate) fn next_written(&self, channel: &str, position: Position) -> (Option<u64>, bool) {
        let written = self.written.lock();
        let Some(written) = written.get(&(channel.to_owned(), position.epoch)) else {
            return (None, false);
        };
        let first =
            |offsets: &[u64]| offsets.iter().copied().find(|offset| *offset > position.offset);
        let publication = first(&written.publications);
        let restatement = first(&written.restatements);
        (publication, restatement.is_some_and(|r| publication.is_none_or(|p| r <= p)))
    }

    pub(crate) fn has_written_after(&self, channel: &str, position: Position) -> bool {
        let (publication, restated) = self.next_written(channel, position);
        publication.is_some() || restated
    }

    /// Returns true if a restatement lies in `(after, up_to]`.
    pub(crate) fn restated_between(&self, channel: &str, after: Position, up_to: u64) -> bool {
        let written = self.written.lock();
        let written = written.get(&(channel.to_owned(), after.epoch));
        written.is_some_and(|it| it.restatements.iter().any(|r| *r > after.offset && *r <= up_to))
    }

    /// Returns true if no writer is in the middle of a poll.
    pub(crate) fn is_still(&self) -> bool {
        self.jobs.lock().iter().all(Option::is_none)
    }

    /// Lets a network's writer begin a poll, unless it is in one.
    pub(crate) fn begin(self: &Arc<Self>, hub: &Arc<Hub>, network: usize, poll: Poll) {
        let mut jobs = self.jobs.lock();
        if jobs[network].is_none() {
            jobs[network] = Some(Box::pin(publish(self.clone(), hub.clone(), network, poll)));
        }
    }

    pub(crate) fn step(&self, network: usize) {
        let Some(mut job) = self.jobs.lock()[network].take() else { return };
        if job.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.jobs.lock()[network] = Some(job);
        }
    }

    pub(crate) fn finish_all(&self) {
        while !self.is_still() {
            (0..NETWORKS).for_each(|network| self.step(network));
        }
    }

    /// Restarts: ends all polls, and starts a new epoch of every network with its records.
    pub(crate) fn restart(&self) {
        self.jobs.lock().iter_mut().for_each(|job| *job = None);
        for network in self.networks.lock().iter_mut() {
            let mut next = Network::clone(network);
            next.epoch = Epoch::random(&mut self.rng.lock());
            next.revision = self.rng.lock().u64(0..20);
            *network = Arc::new(next);
        }
    }

    /// Lets writers take steps in the middle of a read.
    fn interrupt(&self) {
        while !self.chance(self.attempts_left) {
            let network = self.rng.lock().usize(..NETWORKS);
            self.step(network);
        }
    }

    fn chance(&self, one_in: u32) -> bool {
        self.rng.lock().u32(..one_in) == 0
    }

    fn seen(&self) -> Vec<Arc<Network>> {
        let networks = if self.injected_fault == InjectedFault::StateBeforeRoom {
            &self.old_networks
        } else {
            &self.networks
        };
        networks.lock().clone()
    }

    fn write(&self, channel: String, epoch: Epoch, offset: u64, restates: bool) {
        let mut written = self.written.lock();
        let written = written.entry((channel, epoch)).or_default();
        if restates { written.restatements.push(offset) } else { written.publications.push(offset) }
    }
}

fn new_network(rng: &mut fastrand::Rng, dataset: u32) -> Network {
    let mut network = Network {
        epoch: Epoch::random(rng),
        revision: rng.u64(0..20),
        dataset,
        records: BTreeMap::new(),
    };
    for _ in 0..KEYS / 2 {
        change_one(&mut network, rng);
    }
    network
}

/// One change of a record: key, old record, new record.
type Change = (u8, Option<Record>, Option<Record>);

fn change_one(network: &mut Network, rng: &mut fastrand::Rng) -> Change {
    let key = rng.u8(..KEYS);
    let old = network.records.get(&key).copied();
    let is_removed = old.is_some() && rng.u8(..6) == 0;
    let new = (!is_removed).then(|| {
        let mut record =
            old.unwrap_or(Record { route: rng.u8(..ROUTES), cell: rng.u8(..CELLS), version: 0 });
        record.version = rng.u32(..);
        match rng.u8(..3) {
            0 => record.route = rng.u8(..ROUTES),
            1 => record.cell = rng.u8(..CELLS),
            _ => {}
        }
        record
    });
    match new {
        Some(record) => network.records.insert(key, record),
        None => network.records.remove(&key),
    };
    (key, old, new)
}

/// The text of one publication, by channel.
type Messages = BTreeMap<String, String>;

fn messages(
    injected_fault: InjectedFault,
    network: usize,
    dataset: u32,
    changes: &[Change],
) -> Messages {
    let mut messages = Messages::from([(format!("feed/{network}"), String::new())]);
    for &(key, old, new) in changes {
        let mut tell = |channel: String, change: String| {
            let text = messages.entry(channel).or_default();
            text.push_str(&change);
            text.push(';');
        };
        let name = format!("{network}.{key}");
        let upsert = new.map(|record| format!("+{name}={}", value(record, dataset)));
        let remove = format!("-{name}");
        let text = upsert.as_ref().unwrap_or(&remove);
        tell(format!("feed/{network}"), text.clone());
        tell(format!("vehicle/{network}/{key}"), text.clone());
        let route = |record: Record| format!("route/{network}/{}", record.route);
        let area = |record: Record| format!("area/{}", record.cell);
        for (left, entered) in [(old.map(route), new.map(route)), (old.map(area), new.map(area))] {
            let departed = left.filter(|left| entered.as_ref() != Some(left));
            if let Some(left) =
                departed.filter(|_| injected_fault != InjectedFault::MoveNotPublished)
            {
                tell(left, remove.clone());
            }
            if let (Some(entered), Some(upsert)) = (entered, &upsert) {
                tell(entered, upsert.clone());
            }
        }
    }
    messages
}

fn value(record: Record, dataset: u32) -> String {
    format!("{}/{dataset}", record.version)
}

fn holdings(networks: &[Arc<Network>], channel: &str) -> Holdings {
    let segments: Vec<&str> = channel.split('/').collect();
    let number = |n: usize| segments.get(n).and_then(|text| text.parse::<u8>().ok());
    let mut holdings = Holdings::new();
    for (index, network) in networks.iter().enumerate() {
        for (&key, &record) in &network.records {
            let here = number(1) == Some(index as u8);
            let belongs = match segments[0] {
                "feed" => here,
                "route" => here && number(2) == Some(record.route),
                "vehicle" => here && number(2) == Some(key),
                _ => number(1) == Some(record.cell),
            };
            if belongs {
                holdings.insert(format!("{index}.{key}"), value(record, network.dataset));
            }
        }
    }
    holdings
}

/// Runs one poll of a writer, which can be halted at each `pause`.
async fn publish(world: Arc<World>, hub: Arc<Hub>, network: usize, poll: Poll) {
    let previous = world.networks.lock()[network].clone();
    let mut next = Network::clone(&previous);
    let mut chunks: Vec<Messages> = Vec::new();
    let mut first = 0;
    {
        let mut rng = world.rng.lock();
        match poll {
            Poll::Changes | Poll::NewWriter => {
                if poll == Poll::NewWriter {
                    next.epoch = Epoch::random(&mut rng);
                    next.revision = rng.u64(0..20);
                }
                first = next.revision + 1;
                let changes: Vec<Change> =
                    (0..rng.u8(0..6)).map(|_| change_one(&mut next, &mut rng)).collect();
                for chunk in changes.chunks(CHANGES_PER_PUBLICATION) {
                    chunks.push(messages(world.injected_fault, network, next.dataset, chunk));
                }
                // A tick without changes counts too.
                if chunks.is_empty() {
                    chunks.push(messages(world.injected_fault, network, next.dataset, &[]));
                }
                next.revision += chunks.len() as u64;
            }
            Poll::Dataset => {
                next.dataset += 1;
                next.revision += 1;
            }
            Poll::Jump => {
                for _ in 0..rng.u8(1..6) {
                    change_one(&mut next, &mut rng);
                }
                next.revision += rng.u64(1..6);
            }
            Poll::NewEpoch => {
                let dataset = next.dataset + 1;
                next = new_network(&mut rng, dataset);
            }
        }
    }
    let at = Position { epoch: next.epoch, offset: next.revision };
    let next = Arc::new(next);
    let swap = || {
        world.networks.lock()[network] = next.clone();
        write_history(&world, network, poll, first, at, &chunks);
    };
    let late = world.injected_fault == InjectedFault::AppendBeforeSwap;
    if !late {
        swap();
        pause().await;
    }
    let mut batch = hub.open_publish_batch();
    let _ = hub.room_group(network as u32 + 1);
    for (revision, chunk) in (first..).zip(&chunks) {
        for (channel, text) in chunk {
            let key = key(channel).expect("a channel of this test");
            let Some(room) = hub.find_room(key) else { continue };
            let at = (!key.has_own_sequence())
                .then_some(Position { epoch: next.epoch, offset: revision });
            batch.append_publication(&room, at, Bytes::from(text.clone().into_bytes()));
            if let Some(top) = room.newest_position().filter(|_| at.is_none()) {
                world.write(channel.clone(), top.epoch, top.offset, false);
            }
            pause().await;
        }
    }
    if matches!(poll, Poll::Dataset | Poll::NewEpoch | Poll::Jump) {
        for room in hub.rooms_of_group(network as u32 + 1) {
            if poll == Poll::Jump && world.injected_fault != InjectedFault::JumpNotMarked {
                batch.resend_state_with_gap(&room, at);
            } else {
                batch.resend_state_without_gap(&room, Some(at));
            }
            pause().await;
        }
        for room in hub.rooms_of_kind_in_group(0, AREA) {
            batch.resend_state_without_gap(&room, None);
            let top = room.newest_position().expect("a room with its own sequence");
            world.write(room.channel().to_string(), top.epoch, top.offset, true);
            pause().await;
        }
    }
    if late {
        swap();
    }
    if world.chance(2) {
        batch.mark_group_published_up_to(network as u32 + 1, at);
    }
    pause().await;
    batch.finish_and_signal_listeners();
}

/// Records for the checks what each channel of the network would be sent.
fn write_history(
    world: &World,
    network: usize,
    poll: Poll,
    first: u64,
    at: Position,
    chunks: &[Messages],
) {
    for (revision, chunk) in (first..).zip(chunks) {
        for channel in chunk.keys().filter(|channel| !channel.starts_with("area/")) {
            world.write(channel.clone(), at.epoch, revision, false);
        }
    }
    if chunks.is_empty() {
        let own = |channel: &String| channel.split('/').nth(1) == Some(&network.to_string());
        for channel in
            World::channels().into_iter().filter(|it| !it.starts_with("area/")).filter(own)
        {
            // Skipped publications exist, but no subscriber here can read them.
            world.write(channel, at.epoch, at.offset, poll != Poll::Jump);
        }
    }
}

fn key(channel: &str) -> Option<RoomKey> {
    let segments: Vec<&str> = channel.split('/').collect();
    let number = |n: usize| segments.get(n).and_then(|text| text.parse::<u8>().ok());
    let group = || number(1).filter(|n| usize::from(*n) < NETWORKS).map(|n| u32::from(n) + 1);
    Some(match *segments.first()? {
        "feed" => RoomKey { group: group()?, kind: FEED, id: 0 },
        "route" => RoomKey { group: group()?, kind: ROUTE, id: number(2)?.into() },
        "vehicle" => RoomKey { group: group()?, kind: VEHICLE, id: number(2)?.into() },
        "area" => RoomKey { group: 0, kind: AREA, id: number(1)?.into() },
        _ => return None,
    })
}

impl ChannelStateSource for World {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let networks = self.networks.lock().clone();
        *self.old_networks.lock() = networks;
        self.interrupt();
        key(channel.as_str()).ok_or(BadChannelName::UnknownForm.into())
    }

    fn sequence_name(&self, channel: &EncodedChannelName, key: RoomKey) -> String {
        if key.has_own_sequence() { channel.to_string() } else { format!("{}", key.group - 1) }
    }

    fn current_position(&self, _: &EncodedChannelName, key: RoomKey) -> Option<Position> {
        self.interrupt();
        let network = &self.seen()[key.group as usize - 1];
        let position = Position { epoch: network.epoch, offset: network.revision };
        self.interrupt();
        Some(position)
    }

    fn read_state(&self, channel: &EncodedChannelName, key: RoomKey) -> ChannelState {
        self.interrupt();
        let networks = self.seen();
        self.interrupt();
        let position = (!key.has_own_sequence()).then(|| {
            let network = &networks[key.group as usize - 1];
            Position { epoch: network.epoch, offset: network.revision }
        });
        let upserts: Vec<String> = holdings(&networks, channel.as_str())
            .iter()
            .map(|(k, v)| format!("+{k}={v};"))
            .collect();
        let mut parts: Vec<Bytes> =
            upserts.chunks(RECORDS_PER_PART).map(|part| part.concat().into()).collect();
        if parts.is_empty() {
            parts.push(Bytes::new());
        }
        ChannelState { position, parts }
    }
}

async fn pause() {
    let mut paused = false;
    let once = std::future::poll_fn(|_| {
        if std::mem::replace(&mut paused, true) {
            task::Poll::Ready(())
        } else {
            task::Poll::Pending
        }
    });
    pin!(once).await;
}
