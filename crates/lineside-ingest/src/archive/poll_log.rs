//! What one feed's task tells the archive.

use std::{sync::Arc, time::Duration};

use lineside_sync::{Clock, UnixMillis};
use smol_str::ToSmolStr as _;

use super::{PollArchive, PollFailure, PollRecord, ServedContent};
use crate::{
    config::FeedId,
    feed::Feed,
    status::{FeedState, FeedStatus},
};

/// The outcome of what came without being asked for.
const BROUGHT: &str = "brought";

/// A feed's way to the archive.
#[derive(Debug)]
pub(crate) struct PollLog {
    archive: Arc<dyn PollArchive>,
    clock: Arc<dyn Clock>,
    feed: FeedId,
    /// The state that was told last.
    told: Option<FeedState>,
    /// What was told last to be served in a pause.
    paused: Option<ServedContent>,
}

/// A poll under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OngoingPoll {
    at: UnixMillis,
    began: Duration,
    /// Until the answer was there, whole, or had failed.
    took: Duration,
    /// Bytes that had come before it.
    bytes: u64,
}

impl PollLog {
    pub(crate) fn new(
        archive: &Arc<dyn PollArchive>,
        clock: &Arc<dyn Clock>,
        feed: &FeedId,
    ) -> PollLog {
        let (archive, clock) = (Arc::clone(archive), Arc::clone(clock));
        PollLog { archive, clock, feed: feed.clone(), told: None, paused: None }
    }

    /// The feed is paused; told when the pause begins, and when another thing is served.
    pub(crate) fn record_pause(&mut self, feed: &Feed, status: &FeedStatus) {
        let now = self.clock.wall_time();
        let serving = served_content(feed, status, now);
        if self.paused != Some(serving) {
            self.paused = Some(serving);
            self.archive.record_pause(&self.feed, now, serving);
        }
    }

    /// The source is being asked.
    pub(crate) fn begin_poll(&mut self, status: &FeedStatus) -> OngoingPoll {
        self.paused = None;
        let (at, began) = (self.clock.wall_time(), self.clock.monotonic());
        OngoingPoll { at, began, took: Duration::ZERO, bytes: status.bytes }
    }

    /// It has answered, or failed to, after we had `waited` before we asked.
    pub(crate) fn record_answer(&self, asked: &mut OngoingPoll, waited: Duration) {
        let passed = self.clock.monotonic().saturating_sub(asked.began);
        asked.took = passed.saturating_sub(waited);
    }

    /// The poll has ended as the status says: as `outcome`, or else by its last error.
    pub(crate) fn end_poll(
        &self,
        asked: OngoingPoll,
        outcome: &str,
        feed: &Feed,
        status: &FeedStatus,
    ) {
        feed.metrics().record_fetch(asked.took);
        self.record_poll(asked, outcome, feed, status);
    }

    /// The producer has brought something by itself, which counts as an answer.
    pub(crate) fn record_delivery(&self, asked: OngoingPoll, feed: &Feed, status: &FeedStatus) {
        self.record_poll(asked, BROUGHT, feed, status);
    }

    fn record_poll(&self, asked: OngoingPoll, outcome: &str, feed: &Feed, status: &FeedStatus) {
        let failure = status.last_error.as_ref();
        let bytes = status.bytes.saturating_sub(asked.bytes);
        let poll = PollRecord {
            at: asked.at,
            took: asked.took,
            bytes: bytes.max(failure.map_or(0, |failure| failure.bytes)),
            outcome: failure.map_or_else(|| outcome.into(), |failure| failure.code.to_smolstr()),
            failure: failure.map(|failure| failure_of_file(feed.gbfs_file_name(), failure.into())),
            serving: served_content(feed, status, self.clock.wall_time()),
        };
        self.archive.record_poll(&self.feed, poll);
    }

    /// How the feed is; told only when that is another state than before.
    pub(crate) fn record_state(&mut self, status: &FeedStatus) {
        if self.told != Some(status.state) {
            self.told = Some(status.state);
            // In the history, a timetable that ended long ago is expired from when that was seen.
            let since = match status.state {
                FeedState::Expired => self.clock.wall_time(),
                _ => status.since,
            };
            self.archive.begin_state(&self.feed, status.state, &status.reason, since);
        }
    }
}

/// What failed, with the file of the system that it was, if it was one.
fn failure_of_file(file: &str, failure: PollFailure) -> PollFailure {
    match file {
        "" => failure,
        file => PollFailure { words: format!("{file}: {}", failure.words), ..failure },
    }
}

/// What clients are given, as the status says.
fn served_content(feed: &Feed, status: &FeedStatus, now: UnixMillis) -> ServedContent {
    let Some(snapshot) = feed.snapshot() else { return ServedContent::Nothing };
    let age = now.duration_since(status.last_success.unwrap_or(snapshot.fetched_at));
    if feed.config().max_age.is_some_and(|max_age| age > max_age) {
        ServedContent::Nothing
    } else if status.last_error.is_some() || status.nothing_since.is_some() {
        ServedContent::Stale
    } else {
        ServedContent::Fresh
    }
}
