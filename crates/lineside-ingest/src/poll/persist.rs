//! Storing the last good bytes before they are served.

use std::sync::Arc;

use lineside_sync::UnixMillis;

use super::polled_feed::PolledFeed;
use crate::{
    catalog::Feed,
    feed_config::SharedFeedConfig,
    limits,
    served_snapshot::ServedSnapshot,
    snapshot::FeedBodySnapshot,
    snapshot_store::{CacheValidators, ScheduleVersionFacts},
    snapshot_writer::SnapshotExtraMetadata,
};

/// Publishes new bytes to readers, even if polling is stopped while they are being stored.
struct PublishSnapshotOnDrop<'a> {
    feed: &'a Feed,
    snapshot: Option<FeedBodySnapshot>,
    served_snapshot: Option<ServedSnapshot>,
}

impl Drop for PublishSnapshotOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(served) = self.served_snapshot.take() {
            self.feed.set_served_snapshot(served);
        } else if let Some(snapshot) = self.snapshot.take() {
            self.feed.set_snapshot(snapshot);
        }
    }
}

/// Prepares bytes to be served, on a blocking thread if they are large.
pub(super) async fn prepare_snapshot(
    snapshot: FeedBodySnapshot,
    config: SharedFeedConfig,
) -> Option<ServedSnapshot> {
    if snapshot.bytes.len() <= limits::COPY_INLINE_BYTES_MAX {
        return Some(ServedSnapshot::new(snapshot, config));
    }
    tokio::task::spawn_blocking(move || ServedSnapshot::new(snapshot, config)).await.ok()
}

impl PolledFeed {
    /// Stores new bytes and then publishes them: bytes that a client received must exist after a crash.
    pub(super) async fn store_then_publish_snapshot(
        &mut self,
        snapshot: FeedBodySnapshot,
        now: UnixMillis,
    ) {
        let metadata = self.metadata_to_store(&snapshot);
        let mut swap = PublishSnapshotOnDrop {
            feed: &self.feed,
            snapshot: Some(snapshot.clone()),
            served_snapshot: None,
        };
        swap.served_snapshot =
            prepare_snapshot(snapshot, Arc::clone(self.feed.shared_config())).await;
        if let Some(served) = &swap.served_snapshot {
            swap.snapshot = None;
            self.snapshot_writer
                .save_and_wait_with_limit(&Arc::clone(served.snapshot()), metadata, now)
                .await;
        }
        drop(swap);
    }

    /// Returns the metadata stored with accepted bytes.
    fn metadata_to_store(&self, snapshot: &FeedBodySnapshot) -> SnapshotExtraMetadata {
        let dataset =
            self.feed.network().dataset().filter(|dataset| dataset.matches_hash(snapshot.hash));
        let is_schedule = snapshot.format.is_schedule();
        // The validators belong to the source's bytes, not to the converted ones.
        let is_converted = self.feed.config().converter.is_some();
        let validators =
            if is_converted { CacheValidators::default() } else { self.fetcher.cache_validators() };
        SnapshotExtraMetadata {
            validators,
            facts: dataset
                .filter(|_| is_schedule)
                .map(|it| ScheduleVersionFacts::from_timetable(&it.timetable)),
        }
    }

    /// Records that the source has confirmed the current bytes.
    pub(super) fn record_not_modified(&mut self) {
        self.record_success();
        let now = self.clock.wall_time();
        self.health.record_unchanged_message(now);
        if let Some(snapshot) = self.feed.snapshot() {
            let metadata = self.metadata_to_store(&snapshot);
            self.snapshot_writer.confirm_snapshot(&snapshot, metadata, now);
        }
    }
}
