//! The last good bytes of an earlier process, back before the first poll. Readers have them at once; each feed's task
//! takes in what they say before it asks its source.
//!
//! A network that goes on where it was has its bytes already, from the same stop as its records. Then what is on the
//! disk only adds what the source is asked with, if it is of the same bytes.

use std::sync::Arc;

use crate::{
    config::{FeedConfig, FeedId},
    feed::{Feed, Held, Restored},
    poll::Shared,
    saved::{SavedHead, Snapshots, source_of},
    source::Location,
};

/// What is kept of feeds that are no longer there may go in time.
pub(super) fn forget_others(configs: &[Arc<FeedConfig>], snapshots: &dyn Snapshots) {
    let ids: Vec<FeedId> = configs.iter().map(|config| config.id.clone()).collect();
    snapshots.retain(&ids);
}

/// Gives the feeds of a network back what was kept of them.
pub(super) fn give_back(feeds: &[Arc<Feed>], is_continued: bool, shared: &Shared) {
    let (snapshots, now) = (&shared.snapshots, shared.clock.wall());
    for feed in feeds {
        give_back_original(feed, snapshots.as_ref());
        let key = feed.key();
        let Some(head) = snapshots.find(&key).filter(|head| is_of(feed, head)) else { continue };
        if is_continued {
            if feed.snapshot().is_some_and(|snapshot| snapshot.hash == head.hash) {
                feed.set_restored(Restored { head, is_to_decode: false });
            }
        } else if let Some((head, bytes)) = snapshots.read(&key) {
            feed.restore(head, bytes, now);
        }
    }
}

/// Gives back what the bytes of a feed were made of. Its producer is asked for it again, and it is converted again. Where it is
/// not converted any more, nobody will ask for them.
fn give_back_original(feed: &Feed, snapshots: &dyn Snapshots) {
    let config = feed.shared_config();
    if config.converter.is_none() {
        if snapshots.find(&feed.original_key()).is_some() {
            snapshots.forget(&feed.original_key());
        }
        return;
    }
    if let Some((head, bytes)) = snapshots.read(&feed.original_key())
        && head.source == source_of(config)
    {
        feed.set_original(Some(Held::new(head.snapshot(bytes), Arc::clone(config))));
    }
}

/// Whether it still is what the feed is.
fn is_of(feed: &Feed, head: &SavedHead) -> bool {
    let config = feed.config();
    let is_recording = matches!(config.url, Location::Replay { .. });
    let is_same = head.source == source_of(config)
        && config.promised().is_none_or(|format| format == head.format);
    if !is_same && !is_recording {
        tracing::info!(feed = %feed.id(), "the kept bytes are of another address or format, and are not used");
    }
    is_same && !is_recording
}
