//! What a schedule says and its timetable does not hold, as part of a feed.

use lineside_ingest::{Feed, Network};
use serde::Serialize;
use utoipa::ToSchema;

/// What a schedule that came as NeTEx says and GTFS cannot, or what is not translated.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FeedLosses {
    /// How many things were left behind.
    total: u64,
    /// Of each kind and reason, how many.
    losses: Vec<FeedLoss>,
}

/// The things of one kind that were left behind for one reason.
#[derive(Debug, Serialize, ToSchema)]
struct FeedLoss {
    /// What they are, in the schedule's own words, such as `Notice`.
    kind: String,
    /// Why they were left behind.
    why: &'static str,
    /// How many there were.
    count: u64,
    /// The first few ids, at most five.
    examples: Vec<String>,
}

impl FeedLosses {
    /// Of the schedule in use, if this feed is it and it came as something else than GTFS.
    pub(super) fn of(feed: &Feed, network: &Network) -> Option<Self> {
        let dataset = network.dataset().filter(|dataset| dataset.feed == feed.config().id)?;
        let losses = dataset.losses.as_ref()?;
        let each = losses.iter().map(|loss| FeedLoss {
            kind: loss.kind.to_owned(),
            why: loss.why,
            count: loss.count,
            examples: loss.examples.iter().map(ToString::to_string).collect(),
        });
        Some(Self { total: losses.total(), losses: each.collect() })
    }
}
