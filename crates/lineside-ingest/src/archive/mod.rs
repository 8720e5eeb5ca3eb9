//! What is remembered of polling: every poll, how each feed was, when this server ran.
//!
//! Tasks of feeds tell an [`PollArchive`] what happened and never wait for it. Whoever shows it asks in the same words,
//! whether it lies in memory ([`MemoryArchive`]) or on a disk, which ingest does not know.

mod availability;
mod poll_bin;
mod poll_log;
mod memory;

use std::{fmt, time::Duration};

use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    config::FeedId,
    fetch::{FetchFailure, FetchPhase},
    status::FeedState,
};

pub use availability::{FeedAvailability, ServingState, SourceState, StateStretch};
pub use memory::MemoryArchive;
pub use poll_bin::{ArchiveSpan, LastPoll, PollBin, ServedContent};
pub(crate) use poll_log::PollLog;

/// One poll that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollRecord {
    /// When the source was asked.
    pub at: UnixMillis,
    /// How long it took to answer in full, or to fail.
    pub took: Duration,
    /// Bytes that came in the body.
    pub bytes: u64,
    /// `new`, `same`, `not_modified`, `nothing`, of a subscription `subscribed`, `checked`, `unchecked` and `brought`, or the code
    /// of the failure.
    pub outcome: SmolStr,
    /// What went wrong, if it failed.
    pub failure: Option<PollFailure>,
    /// What clients were given once it had ended.
    pub serving: ServedContent,
}

impl PollRecord {
    /// Whether it brought nothing that could be used.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// What is remembered of a failure; its code is the poll's outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollFailure {
    /// What happened, in words; shows no secret.
    pub words: String,
    /// How far the poll came; none for what lies on a disk.
    pub phase: Option<FetchPhase>,
    /// The status of the reply, if one came over HTTP.
    pub status: Option<u16>,
    /// How the reply's body began, as it is safe to show.
    pub head: Option<String>,
}

impl From<&FetchFailure> for PollFailure {
    fn from(failure: &FetchFailure) -> PollFailure {
        PollFailure {
            words: failure.detail.clone(),
            phase: failure.phase,
            status: failure.status,
            head: failure.head.clone(),
        }
    }
}

/// A time during which a feed was in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedIncident {
    /// The state.
    pub state: FeedState,
    /// Why, as it was said when it began.
    pub reason: String,
    /// When it began.
    pub began: UnixMillis,
    /// When another state came, or the server was last known to run; none while it lasts.
    pub ended: Option<UnixMillis>,
}

/// A time during which this server ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRun {
    /// When it started.
    pub began: UnixMillis,
    /// When it was last known to run.
    pub seen: UnixMillis,
}

/// Which polls of a feed are asked for, newest first.
#[derive(Clone, Copy, Debug)]
pub struct PollQuery {
    /// None before this.
    pub from: UnixMillis,
    /// Only those that failed.
    pub only_failed: bool,
    /// How many to leave out.
    pub offset: usize,
    /// How many at most.
    pub limit: usize,
}

/// What is remembered cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is remembered cannot be read: {0}")]
pub struct ArchiveError(pub String);

/// Where it is remembered.
///
/// Telling returns at once, whatever becomes of it: polling never waits for a disk, and never fails with one. Reading may
/// take its time and is to be done where that blocks nobody.
pub trait PollArchive: Send + Sync + fmt::Debug + 'static {
    /// A poll has ended.
    fn record_poll(&self, feed: &FeedId, poll: PollRecord);

    /// A feed's source is not asked any more until the next poll, while this is served; told again when that is another.
    fn record_pause(&self, feed: &FeedId, at: UnixMillis, serving: ServedContent);

    /// A feed is in another state than before, which ends there.
    fn begin_state(&self, feed: &FeedId, state: FeedState, reason: &str, since: UnixMillis);

    /// The bins of a span from `from` on, in their order, and the last one before if there is any.
    ///
    /// # Errors
    /// If they cannot be read.
    fn list_bins(
        &self,
        feed: &FeedId,
        span: ArchiveSpan,
        from: UnixMillis,
    ) -> Result<Vec<PollBin>, ArchiveError>;

    /// Polls, newest first.
    ///
    /// # Errors
    /// If they cannot be read.
    fn list_polls(&self, feed: &FeedId, query: PollQuery) -> Result<Vec<PollRecord>, ArchiveError>;

    /// The states that a feed was in at `from` or later, newest first, at most `limit`.
    ///
    /// # Errors
    /// If they cannot be read.
    fn list_incidents(
        &self,
        feed: &FeedId,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<FeedIncident>, ArchiveError>;

    /// The states in which any feed was in trouble at `from` or later, newest first, at most `limit`.
    ///
    /// # Errors
    /// If they cannot be read.
    fn list_troubles(
        &self,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<(FeedId, FeedIncident)>, ArchiveError>;

    /// When this server ran, at `from` or later, in order.
    ///
    /// # Errors
    /// If it cannot be read.
    fn list_server_runs(&self, from: UnixMillis) -> Result<Vec<ServerRun>, ArchiveError>;
}
