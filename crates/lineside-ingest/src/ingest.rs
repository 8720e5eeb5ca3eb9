//! All of it running: the catalog's feeds, their networks, the hub that their changes go to.

mod restart;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use lineside_hub::{
    Channel, Epoch, Hub, HubConfig, Position, ResolveError, RoomKey, State, StateSource,
};
use lineside_sync::{Clock, histogram};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    archive::Archive,
    budget::Budgets,
    channels::Channels,
    config::{FeedConfig, FeedId},
    feed::Feed,
    fetch::Sources,
    kept::Kept,
    limits::{LOADS_AT_ONCE, READY_AFTER, SEARCH_LIMIT_MAX},
    network::{Network, NetworkQueue, NetworkWriter, run},
    poll::{Poller, Shared},
    schedule::Spread,
    search::{CatalogHit, StopHit, StopQuery, catalog, stops},
    stages::{Stage, StageTimes},
};

pub use self::restart::KeptNetworks;
use self::restart::Restart;

/// What an [`Ingest`] starts from.
#[derive(Debug)]
pub struct Options {
    /// The feeds; of two with one id the first counts.
    pub feeds: Vec<FeedConfig>,
    /// The time that everything follows.
    pub clock: Arc<dyn Clock>,
    /// Decides epochs, keys of maps and jitter. Take it from the system's randomness, except where a run is to be
    /// repeated: an epoch that comes twice makes clients believe that they missed nothing.
    pub seed: u64,
    /// Bounds of the hub.
    pub hub: HubConfig,
    /// The `User-Agent` that producers see.
    pub client_name: String,
    /// Where polls and states are remembered.
    pub archive: Arc<dyn Archive>,
}

/// The running feeds. Dropping it stops them.
pub struct Ingest {
    feeds: Vec<Arc<Feed>>,
    by_id: HashMap<String, usize>,
    networks: Vec<Arc<Network>>,
    hub: Arc<Hub>,
    channels: Arc<Channels>,
    clock: Arc<dyn Clock>,
    started: Duration,
    stop: CancellationToken,
    tasks: TaskTracker,
    /// The networks' writers, once they have ended; in the order of the networks.
    ended: Vec<Arc<OnceLock<NetworkWriter>>>,
    times: StageTimes,
    archive: Arc<dyn Archive>,
}

/// A network with its feeds' configurations, the one that names it first.
type Members = Vec<Arc<FeedConfig>>;

impl Ingest {
    /// Starts polling on the current tokio runtime.
    pub fn start(options: Options) -> Arc<Ingest> {
        Ingest::start_from(options, None)
    }

    /// The same, going on with what an earlier process has kept, as far as it still holds. Decodes the schedules among
    /// it, which may take seconds: to be called where that blocks nobody.
    ///
    /// What was kept must not be given to a start once more: clients would take another past for theirs.
    pub fn start_from(options: Options, kept: Option<Kept>) -> Arc<Ingest> {
        let Options { feeds, clock, seed, hub, client_name, archive } = options;
        let mut rng = fastrand::Rng::with_seed(seed);
        let keys = rng.u64(..);
        let configs = unique(feeds);
        let groups = group(&configs);
        let times = StageTimes::default();
        let mut restart = Restart::new(kept, &groups, keys, clock.wall());
        let networks = networks_of(&groups, &restart, &clock, &times, &mut rng);
        let channels = Arc::new(Channels::new(networks.clone(), keys, Arc::clone(&clock)));
        let source = Arc::clone(&channels) as Arc<dyn StateSource>;
        let hub = Hub::new(hub, source, Arc::clone(&clock), rng.u64(..));
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let budgets = Budgets::new(configs.iter().map(|config| &**config));
        let shared = Shared {
            sources: Sources::new(&client_name, Arc::clone(&clock), Arc::new(budgets)),
            clock: Arc::clone(&clock),
            loads: Arc::new(Semaphore::new(LOADS_AT_ONCE)),
            spread: Arc::new(Spread::new(configs.iter().map(|config| &**config), &mut rng)),
            archive: Arc::clone(&archive),
        };
        let mut started: HashMap<FeedId, Arc<Feed>> = HashMap::new();
        let mut begun = Vec::new();
        for (at, (network, members)) in networks.iter().zip(&groups).enumerate() {
            let mut writer = NetworkWriter::new(Arc::clone(network), Some(Arc::clone(&hub)), keys);
            restart.take_over(at, &mut writer, &hub);
            begun.push((writer, feeds_of(at, network, members, &mut restart)));
        }
        // Before anything is published: a log that is put back ends where its network is.
        restart.restore_rooms(&hub, &channels);
        let mut ended = Vec::new();
        for (writer, feeds) in begun {
            ended.push(run_network(writer, &feeds, &shared, &mut rng, (&tasks, &stop)));
            started.extend(feeds.into_iter().map(|feed| (feed.id().clone(), feed)));
        }
        tasks.close();
        let feeds: Vec<Arc<Feed>> =
            configs.iter().filter_map(|config| started.get(&config.id).cloned()).collect();
        let by_id =
            feeds.iter().enumerate().map(|(at, feed)| (feed.id().to_string(), at)).collect();
        let started = clock.monotonic();
        Arc::new(Ingest {
            feeds,
            by_id,
            networks,
            hub,
            channels,
            clock,
            started,
            stop,
            tasks,
            ended,
            times,
            archive,
        })
    }

    /// The rooms that changes are published to.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The feeds, in the order of the configuration.
    pub fn feeds(&self) -> Vec<Arc<Feed>> {
        self.feeds.clone()
    }

    /// The feed of that id.
    pub fn feed(&self, id: &str) -> Option<Arc<Feed>> {
        self.by_id.get(id).and_then(|&at| self.feeds.get(at)).cloned()
    }

    /// The networks, in the order in which the configuration first names them.
    pub fn networks(&self) -> &[Arc<Network>] {
        &self.networks
    }

    /// The network that a feed belongs to.
    pub fn network_of(&self, feed: &str) -> Option<Arc<Network>> {
        Some(self.feed(feed)?.network())
    }

    /// What is remembered of polling.
    pub fn archive(&self) -> &Arc<dyn Archive> {
        &self.archive
    }

    /// Whether each feed was tried once, or long enough was waited for it.
    pub fn ready(&self) -> bool {
        let waited = self.clock.monotonic().saturating_sub(self.started);
        waited >= READY_AFTER || self.feeds.iter().all(|feed| feed.was_tried())
    }

    /// How long a stage of polls has taken, over all feeds, in nanoseconds of the clock.
    pub fn stage_times(&self, stage: Stage) -> histogram::Snapshot {
        self.times.snapshot(stage)
    }

    /// Stops polling; returns when every task has ended. What is known stays readable.
    pub async fn shut_down(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }

    /// Finds stops in all networks.
    pub fn stops_search(&self, query: &StopQuery) -> Vec<StopHit> {
        stops(&self.networks, query)
    }

    /// Finds feeds, routes and stops by their names.
    pub fn catalog_search(&self, query: &str) -> Vec<CatalogHit> {
        catalog(&self.feeds, &self.networks, query, SEARCH_LIMIT_MAX)
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for Ingest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ingest").field("feeds", &self.feeds.len()).finish_non_exhaustive()
    }
}

/// The channels' states are read through the hub; this is for whoever reads one without subscribing.
impl StateSource for Ingest {
    fn resolve(&self, channel: &Channel) -> Result<RoomKey, ResolveError> {
        self.channels.resolve(channel)
    }

    fn sequence_name(&self, channel: &Channel, key: RoomKey) -> String {
        self.channels.sequence_name(channel, key)
    }

    fn position(&self, channel: &Channel, key: RoomKey) -> Option<Position> {
        self.channels.position(channel, key)
    }

    fn read_state(&self, channel: &Channel, key: RoomKey) -> State {
        self.channels.read_state(channel, key)
    }
}

fn unique(feeds: Vec<FeedConfig>) -> Members {
    let mut unique: Members = Vec::new();
    for config in feeds {
        if unique.iter().all(|known| known.id != config.id) {
            unique.push(Arc::new(config));
        }
    }
    unique
}

/// Puts real-time feeds to the schedule that they name. A feed that names none, or one that is not there or belongs to
/// another itself, is a network of its own.
fn group(configs: &Members) -> Vec<Members> {
    let owner_of = |config: &Arc<FeedConfig>| {
        let named = config.static_feed.as_ref()?;
        let owner = configs.iter().find(|other| other.id == *named)?;
        (owner.static_feed.is_none() && owner.id != config.id).then(|| owner.id.clone())
    };
    let first = configs.iter().filter(|config| owner_of(config).is_none());
    let mut groups: Vec<Members> = first.map(|config| vec![Arc::clone(config)]).collect();
    let by_id: HashMap<FeedId, usize> =
        groups.iter().enumerate().map(|(at, members)| (members[0].id.clone(), at)).collect();
    for config in configs {
        if let Some(&at) = owner_of(config).and_then(|owner| by_id.get(&owner)) {
            groups[at].push(Arc::clone(config));
        }
    }
    groups
}

fn networks_of(
    groups: &[Members],
    restart: &Restart,
    clock: &Arc<dyn Clock>,
    times: &StageTimes,
    rng: &mut fastrand::Rng,
) -> Vec<Arc<Network>> {
    let numbered = groups.iter().zip(1..).enumerate();
    let networks = numbered.map(|(at, (members, group))| {
        let mut ids = members.iter().map(|config| config.id.clone());
        let first = ids.next().unwrap_or_else(|| members[0].id.clone());
        let new_life = Epoch::random(rng);
        let epoch = restart.epoch(at).unwrap_or(new_life);
        let network = Network::new(first, ids, group, epoch, Arc::clone(clock));
        Arc::new(network.timed_by(times))
    });
    networks.collect()
}

fn feeds_of(
    at: usize,
    network: &Arc<Network>,
    members: &Members,
    restart: &mut Restart,
) -> Vec<Arc<Feed>> {
    let new = |config| Arc::new(Feed::new(Arc::clone(config), Arc::clone(network)));
    let feeds: Vec<Arc<Feed>> = members.iter().map(new).collect();
    for (number, feed) in feeds.iter().enumerate() {
        restart.give_back(at, number, feed);
    }
    network.set_feeds(feeds.iter().map(Arc::downgrade).collect());
    feeds
}

/// Starts a network's task and those of its feeds. The writer is found in what is given back, once it has ended.
fn run_network(
    writer: NetworkWriter,
    feeds: &[Arc<Feed>],
    shared: &Shared,
    rng: &mut fastrand::Rng,
    (tasks, stop): (&TaskTracker, &CancellationToken),
) -> Arc<OnceLock<NetworkWriter>> {
    let (queue, inputs) = NetworkQueue::new(&shared.clock);
    let ended = Arc::new(OnceLock::new());
    let running = run(writer, inputs, Arc::clone(&shared.clock), stop.clone());
    let end = Arc::clone(&ended);
    tasks.spawn(async move {
        if let Some(writer) = running.await {
            end.get_or_init(|| writer);
        }
    });
    for (number, feed) in feeds.iter().enumerate() {
        let poller = Poller::new(Arc::clone(feed), number, queue.clone(), shared, rng.u64(..));
        tasks.spawn(poller.run(stop.clone()));
    }
    ended
}
