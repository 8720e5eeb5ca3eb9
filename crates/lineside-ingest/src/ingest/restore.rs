//! Restoring the last good bytes of an earlier process before the first poll. Readers have them at once; each feed's
//! task decodes them before it polls its source.
//!
//! A resumed network already has its bytes from the handoff. Then the stored copy only adds the validators for the next
//! request, if it contains the same bytes.

use std::sync::Arc;

use crate::{
    catalog::{Feed, RestoredSnapshot},
    feed_config::FeedConfig,
    feed_id::FeedId,
    poll::PollerContext,
    served_snapshot::ServedSnapshot,
    snapshot_store::{SnapshotMetadata, SnapshotStore},
    snapshot_writer::describe_source,
    source::SourceLocation,
};

/// Allows the store to delete the snapshots of removed feeds.
pub(super) fn retain_feeds(configs: &[Arc<FeedConfig>], snapshots: &dyn SnapshotStore) {
    let ids: Vec<FeedId> = configs.iter().map(|config| config.id.clone()).collect();
    snapshots.retain_feeds(&ids);
}

/// Restores the stored bytes of a network's feeds.
pub(super) fn restore_feeds(feeds: &[Arc<Feed>], is_continued: bool, shared: &PollerContext) {
    let (snapshots, now) = (&shared.snapshots, shared.clock.wall_time());
    for feed in feeds {
        restore_conversion_input(feed, snapshots.as_ref());
        let key = feed.snapshot_key();
        let Some(head) = snapshots.find_head(&key).filter(|head| matches_feed(feed, head)) else {
            continue;
        };
        if is_continued {
            if feed.snapshot().is_some_and(|snapshot| snapshot.hash == head.hash) {
                feed.set_restored_snapshot(RestoredSnapshot { head, is_undecoded: false });
            }
        } else if let Some((head, bytes)) = snapshots.read_snapshot(&key) {
            feed.restore_snapshot(head, bytes, now);
        }
    }
}

/// Restores a converter's input. It is requested and converted again. Without a converter the stored input is deleted.
fn restore_conversion_input(feed: &Feed, snapshots: &dyn SnapshotStore) {
    let config = feed.shared_config();
    if config.converter.is_none() {
        if snapshots.find_head(&feed.conversion_input_key()).is_some() {
            snapshots.forget_snapshot(&feed.conversion_input_key());
        }
        return;
    }
    if let Some((head, bytes)) = snapshots.read_snapshot(&feed.conversion_input_key())
        && head.source == describe_source(config)
    {
        feed.set_conversion_input(Some(ServedSnapshot::new(
            head.to_snapshot(bytes),
            Arc::clone(config),
        )));
    }
}

/// Returns true if the stored bytes are of the feed's current source and format.
fn matches_feed(feed: &Feed, head: &SnapshotMetadata) -> bool {
    let config = feed.config();
    let is_recording = matches!(config.url, SourceLocation::Replay { .. });
    let is_same = head.source == describe_source(config)
        && config.configured_format().is_none_or(|format| format == head.format);
    if !is_same && !is_recording {
        tracing::info!(feed = %feed.id(), "the stored data are of another URL or format and are ignored");
    }
    is_same && !is_recording
}
