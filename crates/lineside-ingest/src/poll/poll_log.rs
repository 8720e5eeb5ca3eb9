//! The polls and states that one feed's task reports to the archive.

use std::{sync::Arc, time::Duration};

use lineside_sync::{Clock, UnixMillis};
use smol_str::ToSmolStr as _;

use crate::{
    archive::{PollArchive, PollFailure, PollRecord, ServedContentFreshness},
    catalog::Feed,
    feed_id::FeedId,
    status::{FeedState, FeedStatus},
};

/// The outcome of a delivery that arrived without a request.
const DELIVERED: &str = "brought";

/// Reports the polls and states of one feed to the archive.
#[derive(Debug)]
pub(crate) struct PollArchiveReporter {
    archive: Arc<dyn PollArchive>,
    clock: Arc<dyn Clock>,
    feed: FeedId,
    /// The last reported state.
    reported_state: Option<FeedState>,
    /// The last reported content served during the pause; `None` while not paused.
    served_while_paused: Option<ServedContentFreshness>,
}

/// A poll in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OngoingPoll {
    at: UnixMillis,
    began: Duration,
    /// The time until the complete reply or the failure.
    took: Duration,
    /// Bytes received before this poll.
    bytes: u64,
}

impl PollArchiveReporter {
    pub(crate) fn new(
        archive: &Arc<dyn PollArchive>,
        clock: &Arc<dyn Clock>,
        feed: &FeedId,
    ) -> PollArchiveReporter {
        let (archive, clock) = (Arc::clone(archive), Arc::clone(clock));
        PollArchiveReporter {
            archive,
            clock,
            feed: feed.clone(),
            reported_state: None,
            served_while_paused: None,
        }
    }

    /// Reports a pause when it begins and whenever the served content changes.
    pub(crate) fn record_polling_pause(&mut self, feed: &Feed, status: &FeedStatus) {
        let now = self.clock.wall_time();
        let serving = determine_served_content(feed, status, now);
        if self.served_while_paused != Some(serving) {
            self.served_while_paused = Some(serving);
            self.archive.record_polling_pause(&self.feed, now, serving);
        }
    }

    /// Starts measuring a poll.
    pub(crate) fn start_measuring_poll(&mut self, status: &FeedStatus) -> OngoingPoll {
        self.served_while_paused = None;
        let (at, began) = (self.clock.wall_time(), self.clock.monotonic());
        OngoingPoll { at, began, took: Duration::ZERO, bytes: status.bytes }
    }

    /// Records the time of the reply or failure, less the time `waited` before the request.
    pub(crate) fn record_reply_time(&self, ongoing_poll: &mut OngoingPoll, waited: Duration) {
        let elapsed = self.clock.monotonic().saturating_sub(ongoing_poll.began);
        ongoing_poll.took = elapsed.saturating_sub(waited);
    }

    /// Reports the completed poll with `outcome`, or with the status's last error if there is one.
    pub(crate) fn record_completed_poll(
        &self,
        ongoing_poll: OngoingPoll,
        outcome: &str,
        feed: &Feed,
        status: &FeedStatus,
    ) {
        feed.metrics().record_fetch_duration(ongoing_poll.took);
        self.send_poll_to_archive(ongoing_poll, outcome, feed, status);
    }

    /// Reports a delivery that the producer sent by itself; it counts as a poll.
    pub(crate) fn record_producer_delivery(
        &self,
        ongoing_poll: OngoingPoll,
        feed: &Feed,
        status: &FeedStatus,
    ) {
        self.send_poll_to_archive(ongoing_poll, DELIVERED, feed, status);
    }

    fn send_poll_to_archive(
        &self,
        ongoing_poll: OngoingPoll,
        outcome: &str,
        feed: &Feed,
        status: &FeedStatus,
    ) {
        let failure = status.last_error.as_ref();
        let bytes = status.bytes.saturating_sub(ongoing_poll.bytes);
        let poll = PollRecord {
            at: ongoing_poll.at,
            took: ongoing_poll.took,
            bytes: bytes.max(failure.map_or(0, |failure| failure.bytes)),
            outcome: failure.map_or_else(|| outcome.into(), |failure| failure.code.to_smolstr()),
            failure: failure
                .map(|failure| prefix_with_gbfs_file(feed.gbfs_file_name(), failure.into())),
            serving: determine_served_content(feed, status, self.clock.wall_time()),
        };
        self.archive.record_poll(&self.feed, poll);
    }

    /// Reports the feed's state if it has changed.
    pub(crate) fn record_state_if_changed(&mut self, status: &FeedStatus) {
        if self.reported_state != Some(status.state) {
            self.reported_state = Some(status.state);
            // In the history, a timetable that ended long ago is expired from the time at which this was detected.
            let since = match status.state {
                FeedState::Expired => self.clock.wall_time(),
                _ => status.since,
            };
            self.archive.record_feed_state_change(&self.feed, status.state, &status.reason, since);
        }
    }
}

/// Prefixes a failure with the GBFS file in which it occurred, if any.
fn prefix_with_gbfs_file(file: &str, failure: PollFailure) -> PollFailure {
    match file {
        "" => failure,
        file => PollFailure { message: format!("{file}: {}", failure.message), ..failure },
    }
}

/// Determines the content served to clients from the status.
fn determine_served_content(
    feed: &Feed,
    status: &FeedStatus,
    now: UnixMillis,
) -> ServedContentFreshness {
    let Some(snapshot) = feed.snapshot() else { return ServedContentFreshness::Nothing };
    let age = now.duration_since(status.last_success.unwrap_or(snapshot.fetched_at));
    if feed.config().max_age.is_some_and(|max_age| age > max_age) {
        ServedContentFreshness::Nothing
    } else if status.last_error.is_some() || status.empty_since.is_some() {
        ServedContentFreshness::Stale
    } else {
        ServedContentFreshness::Fresh
    }
}
