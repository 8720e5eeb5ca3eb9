//! Ingestion, from a source to published changes: source → fetch → snapshot → decode → normalize → diff → publish.
//!
//! # Layout
//! - [`Ingest`]: all feeds running; one task per feed, one writer per network
//! - [`Feed`], [`Network`]: the status of a feed and its last good bytes, and the state of a network, which is swapped as a whole
//! - [`NetworkWriter`]: the pure core, from a message to changes and publications
//! - [`FeedInbox`]: messages that producers push
//! - [`HandoffFileContent`], [`HandoffWriter`]: state that one process leaves to the next
//!
//! The values are those of [`lineside_model`]: configuration, records, network states, and the views derived from them.
//! Requests to sources and the operator's programs are in [`lineside_fetch`].
//!
//! # Guarantees
//! Readers never wait for a source or a writer. Content that has not changed publishes nothing. A bad entity is a
//! [`Problem`](lineside_formats::Problem), never the end of a feed, and a bad body leaves the last good one in place.
//! Clock and randomness are injected.

mod catalog;
mod catalog_search;
mod channel_kinds;
mod channels;
mod feed_metrics;
mod health;
mod inbox;
mod ingest;
mod message_observer;
mod handoff;
pub mod limits;
mod load_budget;
mod network_writer;
mod normalize;
mod poll;
mod publish;
mod snapshot_writer;
mod poll_stages;
mod task_spawner;

use lineside_model::{
    archive, change, dataset, feed_config, feed_id, fetch_failure, geohash, hashing, network_state,
    record, search, served_snapshot, service_date, service_window, snapshot, snapshot_store,
    source, status, trip_forecast, trip_identity, trip_links,
};

pub use catalog::GbfsFeedFile;
pub use catalog::Network;
pub use catalog::{Feed, RejectedSchedule};
pub use catalog_search::{CatalogHit, CatalogHitKind, CatalogResults, StopHit};
pub use channel_kinds::KIND_EXTRA;
pub use channels::{ExtraChannelSource, NetworkChannelStates};
pub use feed_metrics::FeedMetrics;
pub use handoff::{HandoffError, HandoffFileContent, HandoffNetwork, HandoffWriter};
pub use inbox::{DeliveryError, FeedInbox, InboxReservation, InboxSettings};
pub use ingest::{
    ConfigChange, Ingest, IngestOptions, PollNowRefusal, PollingStopped, SourceTestFailure,
    SourceTestResult, WrittenNetworkGroups,
};
pub use message_observer::{MessageObserver, ObservedMessage, SiriMessagePart};
pub use network_writer::{ApplyOutcome, NetworkWriter, ResumedNetwork};
pub use normalize::siri_to_gtfs_rt;
pub use poll_stages::PollStage;
pub use publish::messages;

use lineside_fetch::{fetch, poll_schedule, rate_limit, subprocess};
