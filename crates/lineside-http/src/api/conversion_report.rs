//! The data that the conversion of a feed's NeTEx schedule dropped, as part of the feed.

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
    /// The name of the kind in the schedule, such as `RawNotice`.
    kind: String,
    /// The reason.
    why: &'static str,
    /// The count.
    count: u64,
    /// The first few ids, at most five.
    examples: Vec<String>,
}

impl ConversionReportItem {
    /// Returns the dropped data if the feed's schedule is in use and was converted from another format.
    pub(super) fn for_feed(feed: &Feed, network: &Network) -> Option<Self> {
        let dataset = network.dataset().filter(|dataset| dataset.feed == feed.config().id)?;
        let losses = dataset.conversion_report.as_ref()?;
        let each = losses.iter().map(|loss| DroppedObjectsItem {
            kind: loss.kind.to_owned(),
            why: loss.why,
            count: loss.count,
            examples: loss.examples.iter().map(ToString::to_string).collect(),
        });
        Some(Self { total: losses.dropped_object_count(), losses: each.collect() })
    }
}
