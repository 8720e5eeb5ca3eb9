//! Changes of the feeds' configuration at run time.
//!
//! Unchanged feeds are not touched: their tasks and rooms continue, and readers find them at all times. A feed with a
//! changed configuration keeps its data; only its polling follows the new rules. A network with other feeds than before
//! is rebuilt from the old one's data and replaces it with a new epoch; the old one's rooms end.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::Arc,
    time::Duration,
};

use lineside_hub::Epoch;
use tokio::sync::{mpsc::error::TrySendError, oneshot};

use super::{
    Ingest, NetworkFeedConfigs, build_catalog, drop_duplicate_feed_ids, group_feeds_into_networks,
    restore::retain_snapshots_of_feeds,
    running::{RunningNetwork, RunningTasks, spawn_poller},
};
use crate::{
    catalog::{Feed, FeedCatalog, Network},
    feed_config::FeedConfig,
    feed_id::FeedId,
    network_writer::{InheritedNetworkData, NetworkWriter},
    poll::{FeedPoller, SharedPollerContext},
    poll_schedule::FirstPollDelays,
    record::FeedStatusRecord,
};

/// The difference between two lists of feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChange {
    /// Feeds that are new.
    pub added: Vec<FeedId>,
    /// Feeds that are removed.
    pub removed: Vec<FeedId>,
    /// Feeds with a changed configuration.
    pub changed: Vec<FeedId>,
    /// Networks that are rebuilt, by the feed that names them: their subscribers must subscribe again.
    pub networks: Vec<FeedId>,
}

impl ConfigChange {
    /// Returns true if nothing changes.
    pub fn is_unchanged(&self) -> bool {
        *self == ConfigChange::default()
    }

    fn between_feed_lists(
        before: &FeedCatalog,
        configs: &NetworkFeedConfigs,
        groups: &[NetworkFeedConfigs],
    ) -> ConfigChange {
        let now: HashSet<&FeedId> = configs.iter().map(|config| &config.id).collect();
        let mut changed = ConfigChange::default();
        for config in configs {
            match before.find_feed(config.id.as_str()) {
                None => changed.added.push(config.id.clone()),
                Some(feed) if feed.config() != &**config => changed.changed.push(config.id.clone()),
                Some(_) => {}
            }
        }
        let removed = before.feeds.iter().map(|feed| feed.id()).filter(|id| !now.contains(id));
        changed.removed.extend(removed.cloned());
        let others = groups.iter().filter(|members| {
            before.networks.iter().all(|network| !has_same_feeds(network, members))
        });
        changed.networks.extend(others.map(|members| members[0].id.clone()));
        changed
    }
}

/// The server is stopping and polls no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is stopping")]
pub struct PollingStopped;

/// The reason why a source is not polled at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PollNowRefusal {
    /// The feed does not exist.
    #[error("there is no such feed")]
    UnknownFeed,
    /// The feed is paused.
    #[error("the feed is paused")]
    Paused,
    /// The rate limit allows no request for this time.
    #[error("the rate limit of the source allows the next poll in {} s", .0.as_secs_f64().ceil())]
    RateLimited(Duration),
    /// The server is stopping, or the feed is just being changed.
    #[error("the feed cannot be polled now")]
    Unavailable,
}

impl Ingest {
    /// Returns the change that [`apply_feed_configs`](Ingest::apply_feed_configs) would make.
    pub fn preview_config_change(&self, feeds: Vec<FeedConfig>) -> ConfigChange {
        let configs = drop_duplicate_feed_ids(feeds);
        ConfigChange::between_feed_lists(
            &self.catalog.load(),
            &configs,
            &group_feeds_into_networks(&configs),
        )
    }

    /// Switches to another list of feeds and returns once readers find them. Changes run one at a time; a change
    /// completes even if its caller is cancelled.
    ///
    /// # Errors
    /// Returns an error if the server is stopping.
    pub async fn apply_feed_configs(
        self: &Arc<Self>,
        feeds: Vec<FeedConfig>,
    ) -> Result<ConfigChange, PollingStopped> {
        let this = Arc::clone(self);
        let work = self.tasks.tracker.spawn(async move {
            this.replace_feeds_and_networks(drop_duplicate_feed_ids(feeds)).await
        });
        work.await.map_err(|_| PollingStopped)?
    }

    /// Polls a feed's source at once, within its rate limit.
    ///
    /// # Errors
    /// Returns the reason why the source is not polled.
    pub async fn poll_now(&self, id: &str) -> Result<(), PollNowRefusal> {
        let feed = self.find_feed(id).ok_or(PollNowRefusal::UnknownFeed)?;
        if feed.config().paused {
            return Err(PollNowRefusal::Paused);
        }
        let poll_requests = feed.poll_request_sender().ok_or(PollNowRefusal::Unavailable)?;
        let (request, answer) = oneshot::channel();
        match poll_requests.try_send(request) {
            Ok(()) => {}
            // Another caller has just requested a poll.
            Err(TrySendError::Full(_)) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(PollNowRefusal::Unavailable),
        }
        match answer.await {
            Ok(poll_result) => poll_result.map_err(PollNowRefusal::RateLimited),
            Err(_) => Err(PollNowRefusal::Unavailable),
        }
    }

    async fn replace_feeds_and_networks(
        &self,
        configs: NetworkFeedConfigs,
    ) -> Result<ConfigChange, PollingStopped> {
        let mut running = self.running.lock().await;
        let before = self.catalog.load_full();
        let groups = group_feeds_into_networks(&configs);
        let changed = ConfigChange::between_feed_lists(&before, &configs, &groups);
        self.shared
            .sources
            .rate_limiter()
            .update_limits_for_feeds(configs.iter().map(|config| &**config));
        let by_id = configs.iter().map(|config| (config.id.clone(), Arc::clone(config))).collect();
        let staying = find_unchanged_networks(&running, &groups);
        let mut retired = self.stop_retired_pollers(&mut running, &by_id, &staying).await?;
        let old = self.stop_retired_network_writers(&mut running, &staying).await?;
        // Nothing fails from here on: what was stopped must be started again.
        let ending = list_ended_room_groups(&running, &staying);
        let mut next = self.build_next_networks(&mut running, groups, &staying, &before, &by_id);
        let new_networks = self.build_network_writers(&next, old, by_id, running.keys).await;
        if new_networks.is_none() {
            retired.pollers.values_mut().for_each(FeedPoller::forget_fetched_content);
        }
        self.swap_catalog_and_end_rooms(&configs, &mut next, &ending, new_networks);
        let keys = running.keys;
        running.networks =
            self.start_new_networks_and_feeds(next, retired, &changed, (&mut running.rng, keys));
        retain_snapshots_of_feeds(&configs, &*self.shared.snapshots);
        tracing::info!(?changed, "the feeds have changed");
        Ok(changed)
    }

    /// Stops polling feeds that are removed, reconfigured, counted in another rate limit bucket, or in a network that
    /// ends.
    async fn stop_retired_pollers(
        &self,
        running: &mut RunningTasks,
        configs: &ConfigsByFeed,
        staying: &[Option<usize>],
    ) -> Result<StoppedFeeds, PollingStopped> {
        let mut retiring = Vec::new();
        for (at, network) in running.networks.iter_mut().enumerate() {
            let is_network_staying = staying.contains(&Some(at));
            for feed in &mut network.feeds {
                let continues = configs.get(feed.feed.id()).is_some_and(|config| {
                    feed.feed.config() == &**config
                        && self
                            .shared
                            .sources
                            .rate_limit_bucket_for_feed(config)
                            .is_same_bucket(&feed.rate_limit_bucket)
                        && !feed.task.is_finished()
                });
                if !(is_network_staying && continues) {
                    feed.retire.cancel();
                    retiring.push(feed);
                }
            }
        }
        let mut retired = StoppedFeeds::default();
        for feed in retiring {
            let id = feed.feed.id().clone();
            match (&mut feed.task).await {
                Ok(Some(poller)) => drop(retired.pollers.insert(id.clone(), poller)),
                Ok(None) => return Err(PollingStopped),
                // The feed's task panicked; it gets a new poller.
                Err(_) => {}
            }
            retired.ids.insert(id);
        }
        Ok(retired)
    }

    /// Stops the writers of networks that do not stay unchanged.
    async fn stop_retired_network_writers(
        &self,
        running: &mut RunningTasks,
        staying: &[Option<usize>],
    ) -> Result<Vec<NetworkWriter>, PollingStopped> {
        let mut ending: Vec<&mut RunningNetwork> = Vec::new();
        for (at, network) in running.networks.iter_mut().enumerate() {
            if !staying.contains(&Some(at)) {
                network.retire.cancel();
                ending.push(network);
            }
        }
        for network in &mut ending {
            // A task that panicked has left no writer.
            let _ = (&mut network.task).await;
        }
        // The writers of a stopping server stay in place for the handoff.
        if self.tasks.stop.is_cancelled() {
            return Err(PollingStopped);
        }
        Ok(ending.iter().filter_map(|network| network.ended.lock().take()).collect())
    }

    fn build_next_networks(
        &self,
        running: &mut RunningTasks,
        groups: Vec<NetworkFeedConfigs>,
        staying: &[Option<usize>],
        before: &FeedCatalog,
        configs: &ConfigsByFeed,
    ) -> Vec<NextNetwork> {
        let were = mem::take(&mut running.networks);
        let mut were: Vec<Option<RunningNetwork>> = were.into_iter().map(Some).collect();
        let next = groups.into_iter().zip(staying).map(|(members, staying)| {
            let same = staying.and_then(|at| were.get_mut(at)?.take());
            let network = match &same {
                Some(same) => Arc::clone(&same.network),
                None => self.create_network(running, &members),
            };
            let ids: Vec<FeedId> = network.feed_ids().to_vec();
            let feeds: Vec<Arc<Feed>> = ids
                .iter()
                .filter_map(|id| Some(reuse_or_build_feed(configs.get(id)?, before, &network)))
                .collect();
            network.set_feeds(feeds.iter().map(Arc::downgrade).collect());
            NextNetwork { network, feeds, same, writer: None }
        });
        next.collect()
    }

    fn create_network(
        &self,
        running: &mut RunningTasks,
        members: &NetworkFeedConfigs,
    ) -> Arc<Network> {
        let group = running.next_group;
        running.next_group += 1;
        let epoch = Epoch::random(&mut running.rng);
        let (first, others) = (&members[0], &members[1..]);
        let others = others.iter().map(|config| config.id.clone());
        let clock = Arc::clone(&self.shared.clock);
        let network = Network::new(first.id.clone(), others, group, epoch, clock);
        Arc::new(network.record_stages_into(&self.times))
    }

    /// Creates the writers of new networks with the data of the `old` ones. `None` if that panicked: the writers then
    /// start empty.
    async fn build_network_writers(
        &self,
        next: &[NextNetwork],
        old: Vec<NetworkWriter>,
        configs: ConfigsByFeed,
        keys: u64,
    ) -> Option<WritersWithInheritedData> {
        let (hub, now) = (Arc::clone(&self.hub), self.shared.clock.wall_time());
        let new = next.iter().filter(|next| next.same.is_none());
        let new: Vec<(Arc<Network>, Vec<FeedStatusRecord>)> = new
            .map(|next| {
                let feed_records =
                    next.feeds.iter().map(|feed| FeedStatusRecord::from_status(&feed.status()));
                (Arc::clone(&next.network), feed_records.collect())
            })
            .collect();
        let work = tokio::task::spawn_blocking(move || {
            let mut old = old;
            for writer in &mut old {
                let ids = writer.network().feed_ids().to_vec();
                for (number, id) in ids.iter().enumerate() {
                    if !configs.contains_key(id) {
                        writer.remove_feed_data(number, now);
                    }
                }
            }
            let new_networks = new.into_iter().map(|(network, feed_records)| {
                let mut writer = NetworkWriter::new(network, Some(Arc::clone(&hub)), keys);
                let inherited = writer.inherit_data_of_networks(&old, feed_records, now);
                (writer, inherited)
            });
            new_networks.collect()
        });
        match work.await {
            Ok(new_networks) => Some(new_networks),
            Err(error) => {
                tracing::error!(%error, "rebuilding networks stopped because of a bug in Lineside; they start empty");
                None
            }
        }
    }

    /// Makes the next networks visible to readers and ends the rooms of the old ones.
    fn swap_catalog_and_end_rooms(
        &self,
        configs: &NetworkFeedConfigs,
        next: &mut [NextNetwork],
        ending: &[u32],
        new_networks: Option<WritersWithInheritedData>,
    ) {
        self.catalog.store(Arc::new(build_catalog(
            configs,
            next.iter().map(|next| (&next.network, next.feeds.iter())),
        )));
        ending.iter().for_each(|group| self.hub.end_group_and_close_rooms(*group));
        let new = next.iter_mut().filter(|next| next.same.is_none());
        for (next, (mut writer, inherited)) in new.zip(new_networks.into_iter().flatten()) {
            writer.publish_cell_changes(&inherited);
            next.writer = Some(writer);
        }
    }

    /// Starts networks and feeds that do not run yet.
    fn start_new_networks_and_feeds(
        &self,
        next: Vec<NextNetwork>,
        mut retired: StoppedFeeds,
        changed: &ConfigChange,
        (rng, keys): (&mut fastrand::Rng, u64),
    ) -> Vec<RunningNetwork> {
        let catalog = self.catalog.load();
        let added = changed.added.iter().filter_map(|id| catalog.find_feed(id.as_str()));
        let spread = Arc::new(FirstPollDelays::new(added.map(|feed| feed.config()), rng));
        let shared = SharedPollerContext { start_stagger: spread, ..self.shared.clone() };
        let mut networks = Vec::new();
        for NextNetwork { network, feeds, same, writer } in next {
            let mut running = same.unwrap_or_else(|| {
                let new = || NetworkWriter::new(network, Some(Arc::clone(&self.hub)), keys);
                RunningNetwork::spawn_network_task(
                    writer.unwrap_or_else(new),
                    &shared.clock,
                    &self.tasks,
                )
            });
            for (number, feed) in feeds.into_iter().enumerate() {
                let is_new = number >= running.feeds.len();
                if !is_new && !retired.ids.contains(feed.id()) {
                    continue;
                }
                let queue = running.queue.clone();
                let poller = match retired.pollers.remove(feed.id()) {
                    Some(poller) => {
                        poller.continue_with_config(Arc::clone(&feed), number, queue, &shared)
                    }
                    None => FeedPoller::new(Arc::clone(&feed), number, queue, &shared, rng.u64(..)),
                };
                let polls = spawn_poller(&self.tasks, feed, poller);
                match running.feeds.get_mut(number) {
                    Some(slot) => *slot = polls,
                    None => running.feeds.push(polls),
                }
            }
            networks.push(running);
        }
        // The remaining pollers are of removed feeds.
        for poller in retired.pollers.into_values() {
            self.tasks.tracker.spawn(poller.terminate_and_drop());
        }
        networks
    }
}

/// Configurations by feed id.
type ConfigsByFeed = HashMap<FeedId, Arc<FeedConfig>>;

/// The writers of new networks with the data they inherit.
type WritersWithInheritedData = Vec<(NetworkWriter, InheritedNetworkData)>;

/// Feeds that are not polled any more.
#[derive(Debug, Default)]
struct StoppedFeeds {
    ids: HashSet<FeedId>,
    /// The pollers to restart. Those whose task panicked are missing.
    pollers: HashMap<FeedId, FeedPoller>,
}

/// A network of the next catalog.
#[derive(Debug)]
struct NextNetwork {
    network: Arc<Network>,
    /// The feeds, in the order of the network's ids.
    feeds: Vec<Arc<Feed>>,
    /// The running network, if it stays unchanged.
    same: Option<RunningNetwork>,
    writer: Option<NetworkWriter>,
}

/// Returns for each group the index of the running network that it equals.
fn find_unchanged_networks(
    running: &RunningTasks,
    groups: &[NetworkFeedConfigs],
) -> Vec<Option<usize>> {
    let find =
        |members| running.networks.iter().position(|it| has_same_feeds(&it.network, members));
    groups.iter().map(find).collect()
}

/// Returns the hub groups of networks that end.
fn list_ended_room_groups(running: &RunningTasks, staying: &[Option<usize>]) -> Vec<u32> {
    let numbered = running.networks.iter().enumerate();
    let ending = numbered.filter(|(at, _)| !staying.contains(&Some(*at)));
    ending.map(|(_, it)| it.network.room_group()).collect()
}

/// Returns true if a network has these feeds and this first feed; the order of the others does not matter.
fn has_same_feeds(network: &Network, members: &NetworkFeedConfigs) -> bool {
    let ids = network.feed_ids();
    let is_member = |config: &Arc<FeedConfig>| ids.contains(&config.id);
    ids.len() == members.len() && *network.id() == members[0].id && members.iter().all(is_member)
}

/// Returns the known feed if nothing has changed, else a feed with the new configuration.
fn reuse_or_build_feed(
    config: &Arc<FeedConfig>,
    before: &FeedCatalog,
    network: &Arc<Network>,
) -> Arc<Feed> {
    match before.find_feed(config.id.as_str()) {
        Some(known) if known.config() == &**config && Arc::ptr_eq(&known.network(), network) => {
            Arc::clone(known)
        }
        Some(known) => {
            Arc::new(known.with_config_and_network(Arc::clone(config), Arc::clone(network)))
        }
        None => Arc::new(Feed::new(Arc::clone(config), Arc::clone(network))),
    }
}
