//! The tasks of networks and feeds, which can be stopped one by one.

use std::sync::Arc;

use lineside_sync::Clock;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::{Feed, Network},
    network_writer::{NetworkQueue, NetworkWriter, run_network_task},
    poll::FeedPoller,
    rate_limit::RateLimitBucket,
    task_spawner::TaskSpawner,
};

#[derive(Debug)]
pub(super) struct RunningTasks {
    /// Networks in the order in which the configuration first names them.
    pub(super) networks: Vec<RunningNetwork>,
    pub(super) rng: fastrand::Rng,
    /// Seed of hash maps and room keys.
    pub(super) keys: u64,
    /// The group of the next network; no group is used twice.
    pub(super) next_group: u32,
}

#[derive(Debug)]
pub(super) struct RunningNetwork {
    pub(super) network: Arc<Network>,
    pub(super) queue: NetworkQueue,
    pub(super) retire: CancellationToken,
    pub(super) task: JoinHandle<()>,
    /// The writer, once the task has ended.
    pub(super) ended: Arc<Mutex<Option<NetworkWriter>>>,
    /// Feeds in the order of the network's ids.
    pub(super) feeds: Vec<RunningFeed>,
}

impl RunningNetwork {
    /// Starts the task of a network without feeds.
    pub(super) fn spawn_network_task(
        writer: NetworkWriter,
        clock: &Arc<dyn Clock>,
        tasks: &TaskSpawner,
    ) -> RunningNetwork {
        let network = Arc::clone(writer.network());
        let (queue, inputs) = NetworkQueue::new();
        let retire = tasks.stop.child_token();
        let running = run_network_task(writer, inputs, Arc::clone(clock), retire.clone());
        let ended = Arc::new(Mutex::new(None));
        let end = Arc::clone(&ended);
        let task = tasks.tracker.spawn(async move {
            let writer = running.await;
            *end.lock() = writer;
        });
        RunningNetwork { network, queue, retire, task, ended, feeds: Vec::new() }
    }
}

#[derive(Debug)]
pub(super) struct RunningFeed {
    pub(super) feed: Arc<Feed>,
    /// The rate limit bucket of its requests.
    pub(super) rate_limit_bucket: RateLimitBucket,
    pub(super) retire: CancellationToken,
    /// The task, which returns the poller after `retire` was cancelled.
    pub(super) task: JoinHandle<Option<FeedPoller>>,
}

/// Starts the task of a feed.
pub(super) fn spawn_poller(
    tasks: &TaskSpawner,
    feed: Arc<Feed>,
    poller: FeedPoller,
) -> RunningFeed {
    let (retire, bucket) = (CancellationToken::new(), poller.rate_limit_bucket().clone());
    let task = tasks.tracker.spawn(poller.run_until_retired(tasks.stop.clone(), retire.clone()));
    RunningFeed { feed, rate_limit_bucket: bucket, retire, task }
}
