//! All of it running: the catalog's feeds, their networks, the hub that their changes go to.

mod change;
mod groups;
mod restart;
mod restore;
mod running;
mod source_test;

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use lineside_hub::{
    Channel, Epoch, Hub, HubConfig, Position, ResolveError, RoomKey, State, StateSource,
};
use lineside_sync::{Clock, histogram};
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    archive::Archive,
    budget::Budgets,
    catalog::{Catalog, SharedCatalog},
    channels::{Beside, Channels},
    config::FeedConfig,
    dataset::LoadLimits,
    feed::Feed,
    fetch::Sources,
    inbox::Inboxes,
    inspector::Inspector,
    kept::Kept,
    limits::{READY_AFTER, SEARCH_LIMIT_MAX},
    load_budget::LoadBudget,
    network::{Network, NetworkWriter},
    poll::{Poller, Shared, Slots},
    saved::Snapshots,
    schedule::Spread,
    search::{CatalogResults, StopHit, StopQuery, catalog, stops},
    stages::{Stage, StageTimes},
};

pub use self::change::{Changed, PollRefused, Stopping};
pub use self::restart::KeptNetworks;
pub(crate) use self::running::Tasks;
pub use self::source_test::{SourceTest, SourceTestFailure};
use self::{
    groups::{catalog_of, group, unique},
    restart::Restart,
    running::{Running, RunningNetwork},
};

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
    /// What a schedule may come to while it is loaded.
    pub load_limits: LoadLimits,
    /// Bounds of the hub.
    pub hub: HubConfig,
    /// The `User-Agent` that producers see.
    pub client_name: String,
    /// Where polls and states are remembered.
    pub archive: Arc<dyn Archive>,
    /// Where last good bytes are kept for the next process.
    pub snapshots: Arc<dyn Snapshots>,
    /// Channels that no network has and the program fills itself.
    pub beside: Option<Beside>,
    /// Where producers bring what is new by themselves.
    pub inboxes: Inboxes,
    /// Who looks at messages of real time as they pass.
    pub inspector: Option<Arc<dyn Inspector>>,
}

/// The running feeds. Dropping it stops them.
pub struct Ingest {
    catalog: SharedCatalog,
    hub: Arc<Hub>,
    channels: Arc<Channels>,
    started: Duration,
    tasks: Tasks,
    /// Held by whoever changes them, and by nobody who only reads.
    running: Mutex<Running>,
    shared: Shared,
    times: StageTimes,
}

/// A network with its feeds' configurations, the one that names it first.
type Members = Vec<Arc<FeedConfig>>;

impl Ingest {
    /// Starts polling on the current tokio runtime.
    pub fn start(options: Options) -> Arc<Ingest> {
        Ingest::start_from(options, None)
    }

    /// The same, going on with what an earlier process has kept, as far as it still holds. Decodes the schedules among
    /// it and reads the last good bytes of the other networks, which may take seconds: to be called where that blocks
    /// nobody.
    ///
    /// What was kept must not be given to a start once more: clients would take another past for theirs.
    pub fn start_from(options: Options, kept: Option<Kept>) -> Arc<Ingest> {
        let Options { feeds, clock, seed, hub, client_name, load_limits, beside, .. } = options;
        let Options { archive, snapshots, inboxes, inspector, .. } = options;
        let mut rng = fastrand::Rng::with_seed(seed);
        let keys = rng.u64(..);
        let configs = unique(feeds);
        let groups = group(&configs);
        let (times, mut begun) = (StageTimes::default(), Vec::new());
        let mut restart = Restart::new(kept, &groups, keys, clock.wall());
        let networks = networks_of(&groups, &restart, &clock, &times, &mut rng);
        let catalog: SharedCatalog =
            Arc::new(ArcSwap::from_pointee(Catalog::new(Vec::new(), networks.clone())));
        let channels = Channels::of(Arc::clone(&catalog), keys, Arc::clone(&clock));
        let channels = Arc::new(channels.beside(beside));
        let source = Arc::clone(&channels) as Arc<dyn StateSource>;
        let hub = Hub::new(hub, source, Arc::clone(&clock), rng.u64(..));
        let tasks = Tasks { stop: CancellationToken::new(), tracker: TaskTracker::new() };
        let budgets = Budgets::new(configs.iter().map(|config| &**config));
        let shared = Shared {
            sources: Sources::new(&client_name, Arc::clone(&clock), Arc::new(budgets)),
            clock: Arc::clone(&clock),
            loads: Arc::new(LoadBudget::new(load_limits.memory)),
            load_limits: Arc::new(load_limits),
            slots: Slots::new(),
            spread: Arc::new(Spread::new(configs.iter().map(|config| &**config), &mut rng)),
            archive,
            snapshots,
            tasks: tasks.clone(),
            inboxes,
            inspector,
        };
        restore::forget_others(&configs, &*shared.snapshots);
        for (at, (network, members)) in networks.iter().zip(&groups).enumerate() {
            let mut writer = NetworkWriter::new(Arc::clone(network), Some(Arc::clone(&hub)), keys);
            restart.take_over(at, &mut writer, &hub);
            let feeds = feeds_of(at, network, members, &mut restart);
            restore::give_back(&feeds, restart.epoch(at).is_some(), &shared);
            begun.push((writer, feeds));
        }
        // Before anything is published: a log that is put back ends where its network is.
        restart.restore_rooms(&hub, &channels);
        let next_group = groups.len() as u32 + 1;
        let mut running = Running { networks: Vec::new(), rng, keys, next_group };
        for (writer, feeds) in begun {
            let mut network = RunningNetwork::start(writer, &shared.clock, &tasks);
            for (number, feed) in feeds.into_iter().enumerate() {
                let (queue, seed) = (network.queue.clone(), running.rng.u64(..));
                let poller = Poller::new(Arc::clone(&feed), number, queue, &shared, seed);
                network.feeds.push(tasks.poll(feed, poller));
            }
            running.networks.push(network);
        }
        tasks.tracker.close();
        catalog.store(Arc::new(catalog_of(
            &configs,
            running.networks.iter().map(|it| (&it.network, it.feeds.iter().map(|it| &it.feed))),
        )));
        let (started, running) = (clock.monotonic(), Mutex::new(running));
        Arc::new(Ingest { catalog, hub, channels, started, tasks, running, shared, times })
    }

    /// The rooms that changes are published to.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The feeds, in the order of the configuration.
    pub fn feeds(&self) -> Vec<Arc<Feed>> {
        self.catalog.load().feeds.clone()
    }

    /// The feed of that id.
    pub fn feed(&self, id: &str) -> Option<Arc<Feed>> {
        self.catalog.load().feed(id).cloned()
    }

    /// The networks, in the order in which the configuration first names them.
    pub fn networks(&self) -> Vec<Arc<Network>> {
        self.catalog.load().networks.clone()
    }

    /// The network that a feed belongs to.
    pub fn network_of(&self, feed: &str) -> Option<Arc<Network>> {
        Some(self.feed(feed)?.network())
    }

    /// What is remembered of polling.
    pub fn archive(&self) -> &Arc<dyn Archive> {
        &self.shared.archive
    }

    /// Whether each feed was tried once, or long enough was waited for it.
    pub fn ready(&self) -> bool {
        let waited = self.shared.clock.monotonic().saturating_sub(self.started);
        let is_there = |feed: &Arc<Feed>| feed.was_tried() || feed.config().paused;
        waited >= READY_AFTER || self.catalog.load().feeds.iter().all(is_there)
    }

    /// How long a stage of polls has taken, over all feeds, in nanoseconds of the clock.
    pub fn stage_times(&self, stage: Stage) -> histogram::Snapshot {
        self.times.snapshot(stage)
    }

    /// Stops polling; returns when every task has ended. What is known stays readable.
    pub async fn shut_down(&self) {
        self.tasks.stop.cancel();
        self.tasks.tracker.wait().await;
    }

    /// Finds stops in all networks.
    pub fn stops_search(&self, query: &StopQuery) -> Vec<StopHit> {
        stops(&self.catalog.load().networks, query)
    }

    /// Finds feeds, routes and stops by their names.
    pub fn catalog_search(&self, query: &str) -> CatalogResults {
        let known = self.catalog.load();
        catalog(&known.feeds, &known.networks, query, SEARCH_LIMIT_MAX)
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.tasks.stop.cancel();
    }
}

impl fmt::Debug for Ingest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feeds = self.catalog.load().feeds.len();
        f.debug_struct("Ingest").field("feeds", &feeds).finish_non_exhaustive()
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
