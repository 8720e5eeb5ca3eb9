//! The archive of polls, feed states and server runs.
//!
//! Feed tasks report to a [`PollArchive`] and never wait for it. Readers use the same trait, whether the archive is in
//! memory ([`MemoryArchive`]) or on a disk, which this crate does not know.

mod availability;
mod poll_bin;
mod memory;

use std::{fmt, time::Duration};

use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    feed_id::FeedId,
    fetch_failure::{FetchFailure, FetchPhase},
    status::FeedState,
};

pub use availability::{
    FeedAvailabilityTimelines, ServedContentState, SourceAvailability, StatePeriod,
};
pub use memory::MemoryArchive;
pub use poll_bin::{ArchiveSpan, LastPollOutcome, PollBin, ServedContentFreshness};

/// A completed poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollRecord {
    /// The start of the request.
    pub at: UnixMillis,
    /// The time until the complete reply or the failure.
    pub took: Duration,
    /// Bytes received in the body.
    pub bytes: u64,
    /// `new`, `same`, `not_modified` or `nothing`; for a subscription `subscribed`, `checked`, `unchecked` or
    /// `brought`; after a failure its code.
    pub outcome: SmolStr,
    /// The failure, if the poll failed.
    pub failure: Option<PollFailure>,
    /// The content served to clients after the poll.
    pub serving: ServedContentFreshness,
}

impl PollRecord {
    /// Returns true if the poll brought nothing usable.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// The archived part of a failure. Its code is the outcome of the poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollFailure {
    /// The error message, without secrets.
    pub message: String,
    /// The phase in which the poll failed; `None` if read from a disk.
    pub phase: Option<FetchPhase>,
    /// The HTTP status of the reply, if there was one.
    pub status: Option<u16>,
    /// The beginning of the reply's body, redacted.
    pub head: Option<String>,
}

impl From<&FetchFailure> for PollFailure {
    fn from(failure: &FetchFailure) -> PollFailure {
        PollFailure {
            message: failure.detail.clone(),
            phase: failure.phase,
            status: failure.status,
            head: failure.head.clone(),
        }
    }
}

/// A period during which a feed was in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedStatePeriod {
    pub state: FeedState,
    /// The reason, as reported when the state began.
    pub reason: String,
    /// The start of the state.
    pub began: UnixMillis,
    /// The start of the next state, or the last time at which the server was known to run; `None` while the state
    /// lasts.
    pub ended: Option<UnixMillis>,
}

/// A period during which this server ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRun {
    /// The time at which the server started.
    pub began: UnixMillis,
    /// The time at which the server was last known to run.
    pub seen: UnixMillis,
}

/// A query for the polls of a feed, newest first.
#[derive(Clone, Copy, Debug)]
pub struct PollQuery {
    /// Only polls before this time.
    pub from: UnixMillis,
    /// True to return failed polls only.
    pub only_failed: bool,
    /// The number of polls to skip.
    pub offset: usize,
    /// The maximum number of polls to return.
    pub limit: usize,
}

/// The archive cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the archive cannot be read: {0}")]
pub struct ArchiveError(pub String);

/// A store for polls, feed states and server runs.
///
/// Recording returns at once and reports no errors: polling never waits for a disk and never fails because of one.
/// Reading may block, so call it where blocking is allowed.
pub trait PollArchive: Send + Sync + fmt::Debug + 'static {
    /// Records a completed poll.
    fn record_poll(&self, feed: &FeedId, poll: PollRecord);

    /// Records that a feed is paused while `serving` is served; called again when the served content changes.
    fn record_polling_pause(&self, feed: &FeedId, at: UnixMillis, serving: ServedContentFreshness);

    /// Records that a feed entered a state, which ends the state before.
    fn record_feed_state_change(
        &self,
        feed: &FeedId,
        state: FeedState,
        reason: &str,
        since: UnixMillis,
    );

    /// Returns the bins of a span from `from` on, in order, preceded by the last bin before `from` if there is one.
    ///
    /// # Errors
    /// Returns an error if the bins cannot be read.
    fn list_poll_bins(
        &self,
        feed: &FeedId,
        span: ArchiveSpan,
        from: UnixMillis,
    ) -> Result<Vec<PollBin>, ArchiveError>;

    /// Returns polls, newest first.
    ///
    /// # Errors
    /// Returns an error if the polls cannot be read.
    fn list_polls(&self, feed: &FeedId, query: PollQuery) -> Result<Vec<PollRecord>, ArchiveError>;

    /// Returns the states of a feed that lasted until `from` or later, newest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the states cannot be read.
    fn list_feed_state_periods(
        &self,
        feed: &FeedId,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<FeedStatePeriod>, ArchiveError>;

    /// Returns the failure states of all feeds that lasted until `from` or later, newest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the states cannot be read.
    fn list_failure_periods(
        &self,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<(FeedId, FeedStatePeriod)>, ArchiveError>;

    /// Returns the runs of this server at `from` or later, in order.
    ///
    /// # Errors
    /// Returns an error if the runs cannot be read.
    fn list_server_runs(&self, from: UnixMillis) -> Result<Vec<ServerRun>, ArchiveError>;
}
