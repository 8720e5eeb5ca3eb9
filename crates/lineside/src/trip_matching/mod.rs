//! How much of what a real-time feed names its timetable has, as the API and the feed's page show it.
//!
//! The report is made once per state of the feed, by whoever asks first, and then lies there for all.

mod mismatch_cause;

use std::sync::Arc;

use lineside_ingest::{Feed, FeedMatches, Network};
use lineside_sync::UnixMillis;

use crate::http::{Refusal, run_blocking};

pub(crate) use mismatch_cause::{MismatchCause, MismatchIdKind, find_likely_causes};

/// The report of one feed.
#[derive(Debug)]
pub(crate) struct MatchReport {
    /// The schedule that it belongs to, if it names one.
    pub(crate) schedule: Option<Arc<Feed>>,
    /// None as long as there is no timetable to compare with.
    pub(crate) matches: Option<Arc<FeedMatches>>,
    /// When Lineside had the bytes that it follows from.
    pub(crate) at: UnixMillis,
}

impl MatchReport {
    /// The report of a feed as it is now.
    pub(crate) async fn for_feed(feed: &Feed, network: &Network) -> Result<Self, Refusal> {
        let first = network.feeds().into_iter().next();
        let (state, id) = (network.state(), feed.id().clone());
        let at = state.at;
        let matches = run_blocking(move || state.feed_matches(id.as_str())).await?;
        let schedule = first.filter(|first| first.id() != feed.id());
        Ok(Self { schedule, matches, at })
    }
}
