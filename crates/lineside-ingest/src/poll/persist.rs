//! Storing the last good bytes before they are served, and restoring them in the next process before its first poll.

use std::sync::Arc;

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::{Feed, FeedPoller, FetchError, Snapshot};
use crate::feed_config::SharedConfig;
use crate::limits;
use crate::served_snapshot::ServedSnapshot;
use crate::snapshot_store::{CacheValidators, DatasetFacts, SnapshotMetadata};
use crate::snapshot_writer::{SourceFacts, describe_source};

/// Publishes new bytes to readers, even if polling is stopped while they are being stored.
struct PublishGuard<'a> {
    feed: &'a Feed,
    snapshot: Option<Snapshot>,
    served_snapshot: Option<ServedSnapshot>,
}

impl Drop for PublishGuard<'_> {
    fn drop(&mut self) {
        if let Some(served) = self.served_snapshot.take() {
            self.feed.set_current(served);
        } else if let Some(snapshot) = self.snapshot.take() {
            self.feed.set_snapshot(snapshot);
        }
    }
}

/// Prepares bytes to be served, on a blocking thread if they are large.
pub(super) async fn prepare_snapshot(
    snapshot: Snapshot,
    config: SharedConfig,
) -> Option<ServedSnapshot> {
    if snapshot.bytes.len() <= limits::COPY_INLINE_BYTES_MAX {
        return Some(ServedSnapshot::new(snapshot, config));
    }
    tokio::task::spawn_blocking(move || ServedSnapshot::new(snapshot, config)).await.ok()
}

impl FeedPoller {
    /// Stores new bytes and then publishes them: bytes that a client received must exist after a crash.
    pub(super) async fn persist_then_publish(&mut self, snapshot: Snapshot, now: UnixMillis) {
        let metadata = self.snapshot_metadata(&snapshot);
        let mut swap = PublishGuard {
            feed: &self.feed,
            snapshot: Some(snapshot.clone()),
            served_snapshot: None,
        };
        swap.served_snapshot =
            prepare_snapshot(snapshot, Arc::clone(self.feed.shared_config())).await;
        if let Some(served) = &swap.served_snapshot {
            swap.snapshot = None;
            self.snapshot_writer.save_snapshot(&Arc::clone(served.snapshot()), metadata, now).await;
        }
        drop(swap);
    }

    /// Returns the metadata stored with accepted bytes.
    fn snapshot_metadata(&self, snapshot: &Snapshot) -> SourceFacts {
        let dataset =
            self.feed.network().dataset().filter(|dataset| dataset.matches_hash(snapshot.hash));
        let is_schedule = snapshot.format.is_schedule();
        // The validators belong to the source's bytes, not to the converted ones.
        let is_converted = self.feed.config().converter.is_some();
        let validators =
            if is_converted { CacheValidators::default() } else { self.fetcher.validators() };
        SourceFacts {
            validators,
            facts: dataset
                .filter(|_| is_schedule)
                .map(|it| DatasetFacts::from_timetable(&it.timetable)),
        }
    }

    /// Records that the source has confirmed the current bytes.
    pub(super) fn confirm_snapshot(&mut self) {
        self.record_success();
        let now = self.clock.wall_time();
        self.health.record_repeated_message(now);
        if let Some(snapshot) = self.feed.snapshot() {
            let metadata = self.snapshot_metadata(&snapshot);
            self.snapshot_writer.confirm_snapshot(&snapshot, metadata, now);
        }
    }

    /// Accepts the bytes that an earlier process stored, as if they had just been fetched. The next request uses their
    /// validators.
    pub(super) async fn restore_snapshot(&mut self) {
        if std::mem::replace(&mut self.is_restore_done, true) || self.has_new_source {
            return;
        }
        self.restore_trip_history().await;
        let Some(snapshot) = self.feed.snapshot() else { return };
        let is_same_snapshot = |head: &SnapshotMetadata| {
            head.hash == snapshot.hash && head.source == describe_source(self.feed.config())
        };
        let restored =
            self.feed.restored_snapshot().filter(|it| is_same_snapshot(&it.head)).cloned();
        // A GBFS system's file list exists only in its bytes, so it is decoded even if the network is resumed.
        let is_gbfs = snapshot.format == Format::Gbfs;
        if is_gbfs || restored.as_ref().is_some_and(|it| it.is_undecoded) {
            self.accept_restored(&snapshot).await;
        }
        let Some(head) = restored.map(|it| it.head) else { return };
        self.snapshot_writer.mark_saved(head.hash);
        self.is_unobserved = match snapshot.format {
            Format::GtfsRt => true,
            // The last changes alone cannot be observed meaningfully.
            Format::Siri => !self.answers_changes(),
            _ => false,
        };
        if !self.is_expired && self.feed.config().converter.is_none() {
            self.fetcher.set_validators(&head.validators);
        }
    }

    async fn accept_restored(&mut self, snapshot: &Snapshot) {
        let before = self.status.clone();
        let accepted = self.decode_restored(snapshot, before.last_success).await;
        // Decoding restored bytes is not a poll, so it must not change these.
        self.status.last_success = before.last_success;
        self.status.last_error = before.last_error;
        self.status.failures_in_a_row = before.failures_in_a_row;
        self.status.failing_since = before.failing_since;
        self.status.update_state(self.clock.wall_time(), self.data_now(), &self.rules);
        self.feed.set_status(self.status.clone());
        if let Err(failure) = accepted {
            tracing::warn!(
                feed = %self.feed.snapshot_key(), code = %failure.code, detail = failure.detail,
                "the stored data can no longer be decoded; they are served as they are"
            );
            // The same bytes must be decoded again instead of being skipped as unchanged.
            self.is_expired = true;
        }
    }

    async fn decode_restored(
        &mut self,
        snapshot: &Snapshot,
        confirmed_at: Option<UnixMillis>,
    ) -> Result<(), FetchError> {
        let (bytes, now) = (snapshot.bytes.clone(), self.clock.wall_time());
        let age = confirmed_at.map(|at| now.duration_since(at));
        let is_too_old = self.rules.max_age.zip(age).is_some_and(|(max, age)| age > max);
        match snapshot.format {
            format @ (Format::Gtfs | Format::Netex) => {
                self.load_schedule(bytes, format, snapshot.fetched_at).await
            }
            Format::GtfsRt | Format::Siri if is_too_old => {
                self.is_expired = true;
                Ok(())
            }
            // The list of files is requested anyway.
            Format::Gbfs if is_too_old && self.system.is_none() => {
                self.is_expired = true;
                Ok(())
            }
            Format::GtfsRt => self.accept_message(bytes, now).await,
            // Only the last changes are stored; the data before them are lost, and a part must not be published as the
            // whole.
            Format::Siri if self.answers_changes() => Ok(()),
            Format::Siri => {
                let accepted = self.accept_siri(bytes, now).await;
                // The stored message may be one page of several.
                self.siri.request_full_state();
                accepted.map(drop)
            }
            Format::Gbfs => self.accept_gbfs(&bytes).await,
            Format::Raw => {
                self.record_success();
                Ok(())
            }
        }
    }
}
