//! The tasks of networks and feeds, and the ways to end them one by one.

use std::sync::Arc;

use lineside_sync::Clock;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    feed::Feed,
    network::{Network, NetworkQueue, NetworkWriter, run_network},
    poll::FeedPoller,
    rate_limit::RateLimitBucket,
};

/// Where tasks run, and what ends them all.
#[derive(Clone, Debug)]
pub(crate) struct TaskSpawner {
    pub(crate) stop: CancellationToken,
    pub(crate) tracker: TaskTracker,
}

impl TaskSpawner {
    /// Lets a feed poll.
    pub(super) fn spawn_poller(&self, feed: Arc<Feed>, poller: FeedPoller) -> RunningFeed {
        let (retire, place) = (CancellationToken::new(), poller.rate_limit_bucket().clone());
        let task = self.tracker.spawn(poller.run_until_retired(self.stop.clone(), retire.clone()));
        RunningFeed { feed, place, retire, task }
    }
}

/// What runs.
#[derive(Debug)]
pub(super) struct RunningTasks {
    /// In the order in which the configuration first names them.
    pub(super) networks: Vec<RunningNetwork>,
    pub(super) rng: fastrand::Rng,
    /// Keys of maps and rooms.
    pub(super) keys: u64,
    /// The group of the next network; none is used twice.
    pub(super) next_group: u32,
}

/// A network that runs.
#[derive(Debug)]
pub(super) struct RunningNetwork {
    pub(super) network: Arc<Network>,
    pub(super) queue: NetworkQueue,
    pub(super) retire: CancellationToken,
    pub(super) task: JoinHandle<()>,
    /// Its writer, once it has ended.
    pub(super) ended: Arc<Mutex<Option<NetworkWriter>>>,
    /// In the order of its ids.
    pub(super) feeds: Vec<RunningFeed>,
}

impl RunningNetwork {
    /// Starts a network's task; it has no feeds yet.
    pub(super) fn spawn_network(
        writer: NetworkWriter,
        clock: &Arc<dyn Clock>,
        tasks: &TaskSpawner,
    ) -> RunningNetwork {
        let network = Arc::clone(writer.network());
        let (queue, inputs) = NetworkQueue::new(clock);
        let retire = tasks.stop.child_token();
        let running = run_network(writer, inputs, Arc::clone(clock), retire.clone());
        let ended = Arc::new(Mutex::new(None));
        let end = Arc::clone(&ended);
        let task = tasks.tracker.spawn(async move {
            let writer = running.await;
            *end.lock() = writer;
        });
        RunningNetwork { network, queue, retire, task, ended, feeds: Vec::new() }
    }
}

/// A feed that polls.
#[derive(Debug)]
pub(super) struct RunningFeed {
    pub(super) feed: Arc<Feed>,
    /// Where its requests are counted.
    pub(super) place: RateLimitBucket,
    pub(super) retire: CancellationToken,
    /// Gives its poller back when it was told to retire.
    pub(super) task: JoinHandle<Option<FeedPoller>>,
}
