//! Trip matching of a real-time feed with its timetable, for the API and the feed's page.
//!
//! The report is computed once per state of the feed, at the first request.

mod mismatch_cause;

use std::sync::Arc;

use lineside_ingest::{Feed, Network};
use lineside_model::FeedMatchCounts;
use lineside_sync::UnixMillis;
use tokio::task::{JoinError, spawn_blocking};

pub use mismatch_cause::{MismatchCause, MismatchIdKind, find_likely_causes};

/// The trip matching of one feed.
#[derive(Debug)]
pub struct TripMatchingReport {
    /// The schedule that the feed belongs to, if it names one.
    pub schedule: Option<Arc<Feed>>,
    /// `None` while there is no timetable to compare with.
    pub matches: Option<Arc<FeedMatchCounts>>,
    /// Time at which Lineside received the data of the report.
    pub at: UnixMillis,
}

impl TripMatchingReport {
    /// Returns the report on a feed's current state.
    ///
    /// # Errors
    /// Returns an error if the computation crashed.
    pub async fn for_feed(feed: &Feed, network: &Network) -> Result<Self, JoinError> {
        let first = network.feeds().into_iter().next();
        let (state, id) = (network.state(), feed.id().clone());
        let at = state.at;
        let matches = spawn_blocking(move || state.feed_match_counts(id.as_str())).await?;
        let schedule = first.filter(|first| first.id() != feed.id());
        Ok(Self { schedule, matches, at })
    }
}
