//! What a schedule says and its timetable does not hold, as part of a feed.

use lineside_ingest::{Feed, Network};
use serde::Serialize;
use utoipa::ToSchema;

/// Data of a NeTEx schedule that GTFS cannot express, or that are not converted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConversionReportItem {
    /// The number of lost objects.
    total: u64,
    /// The counts by kind and reason.
    losses: Vec<DroppedObjectsItem>,
}

/// The lost objects of one kind and reason.
#[derive(Debug, Serialize, ToSchema)]
struct DroppedObjectsItem {
    /// Their kind, by its name in the schedule, such as `NoticeJson`.
    kind: String,
    /// The reason.
    why: &'static str,
    /// The count.
    count: u64,
    /// The first few ids, at most five.
    examples: Vec<String>,
}

impl ConversionReportItem {
    /// Of the schedule in use, if this feed is it and it came as something else than GTFS.
    pub(super) fn for_feed(feed: &Feed, network: &Network) -> Option<Self> {
        let dataset = network.dataset().filter(|dataset| dataset.feed == feed.config().id)?;
        let losses = dataset.losses.as_ref()?;
        let each = losses.iter().map(|loss| DroppedObjectsItem {
            kind: loss.kind.to_owned(),
            why: loss.why,
            count: loss.count,
            examples: loss.examples.iter().map(ToString::to_string).collect(),
        });
        Some(Self { total: losses.total_dropped(), losses: each.collect() })
    }
}
