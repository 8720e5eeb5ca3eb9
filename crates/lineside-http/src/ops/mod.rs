//! The dashboard: the state of each feed and of the node, computed by one task for all viewers.
//!
//! The task collects counters each second while the dashboard is watched, otherwise every ten seconds, so that a new
//! viewer sees the last minutes at once. It swaps in a new snapshot, which `/ops` and the channels `ops/feeds` and
//! `ops/node` show, and publishes the differences from the previous one. No reader of a feed waits for it.

pub mod dashboard;
pub mod feed_overview;
mod load_history;
pub mod node_overview;
pub mod process;
pub mod quantiles;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName, Hub,
    Position, RoomKey,
};
use lineside_ingest::KIND_EXTRA;
use lineside_ingest::messages::encode_state_parts;
use lineside_quality::ops_channels::{FEEDS, NODE};
use lineside_sync::real_time::run_with_timeout;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use self::dashboard::DashboardSnapshot;
pub use self::feed_overview::{FETCH_BOUNDS_MS, FeedOverview};
pub use self::load_history::LoadHistory;
pub use self::node_overview::GAUGES;

/// Maximum time to wait for a fresh snapshot; a collection takes milliseconds.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

/// The current snapshot and its channels.
#[derive(Debug, Default)]
pub struct OpsDashboard {
    snapshot: ArcSwap<DashboardSnapshot>,
    /// The load of the last week.
    history: Mutex<LoadHistory>,
    /// Number of collections that have begun, and the number of the latest one that is published.
    pub begun_collections: AtomicU64,
    pub published_collection: AtomicU64,
    /// Notified when a viewer requests a fresh snapshot.
    pub refresh_requested: Notify,
    pub snapshot_published: Notify,
}

impl OpsDashboard {
    pub fn current_snapshot(&self) -> Arc<DashboardSnapshot> {
        self.snapshot.load_full()
    }

    /// Calls `read` with the load of the last week.
    pub fn with_load_history<T>(&self, read: impl FnOnce(&LoadHistory) -> T) -> T {
        read(&self.history.lock())
    }

    /// Returns a fresh snapshot, or the current one if that takes too long.
    pub async fn refresh_snapshot(&self) -> Arc<DashboardSnapshot> {
        // A collection in progress may have missed the caller's latest action.
        let begun_before = self.begun_collections.load(Ordering::Acquire);
        let seen = async {
            loop {
                let published = self.snapshot_published.notified();
                if self.published_collection.load(Ordering::Acquire) > begun_before {
                    break;
                }
                self.refresh_requested.notify_one();
                published.await;
            }
        };
        // After a timeout the previous snapshot is returned.
        let _: Option<()> = run_with_timeout(SNAPSHOT_TIMEOUT, seen).await;
        self.current_snapshot()
    }

    /// Swaps a snapshot in, then publishes the differences.
    pub fn publish_snapshot(&self, hub: &Hub, board: DashboardSnapshot) {
        if let Some((at, sample)) = board.recent_samples().next_back() {
            self.history.lock().add_sample(at, sample);
        }
        let board = Arc::new(board);
        let before = self.snapshot.swap(Arc::clone(&board));
        let mut batch = hub.open_publish_batch();
        for (key, changes) in
            [(FEEDS_KEY, board.feed_changes(&before)), (NODE_KEY, board.node_changes(&before))]
        {
            let Some(room) = hub.find_room(key) else { continue };
            for message in
                lineside_ingest::messages::encode_changes_as_publications(board.at, &changes)
            {
                batch.append_publication(&room, None, message);
            }
        }
        batch.finish_and_signal_listeners();
    }
}

pub const FEEDS_KEY: RoomKey = RoomKey { group: 0, kind: KIND_EXTRA, id: 0 };
pub const NODE_KEY: RoomKey = RoomKey { group: 0, kind: KIND_EXTRA, id: 1 };

impl ChannelStateSource for OpsDashboard {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        match channel.as_str() {
            FEEDS => Ok(FEEDS_KEY),
            NODE => Ok(NODE_KEY),
            _ => Err(BadChannelName::UnknownForm.into()),
        }
    }

    fn sequence_name(&self, channel: &EncodedChannelName, _: RoomKey) -> String {
        channel.as_str().to_owned()
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, _: &EncodedChannelName, key: RoomKey) -> ChannelState {
        let board = self.current_snapshot();
        let upserts = if key == FEEDS_KEY { board.feed_upserts() } else { board.node_upserts() };
        ChannelState { position: None, parts: encode_state_parts(board.at, &upserts) }
    }
}

#[cfg(test)]
mod tests;
