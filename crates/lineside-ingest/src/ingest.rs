//! The running system: the catalog's feeds, their networks, and the hub that receives their changes.

mod change;
mod groups;
mod restart;
mod restore;
mod running;
mod source_test;

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use lineside_hub::{
    ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName, Epoch, Hub,
    HubConfig, Position, RoomKey,
};
use lineside_sync::{Clock, histogram};
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    archive::PollArchive,
    catalog::{Feed, FeedCatalog, Network, SharedCatalog},
    catalog_search::{CatalogResults, StopHit, search_catalog, search_stops},
    channels::{ExtraChannelSource, NetworkChannelStates},
    dataset::DecodingLimits,
    feed_config::FeedConfig,
    fetch::SharedFetchContext,
    handoff::HandoffFileContent,
    inbox::InboxSettings,
    ingest::running::spawn_poller,
    limits::{READY_AFTER, SEARCH_LIMIT_MAX},
    load_budget::ScheduleLoadBudget,
    message_observer::MessageObserver,
    network_writer::NetworkWriter,
    poll::{ConverterSlots, FeedPoller, SharedPollerContext},
    poll_schedule::FirstPollDelays,
    poll_stages::{PollStage, PollStageDurations},
    rate_limit::RateLimiter,
    search::StopSearchQuery,
    snapshot_store::SnapshotStore,
    task_spawner::TaskSpawner,
};

pub use self::change::{ConfigChange, PollNowRefusal, PollingStopped};
pub use self::restart::WrittenNetworkGroups;
pub use self::source_test::{SourceTestFailure, SourceTestResult};
use self::{
    groups::{build_catalog, drop_duplicate_feed_ids, group_feeds_into_networks},
    restart::RestartPlan,
    running::{RunningNetwork, RunningTasks},
};

/// The options of an [`Ingest`].
#[derive(Debug)]
pub struct IngestOptions {
    /// The feeds; of several with one id the first is used.
    pub feeds: Vec<FeedConfig>,
    /// The clock for everything.
    pub clock: Arc<dyn Clock>,
    /// The seed of epochs, hash keys and jitter. Take it from the system's randomness, except for a reproducible run: a
    /// repeated epoch makes clients believe that they missed nothing.
    pub seed: u64,
    /// Limits of schedules while they are loaded.
    pub load_limits: DecodingLimits,
    /// Limits of the hub.
    pub hub: HubConfig,
    /// The `User-Agent` that producers see.
    pub user_agent: String,
    /// The store for polls and states.
    pub archive: Arc<dyn PollArchive>,
    /// The store of the last good bytes for the next process.
    pub snapshots: Arc<dyn SnapshotStore>,
    /// Channels that the program fills itself.
    pub extra_channels: Option<ExtraChannelSource>,
    /// Settings for producers that deliver by themselves.
    pub inboxes: InboxSettings,
    /// The observer of realtime messages.
    pub message_observer: Option<Arc<dyn MessageObserver>>,
}

/// The running feeds. Dropping it stops them.
pub struct Ingest {
    catalog: SharedCatalog,
    hub: Arc<Hub>,
    channels: Arc<NetworkChannelStates>,
    started: Duration,
    tasks: TaskSpawner,
    /// Locked while feeds change, never for reading.
    running: Mutex<RunningTasks>,
    shared: SharedPollerContext,
    times: PollStageDurations,
}

/// A network's feed configurations, beginning with the feed that names the network.
type NetworkFeedConfigs = Vec<Arc<FeedConfig>>;

impl Ingest {
    /// Starts polling on the current tokio runtime.
    pub fn start_polling(options: IngestOptions) -> Arc<Ingest> {
        Ingest::start_polling_with_handoff(options, None)
    }

    /// Starts polling and resumes from an earlier process's handoff, as far as it is still valid. Decodes its schedules
    /// and reads the last good bytes of the other networks, which may take seconds, so call it where blocking is
    /// allowed.
    ///
    /// A handoff must not be used for two starts: clients would mistake another history for theirs.
    pub fn start_polling_with_handoff(
        options: IngestOptions,
        handoff: Option<HandoffFileContent>,
    ) -> Arc<Ingest> {
        let IngestOptions {
            feeds,
            clock,
            seed,
            hub,
            user_agent,
            load_limits,
            extra_channels: beside,
            ..
        } = options;
        let IngestOptions { archive, snapshots, inboxes, message_observer, .. } = options;
        let mut rng = fastrand::Rng::with_seed(seed);
        let keys = rng.u64(..);
        let configs = drop_duplicate_feed_ids(feeds);
        let groups = group_feeds_into_networks(&configs);
        let (times, mut started_networks) = (PollStageDurations::default(), Vec::new());
        let mut restart = RestartPlan::new(handoff, &groups, keys, &load_limits, clock.wall_time());
        let networks = build_networks(&groups, &restart, &clock, &times, &mut rng);
        let catalog: SharedCatalog =
            Arc::new(ArcSwap::from_pointee(FeedCatalog::new(Vec::new(), networks.clone())));
        let channels =
            NetworkChannelStates::from_catalog(Arc::clone(&catalog), keys, Arc::clone(&clock));
        let channels = Arc::new(channels.with_extra_channels(beside));
        let source = Arc::clone(&channels) as Arc<dyn ChannelStateSource>;
        let hub = Hub::new(hub, source, Arc::clone(&clock), rng.u64(..));
        let tasks = TaskSpawner { stop: CancellationToken::new(), tracker: TaskTracker::new() };
        let budgets = RateLimiter::new(configs.iter().map(|config| &**config));
        let shared = SharedPollerContext {
            sources: SharedFetchContext::new(&user_agent, Arc::clone(&clock), Arc::new(budgets)),
            clock: Arc::clone(&clock),
            loads: Arc::new(ScheduleLoadBudget::new(load_limits.memory)),
            load_limits: Arc::new(load_limits),
            converter_slots: ConverterSlots::new(),
            start_stagger: Arc::new(FirstPollDelays::new(
                configs.iter().map(|config| &**config),
                &mut rng,
            )),
            archive,
            snapshots,
            tasks: tasks.clone(),
            inboxes,
            message_observer,
        };
        restore::retain_snapshots_of_feeds(&configs, &*shared.snapshots);
        for (at, (network, members)) in networks.iter().zip(&groups).enumerate() {
            let mut writer = NetworkWriter::new(Arc::clone(network), Some(Arc::clone(&hub)), keys);
            restart.resume_network(at, &mut writer, &hub);
            let feeds = build_feeds(at, network, members, &mut restart);
            restore::restore_stored_snapshots(
                &feeds,
                restart.epoch_of_network(at).is_some(),
                &shared,
            );
            started_networks.push((writer, feeds));
        }
        // Before anything is published: a restored log must end at its network's revision.
        restart.restore_channel_logs(&hub, &channels);
        let next_group = groups.len() as u32 + 1;
        let mut running = RunningTasks { networks: Vec::new(), rng, keys, next_group };
        for (writer, feeds) in started_networks {
            let mut network = RunningNetwork::spawn_network_task(writer, &shared.clock, &tasks);
            for (number, feed) in feeds.into_iter().enumerate() {
                let (queue, seed) = (network.queue.clone(), running.rng.u64(..));
                let poller = FeedPoller::new(Arc::clone(&feed), number, queue, &shared, seed);
                network.feeds.push(spawn_poller(&tasks, feed, poller));
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

    /// Returns the hub that changes are published to.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Returns the feeds, in the order of the configuration.
    pub fn feeds(&self) -> Vec<Arc<Feed>> {
        self.catalog.load().feeds.clone()
    }

    pub fn find_feed(&self, id: &str) -> Option<Arc<Feed>> {
        self.catalog.load().find_feed(id).cloned()
    }

    /// Returns the networks, in the order in which the configuration first names them.
    pub fn networks(&self) -> Vec<Arc<Network>> {
        self.catalog.load().networks.clone()
    }

    pub fn find_network_of_feed(&self, feed: &str) -> Option<Arc<Network>> {
        Some(self.find_feed(feed)?.network())
    }

    /// Returns the archive of polls and states.
    pub fn poll_archive(&self) -> &Arc<dyn PollArchive> {
        &self.shared.archive
    }

    /// Returns true if each feed was polled once or is paused, or if [`READY_AFTER`] has passed.
    pub fn is_ready(&self) -> bool {
        let waited = self.shared.clock.monotonic().saturating_sub(self.started);
        let has_data = |feed: &Arc<Feed>| feed.has_been_polled() || feed.config().paused;
        waited >= READY_AFTER || self.catalog.load().feeds.iter().all(has_data)
    }

    /// Returns the durations of a poll stage over all feeds, in nanoseconds.
    pub fn poll_stage_durations(&self, stage: PollStage) -> histogram::HistogramSnapshot {
        self.times.histogram_snapshot(stage)
    }

    /// Stops polling and returns when every task has ended. The data stay readable.
    pub async fn stop_polling(&self) {
        self.tasks.stop.cancel();
        self.tasks.tracker.wait().await;
    }

    /// Searches for stops in all networks.
    pub fn search_stops(&self, query: &StopSearchQuery) -> Vec<StopHit> {
        search_stops(&self.catalog.load().networks, query)
    }

    /// Searches for feeds, routes and stops by name.
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

/// The hub reads the channels' states itself; this is for reading a state without subscribing.
impl ChannelStateSource for Ingest {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        self.channels.resolve_channel(channel)
    }

    fn sequence_name(&self, channel: &EncodedChannelName, key: RoomKey) -> String {
        self.channels.sequence_name(channel, key)
    }

    fn current_position(&self, channel: &EncodedChannelName, key: RoomKey) -> Option<Position> {
        self.channels.current_position(channel, key)
    }

    fn read_state(&self, channel: &EncodedChannelName, key: RoomKey) -> ChannelState {
        self.channels.read_state(channel, key)
    }
}

fn build_networks(
    groups: &[NetworkFeedConfigs],
    restart: &RestartPlan,
    clock: &Arc<dyn Clock>,
    times: &PollStageDurations,
    rng: &mut fastrand::Rng,
) -> Vec<Arc<Network>> {
    let numbered = groups.iter().zip(1..).enumerate();
    let networks = numbered.map(|(at, (members, group))| {
        let mut ids = members.iter().map(|config| config.id.clone());
        let first = ids.next().unwrap_or_else(|| members[0].id.clone());
        let new_life = Epoch::random(rng);
        let epoch = restart.epoch_of_network(at).unwrap_or(new_life);
        let network = Network::new(first, ids, group, epoch, Arc::clone(clock));
        Arc::new(network.record_stages_into(times))
    });
    networks.collect()
}

fn build_feeds(
    at: usize,
    network: &Arc<Network>,
    members: &NetworkFeedConfigs,
    restart: &mut RestartPlan,
) -> Vec<Arc<Feed>> {
    let new = |config| Arc::new(Feed::new(Arc::clone(config), Arc::clone(network)));
    let feeds: Vec<Arc<Feed>> = members.iter().map(new).collect();
    for (number, feed) in feeds.iter().enumerate() {
        restart.restore_status_and_snapshot(at, number, feed);
    }
    network.set_feeds(feeds.iter().map(Arc::downgrade).collect());
    feeds
}
