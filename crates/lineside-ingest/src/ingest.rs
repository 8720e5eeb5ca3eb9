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
    Channel, Epoch, Hub, HubConfig, Position, ResolveError, RoomKey, RoomState, StateSource,
};
use lineside_sync::{Clock, histogram};
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    archive::PollArchive,
    catalog::{FeedCatalog, SharedCatalog},
    channels::{ChannelStates, ExtraChannels},
    config::FeedConfig,
    dataset::LoadLimits,
    feed::Feed,
    fetch::FetchContext,
    handoff::HandoffState,
    inbox::InboxSettings,
    limits::{READY_AFTER, SEARCH_LIMIT_MAX},
    load_budget::LoadBudget,
    message_observer::MessageObserver,
    network::{Network, NetworkWriter},
    poll::{ConverterSlots, FeedPoller, PollerContext},
    poll_schedule::StartStagger,
    poll_stages::{PollStage, StageTimes},
    rate_limit::RateLimiter,
    search::{CatalogResults, StopHit, StopQuery, search_catalog, search_stops},
    snapshot_store::SnapshotStore,
};

pub use self::change::{ConfigChange, PollRefused, PollingStopped};
pub use self::restart::WrittenNetworks;
pub(crate) use self::running::TaskSpawner;
pub use self::source_test::{SourceTest, SourceTestFailure};
use self::{
    groups::{build_catalog, dedup_feeds, group_feeds},
    restart::RestartPlan,
    running::{RunningNetwork, RunningTasks},
};

/// What an [`Ingest`] starts from.
#[derive(Debug)]
pub struct IngestOptions {
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
    pub archive: Arc<dyn PollArchive>,
    /// Where last good bytes are kept for the next process.
    pub snapshots: Arc<dyn SnapshotStore>,
    /// Channels that no network has and the program fills itself.
    pub beside: Option<ExtraChannels>,
    /// Where producers bring what is new by themselves.
    pub inboxes: InboxSettings,
    /// Who looks at messages of real time as they pass.
    pub inspector: Option<Arc<dyn MessageObserver>>,
}

/// The running feeds. Dropping it stops them.
pub struct Ingest {
    catalog: SharedCatalog,
    hub: Arc<Hub>,
    channels: Arc<ChannelStates>,
    started: Duration,
    tasks: TaskSpawner,
    /// Held by whoever changes them, and by nobody who only reads.
    running: Mutex<RunningTasks>,
    shared: PollerContext,
    times: StageTimes,
}

/// A network with its feeds' configurations, the one that names it first.
type Members = Vec<Arc<FeedConfig>>;

impl Ingest {
    /// Starts polling on the current tokio runtime.
    pub fn start(options: IngestOptions) -> Arc<Ingest> {
        Ingest::start_with_handoff(options, None)
    }

    /// The same, going on with what an earlier process has kept, as far as it still holds. Decodes the schedules among
    /// it and reads the last good bytes of the other networks, which may take seconds: to be called where that blocks
    /// nobody.
    ///
    /// What was kept must not be given to a start once more: clients would take another past for theirs.
    pub fn start_with_handoff(options: IngestOptions, kept: Option<HandoffState>) -> Arc<Ingest> {
        let IngestOptions { feeds, clock, seed, hub, client_name, load_limits, beside, .. } =
            options;
        let IngestOptions { archive, snapshots, inboxes, inspector, .. } = options;
        let mut rng = fastrand::Rng::with_seed(seed);
        let keys = rng.u64(..);
        let configs = dedup_feeds(feeds);
        let groups = group_feeds(&configs);
        let (times, mut begun) = (StageTimes::default(), Vec::new());
        let mut restart = RestartPlan::new(kept, &groups, keys, clock.wall_time());
        let networks = build_networks(&groups, &restart, &clock, &times, &mut rng);
        let catalog: SharedCatalog =
            Arc::new(ArcSwap::from_pointee(FeedCatalog::new(Vec::new(), networks.clone())));
        let channels = ChannelStates::from_catalog(Arc::clone(&catalog), keys, Arc::clone(&clock));
        let channels = Arc::new(channels.with_extra_channels(beside));
        let source = Arc::clone(&channels) as Arc<dyn StateSource>;
        let hub = Hub::new(hub, source, Arc::clone(&clock), rng.u64(..));
        let tasks = TaskSpawner { stop: CancellationToken::new(), tracker: TaskTracker::new() };
        let budgets = RateLimiter::new(configs.iter().map(|config| &**config));
        let shared = PollerContext {
            sources: FetchContext::new(&client_name, Arc::clone(&clock), Arc::new(budgets)),
            clock: Arc::clone(&clock),
            loads: Arc::new(LoadBudget::new(load_limits.memory)),
            load_limits: Arc::new(load_limits),
            slots: ConverterSlots::new(),
            spread: Arc::new(StartStagger::new(configs.iter().map(|config| &**config), &mut rng)),
            archive,
            snapshots,
            tasks: tasks.clone(),
            inboxes,
            inspector,
        };
        restore::retain_feeds(&configs, &*shared.snapshots);
        for (at, (network, members)) in networks.iter().zip(&groups).enumerate() {
            let mut writer = NetworkWriter::new(Arc::clone(network), Some(Arc::clone(&hub)), keys);
            restart.resume_network(at, &mut writer, &hub);
            let feeds = build_feeds(at, network, members, &mut restart);
            restore::restore_feeds(&feeds, restart.epoch(at).is_some(), &shared);
            begun.push((writer, feeds));
        }
        // Before anything is published: a log that is put back ends where its network is.
        restart.restore_rooms(&hub, &channels);
        let next_group = groups.len() as u32 + 1;
        let mut running = RunningTasks { networks: Vec::new(), rng, keys, next_group };
        for (writer, feeds) in begun {
            let mut network = RunningNetwork::spawn_network(writer, &shared.clock, &tasks);
            for (number, feed) in feeds.into_iter().enumerate() {
                let (queue, seed) = (network.queue.clone(), running.rng.u64(..));
                let poller = FeedPoller::new(Arc::clone(&feed), number, queue, &shared, seed);
                network.feeds.push(tasks.spawn_poller(feed, poller));
            }
            running.networks.push(network);
        }
        tasks.tracker.close();
        catalog.store(Arc::new(build_catalog(
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
    pub fn find_feed(&self, id: &str) -> Option<Arc<Feed>> {
        self.catalog.load().find_feed(id).cloned()
    }

    /// The networks, in the order in which the configuration first names them.
    pub fn networks(&self) -> Vec<Arc<Network>> {
        self.catalog.load().networks.clone()
    }

    /// The network that a feed belongs to.
    pub fn find_network_of_feed(&self, feed: &str) -> Option<Arc<Network>> {
        Some(self.find_feed(feed)?.network())
    }

    /// What is remembered of polling.
    pub fn archive(&self) -> &Arc<dyn PollArchive> {
        &self.shared.archive
    }

    /// Whether each feed was tried once, or long enough was waited for it.
    pub fn is_ready(&self) -> bool {
        let waited = self.shared.clock.monotonic().saturating_sub(self.started);
        let is_there = |feed: &Arc<Feed>| feed.was_polled() || feed.config().paused;
        waited >= READY_AFTER || self.catalog.load().feeds.iter().all(is_there)
    }

    /// How long a stage of polls has taken, over all feeds, in nanoseconds of the clock.
    pub fn stage_durations(&self, stage: PollStage) -> histogram::HistogramSnapshot {
        self.times.histogram_snapshot(stage)
    }

    /// Stops polling; returns when every task has ended. What is known stays readable.
    pub async fn shut_down(&self) {
        self.tasks.stop.cancel();
        self.tasks.tracker.wait().await;
    }

    /// Finds stops in all networks.
    pub fn search_stops(&self, query: &StopQuery) -> Vec<StopHit> {
        search_stops(&self.catalog.load().networks, query)
    }

    /// Finds feeds, routes and stops by their names.
    pub fn search_catalog(&self, query: &str) -> CatalogResults {
        let known = self.catalog.load();
        search_catalog(&known.feeds, &known.networks, query, SEARCH_LIMIT_MAX)
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
    fn resolve_channel(&self, channel: &Channel) -> Result<RoomKey, ResolveError> {
        self.channels.resolve_channel(channel)
    }

    fn sequence_name(&self, channel: &Channel, key: RoomKey) -> String {
        self.channels.sequence_name(channel, key)
    }

    fn current_position(&self, channel: &Channel, key: RoomKey) -> Option<Position> {
        self.channels.current_position(channel, key)
    }

    fn read_state(&self, channel: &Channel, key: RoomKey) -> RoomState {
        self.channels.read_state(channel, key)
    }
}

fn build_networks(
    groups: &[Members],
    restart: &RestartPlan,
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
        Arc::new(network.with_stage_times(times))
    });
    networks.collect()
}

fn build_feeds(
    at: usize,
    network: &Arc<Network>,
    members: &Members,
    restart: &mut RestartPlan,
) -> Vec<Arc<Feed>> {
    let new = |config| Arc::new(Feed::new(Arc::clone(config), Arc::clone(network)));
    let feeds: Vec<Arc<Feed>> = members.iter().map(new).collect();
    for (number, feed) in feeds.iter().enumerate() {
        restart.restore_feed(at, number, feed);
    }
    network.set_feeds(feeds.iter().map(Arc::downgrade).collect());
    feeds
}
