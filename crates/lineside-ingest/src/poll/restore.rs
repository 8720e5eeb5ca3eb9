//! Restoring the bytes that an earlier process stored, before the first poll.

use super::{FeedPoller, protocol::PollSuccess};
use crate::{
    fetch_failure::FetchError, snapshot::FeedBodySnapshot, snapshot_store::SnapshotMetadata,
    snapshot_writer::redacted_source_with_hash,
};

impl FeedPoller {
    /// Accepts the bytes that an earlier process stored, as if they had just been fetched. The next request uses their
    /// validators.
    pub(super) async fn accept_stored_snapshot(&mut self) {
        let polled = &mut self.polled;
        if std::mem::replace(&mut self.is_restore_done, true) || polled.has_new_source {
            return;
        }
        polled.restore_has_reported_trips().await;
        let Some(snapshot) = polled.feed.snapshot() else { return };
        let is_same_snapshot = |head: &SnapshotMetadata| {
            head.hash == snapshot.hash
                && head.source == redacted_source_with_hash(polled.feed.config())
        };
        let restored =
            polled.feed.restored_snapshot_info().filter(|it| is_same_snapshot(&it.head)).cloned();
        let is_undecoded = restored.as_ref().is_some_and(|it| it.is_undecoded);
        if is_undecoded || self.protocol.is_body_needed_at_start() {
            self.apply_restored_snapshot(&snapshot).await;
        }
        let Some(head) = restored.map(|it| it.head) else { return };
        let polled = &mut self.polled;
        polled.snapshot_writer.mark_already_saved(head.hash);
        self.is_unobserved = snapshot.format.is_realtime();
        if !polled.is_expired && polled.feed.config().converter.is_none() {
            polled.fetcher.set_cache_validators(&head.validators);
        }
    }

    async fn apply_restored_snapshot(&mut self, snapshot: &FeedBodySnapshot) {
        let before = self.polled.status.clone();
        let accepted = self.decode_restored_snapshot(snapshot).await;
        let polled = &mut self.polled;
        // Decoding restored bytes is not a poll, so it must not change these.
        polled.status.last_success = before.last_success;
        polled.status.last_error = before.last_error;
        polled.status.failures_in_a_row = before.failures_in_a_row;
        polled.status.failing_since = before.failing_since;
        let (now, data_now) = (polled.clock.wall_time(), polled.data_time_now());
        polled.status.update_state(now, data_now, &polled.rules);
        polled.feed.set_status(polled.status.clone());
        if let Err(failure) = accepted {
            tracing::warn!(
                feed = %polled.feed.snapshot_key(), code = %failure.code, detail = failure.detail,
                "the stored data can no longer be decoded; they are served as they are"
            );
            // The same bytes must be decoded again instead of being skipped as unchanged.
            polled.is_expired = true;
        }
    }

    async fn decode_restored_snapshot(
        &mut self,
        snapshot: &FeedBodySnapshot,
    ) -> Result<(), FetchError> {
        let is_too_old = self.polled.is_data_too_old(self.polled.clock.wall_time());
        self.protocol.decode_restored_body(&mut self.polled, snapshot, is_too_old).await
    }

    /// Passes the restored message to the observer once the source has confirmed it: the earlier process's observations
    /// are lost.
    pub(super) async fn observe_restored_once_confirmed(&mut self, outcome: PollSuccess) {
        let is_confirmed = outcome.has_confirmed_content();
        if !self.is_unobserved || !(is_confirmed || outcome == PollSuccess::New) {
            return;
        }
        self.is_unobserved = false;
        let polled = &self.polled;
        let Some(snapshot) = polled.feed.snapshot().filter(|_| is_confirmed) else { return };
        if polled.has_observer() {
            let message = self.protocol.restored_message_to_observe(polled, &snapshot).await;
            polled.pass_message_to_observer(message, polled.clock.wall_time()).await;
        }
    }
}
