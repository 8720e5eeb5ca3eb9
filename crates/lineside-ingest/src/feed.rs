//! A feed as readers see it: its configuration, how it is doing, its last good bytes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use lineside_formats::Format;

use crate::{
    config::{FeedConfig, FeedId, SharedConfig},
    network::Network,
    snapshot::Snapshot,
    status::FeedStatus,
};

/// One feed of the catalog. Its task writes, everybody reads; no reader waits.
#[derive(Debug)]
pub struct Feed {
    config: SharedConfig,
    network: Arc<Network>,
    status: ArcSwap<FeedStatus>,
    snapshot: ArcSwapOption<Snapshot>,
    tried: AtomicBool,
}

impl Feed {
    pub(crate) fn new(config: SharedConfig, network: Arc<Network>) -> Feed {
        let now = network.state().at;
        let reason = "has not been polled yet".to_owned();
        let status =
            FeedStatus { format: config.format, since: now, reason, ..FeedStatus::default() };
        Feed {
            config,
            network,
            status: ArcSwap::from_pointee(status),
            snapshot: ArcSwapOption::empty(),
            tried: AtomicBool::new(false),
        }
    }

    /// As it is configured.
    pub fn config(&self) -> &FeedConfig {
        &self.config
    }

    /// Its id.
    pub fn id(&self) -> &FeedId {
        &self.config.id
    }

    /// How it is doing.
    pub fn status(&self) -> Arc<FeedStatus> {
        self.status.load_full()
    }

    /// What it is: as configured, else as its content shows; `None` before the first good bytes.
    pub fn format(&self) -> Option<Format> {
        self.config.format.or(self.status.load().format)
    }

    /// The last good bytes.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The network that it belongs to.
    pub fn network(&self) -> Arc<Network> {
        Arc::clone(&self.network)
    }

    /// Whether it is known to be a schedule.
    pub fn is_schedule(&self) -> bool {
        self.format() == Some(Format::Gtfs)
    }

    /// Whether its source was asked at least once.
    pub fn was_tried(&self) -> bool {
        self.tried.load(Ordering::Acquire)
    }

    /// Whether it has good bytes of real time and nothing of them is served.
    pub(crate) fn is_empty_message(&self) -> bool {
        let status = self.status.load();
        let is_message = status.format == Some(Format::GtfsRt) && status.entities == 0;
        is_message && self.snapshot.load().is_some()
    }

    pub(crate) fn shared_config(&self) -> &SharedConfig {
        &self.config
    }

    pub(crate) fn set_status(&self, status: FeedStatus) {
        self.status.store(Arc::new(status));
    }

    pub(crate) fn set_snapshot(&self, snapshot: Snapshot) {
        self.snapshot.store(Some(Arc::new(snapshot)));
    }

    pub(crate) fn set_tried(&self) {
        self.tried.store(true, Ordering::Release);
    }
}
