//! What one feed's task tells the archive.

use std::{sync::Arc, time::Duration};

use lineside_sync::{Clock, UnixMillis};
use smol_str::ToSmolStr as _;

use super::{Archive, Poll, PollFailure, Serving};
use crate::{
    config::FeedId,
    feed::Feed,
    status::{FeedState, FeedStatus},
};

/// The outcome of what came without being asked for.
const BROUGHT: &str = "brought";

/// A feed's way to the archive.
#[derive(Debug)]
pub(crate) struct Ledger {
    archive: Arc<dyn Archive>,
    clock: Arc<dyn Clock>,
    feed: FeedId,
    /// The state that was told last.
    told: Option<FeedState>,
    /// What was told last to be served in a pause.
    paused: Option<Serving>,
}

/// A poll under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    at: UnixMillis,
    began: Duration,
    /// Until the answer was there, whole, or had failed.
    took: Duration,
    /// Bytes that had come before it.
    bytes: u64,
}

impl Ledger {
    pub(crate) fn new(archive: &Arc<dyn Archive>, clock: &Arc<dyn Clock>, feed: &FeedId) -> Ledger {
        let (archive, clock) = (Arc::clone(archive), Arc::clone(clock));
        Ledger { archive, clock, feed: feed.clone(), told: None, paused: None }
    }

    /// The feed is paused; told when the pause begins, and when another thing is served.
    pub(crate) fn paused(&mut self, feed: &Feed, status: &FeedStatus) {
        let now = self.clock.wall();
        let serving = serving(feed, status, now);
        if self.paused != Some(serving) {
            self.paused = Some(serving);
            self.archive.record_pause(&self.feed, now, serving);
        }
    }

    /// The source is being asked.
    pub(crate) fn asked(&mut self, status: &FeedStatus) -> Asked {
        self.paused = None;
        let (at, began) = (self.clock.wall(), self.clock.monotonic());
        Asked { at, began, took: Duration::ZERO, bytes: status.bytes }
    }

    /// It has answered, or failed to, after we had `waited` before we asked.
    pub(crate) fn answered(&self, asked: &mut Asked, waited: Duration) {
        let passed = self.clock.monotonic().saturating_sub(asked.began);
        asked.took = passed.saturating_sub(waited);
    }

    /// The poll has ended as the status says: as `outcome`, or else by its last error.
    pub(crate) fn ended(&self, asked: Asked, outcome: &str, feed: &Feed, status: &FeedStatus) {
        feed.figures().record_fetch(asked.took);
        self.record(asked, outcome, feed, status);
    }

    /// The producer has brought something by itself, which counts as an answer.
    pub(crate) fn brought(&self, asked: Asked, feed: &Feed, status: &FeedStatus) {
        self.record(asked, BROUGHT, feed, status);
    }

    fn record(&self, asked: Asked, outcome: &str, feed: &Feed, status: &FeedStatus) {
        let failure = status.last_error.as_ref();
        let bytes = status.bytes.saturating_sub(asked.bytes);
        let poll = Poll {
            at: asked.at,
            took: asked.took,
            bytes: bytes.max(failure.map_or(0, |failure| failure.bytes)),
            outcome: failure.map_or_else(|| outcome.into(), |failure| failure.code.to_smolstr()),
            failure: failure.map(|failure| of_file(feed.file(), failure.into())),
            serving: serving(feed, status, self.clock.wall()),
        };
        self.archive.record_poll(&self.feed, poll);
    }

    /// How the feed is; told only when that is another state than before.
    pub(crate) fn judged(&mut self, status: &FeedStatus) {
        if self.told != Some(status.state) {
            self.told = Some(status.state);
            // In the history, a timetable that ended long ago is expired from when that was seen.
            let since = match status.state {
                FeedState::Expired => self.clock.wall(),
                _ => status.since,
            };
            self.archive.begin_state(&self.feed, status.state, &status.reason, since);
        }
    }
}

/// What failed, with the file of the system that it was, if it was one.
fn of_file(file: &str, failure: PollFailure) -> PollFailure {
    match file {
        "" => failure,
        file => PollFailure { words: format!("{file}: {}", failure.words), ..failure },
    }
}

/// What clients are given, as the status says.
fn serving(feed: &Feed, status: &FeedStatus, now: UnixMillis) -> Serving {
    let Some(snapshot) = feed.snapshot() else { return Serving::Nothing };
    let age = now.since(status.last_success.unwrap_or(snapshot.fetched_at));
    if feed.config().max_age.is_some_and(|max_age| age > max_age) {
        Serving::Nothing
    } else if status.last_error.is_some() || status.nothing_since.is_some() {
        Serving::Stale
    } else {
        Serving::Fresh
    }
}
