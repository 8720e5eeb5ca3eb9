//! Restoring the last good bytes of an earlier process before the first poll. Readers have them at once; each feed's
//! task decodes them before it polls its source.
//!
//! A resumed network already has its bytes from the handoff. Then the stored copy only adds the validators for the next
//! request, if it contains the same bytes.

use std::sync::Arc;

use crate::{
    catalog::{Feed, RestoredSnapshotInfo},
    feed_config::FeedConfig,
    feed_id::FeedId,
    poll::SharedPollerContext,
    served_snapshot::ServedSnapshot,
    snapshot_store::{SnapshotMetadata, SnapshotStore},
    snapshot_writer::redacted_source_with_hash,
    source::SourceLocation,
};

/// Allows the store to delete the snapshots of removed feeds.
pub(super) fn retain_snapshots_of_feeds(
    configs: &[Arc<FeedConfig>],
    snapshots: &dyn SnapshotStore,
) {
    let ids: Vec<FeedId> = configs.iter().map(|config| config.id.clone()).collect();
    snapshots.retain_snapshots_of_feeds(&ids);
}

/// Restores the stored bytes of a network's feeds.
pub(super) fn restore_stored_snapshots(
    feeds: &[Arc<Feed>],
    is_continued: bool,
    shared: &SharedPollerContext,
) {
    let (snapshots, now) = (&shared.snapshots, shared.clock.wall_time());
    for feed in feeds {
        restore_converter_input(feed, snapshots.as_ref());
        let key = feed.snapshot_key();
        let Some(head) =
            snapshots.find_snapshot_metadata(&key).filter(|head| is_snapshot_of_feed(feed, head))
        else {
            continue;
        };
        if is_continued {
            if feed.snapshot().is_some_and(|snapshot| snapshot.hash == head.hash) {
                feed.set_restored_snapshot_info(RestoredSnapshotInfo { head, is_undecoded: false });
            }
        } else if let Some((head, bytes)) = snapshots.read_snapshot(&key) {
            feed.restore_snapshot(head, bytes, now);
        }
    }
}

/// Restores a converter's input. It is requested and converted again. Without a converter the stored input is deleted.
fn restore_converter_input(feed: &Feed, snapshots: &dyn SnapshotStore) {
    let config = feed.shared_config();
    if config.converter.is_none() {
        if snapshots.find_snapshot_metadata(&feed.converter_input_key()).is_some() {
            snapshots.delete_snapshot(&feed.converter_input_key());
        }
        return;
    }
    if let Some((head, bytes)) = snapshots.read_snapshot(&feed.converter_input_key())
        && head.source == redacted_source_with_hash(config)
    {
        feed.set_converter_input(Some(ServedSnapshot::new(
            head.to_snapshot(bytes),
            Arc::clone(config),
        )));
    }
}

/// Returns true if the stored bytes are of the feed's current source and format.
fn is_snapshot_of_feed(feed: &Feed, head: &SnapshotMetadata) -> bool {
    let config = feed.config();
    let is_recording = matches!(config.url, SourceLocation::Replay { .. });
    let is_same = head.source == redacted_source_with_hash(config)
        && config.configured_format().is_none_or(|format| format == head.format);
    if !is_same && !is_recording {
        tracing::info!(feed = %feed.id(), "the stored data are of another URL or format and are ignored");
    }
    is_same && !is_recording
}
