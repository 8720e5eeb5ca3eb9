//! Ingestion, from a source to published changes: source → fetch → snapshot → decode → normalize → diff → publish.
//!
//! # Layout
//! - [`FeedConfig`], [`SourceLocation`], [`Secret`]: the configuration of sources
//! - [`Ingest`]: all feeds running; one task per feed, one writer per network
//! - [`Feed`], [`FeedStatus`], [`Snapshot`]: the status of a feed and its last good bytes
//! - [`Network`], [`NetworkState`], [`Record`]: the data, as immutable values that are swapped
//! - [`NetworkWriter`]: the pure core, from a message to changes and publications
//! - [`departures()`], [`DelayCounts`], [`FeedMatches`], [`exports`], [`geojson`], [`search`](StopQuery): views derived
//!   from a state
//! - [`FormatConverter`], [`ExternalProgram`]: the operator's programs that convert unsupported formats
//! - [`PollArchive`], [`FeedAvailability`]: the history of polls
//! - [`SnapshotStore`]: storage of the last good bytes across restarts
//! - [`HandoffState`], [`HandoffWriter`]: state that one process leaves to the next
//!
//! # Guarantees
//! Readers never wait for a source or a writer. Content that has not changed publishes nothing. A bad entity is a
//! [`Problem`](lineside_formats::Problem), never the end of a feed, and a bad body leaves the last good one in place.
//! Clock and randomness are injected.

mod rate_limit;
mod archive;
mod bounds;
mod catalog;
mod catalog_search;
mod change;
mod channel_kinds;
mod channels;
mod config;
mod dataset;
mod delays;
mod departures;
mod dns_lookup;
pub mod exports;
mod subprocess;
mod feed_metrics;
mod feed_id;
mod fetch;
mod fetch_failure;
pub mod geojson;
mod geohash;
mod health;
mod hashing;
mod inbox;
mod ingest;
mod message_observer;
mod handoff;
pub mod limits;
mod load_budget;
mod trip_matching;
mod network_state;
mod network_writer;
mod normalize;
mod poll;
mod public_only;
mod publish;
mod record;
mod route_mode;
mod snapshot_store;
mod poll_schedule;
#[cfg(target_os = "linux")]
mod memfd;
#[cfg(not(target_os = "linux"))]
#[path = "memfd_fallback.rs"]
mod memfd;
mod search;
pub mod siri;
mod service_calendar;
mod service_window;
mod served_snapshot;
mod service_date;
mod snapshot;
mod snapshot_writer;
mod source;
mod poll_stages;
mod status;
mod task_spawner;
mod trip_forecast;
mod trip_identity;
mod trip_links;
mod view_cache;
mod trip_phase;
mod trip_run;
mod active_trips;
mod route_variants;

pub use active_trips::{ActiveTrip, AnnouncedTrip};
pub use archive::{
    ArchiveError, ArchiveSpan, FeedAvailability, FeedStatePeriod, LastPoll, MemoryArchive,
    PollArchive, PollBin, PollFailure, PollQuery, PollRecord, ServedContent, ServerRun,
    ServingState, SourceState, StateStretch,
};
pub use bounds::BoundingBox;
pub use bounds::{Bounds, Extent};
pub use catalog::GbfsFeedFile;
pub use catalog::Network;
pub use catalog::{Feed, RejectedSchedule};
pub use catalog_search::{CatalogHit, CatalogHitKind, CatalogResults, StopHit};
pub use change::RecordChange;
pub use channel_kinds::KIND_EXTRA;
pub use channels::{ChannelStates, ExtraChannels};
pub use config::{ExternalProgram, FeedConfig, FormatConverter, InvalidRate, RequestRate};
pub use dataset::{Dataset, LoadLimits};
pub use delays::{
    DelayClass, DelayCounts, DelayQuery, TripDelay, TripDelayStatus, classify_delays,
};
pub use departures::{departures, departures_from};
pub use feed_id::{BadFeedId, FeedId};
pub use feed_metrics::FeedMetrics;
pub use fetch::{fetch_into, fetch_once, pack_folder, probe_format};
pub use fetch_failure::{FailureCode, FetchFailure, FetchPhase};
pub use geohash::{CELL_CHARS, GeohashCell};
pub use handoff::{HandoffError, HandoffNetwork, HandoffState, HandoffWriter};
pub use inbox::{DeliveryError, FeedInbox, InboxReservation, InboxSettings};
pub use ingest::{
    ConfigChange, Ingest, IngestOptions, PollRefused, PollingStopped, SourceTest,
    SourceTestFailure, WrittenNetworks,
};
pub use memfd::MemoryFile;
pub use message_observer::{MessageObserver, ObservedMessage, SiriPart};
pub use network_state::NetworkState;
pub use network_writer::{ApplyOutcome, NetworkWriter, ResumedNetwork};
pub use normalize::siri_to_gtfs_rt;
pub use poll_stages::PollStage;
pub use public_only::{NotPublic, PublicOnly, is_public};
pub use publish::messages;
pub use record::{
    DatasetRecord, Departure, DepartureStatus, FeedRecord, Record, RecordBody, RecordKind,
    RemovalReason, RentalVehicle, Station, TimetableJoin,
};
pub use route_mode::RouteMode;
pub use route_variants::{RouteVariant, RouteVariants};
pub use search::{StopPage, StopQuery};
pub use served_snapshot::ServedSnapshot;
pub use service_calendar::{ServiceCalendar, ServiceDays};
pub use service_window::{EXPIRES_SOON_DAYS, ServiceEnd, ServiceWindow};
pub use snapshot::Snapshot;
pub use snapshot_store::{
    CacheValidators, CountChanges, DatasetFacts, Done, MemorySnapshotStore, SnapshotKey,
    SnapshotMetadata, SnapshotStore,
};
pub use source::{
    BadLocation, BasicAuth, IdKind, IdTable, IdTableError, OAuth2Client, Secret, SiriAnswers,
    SiriEnvelope, SiriIds, SiriMode, SiriService, SiriSource, SourceLocation,
};
pub use status::{FeedState, FeedStatus};
pub use subprocess::{OutputRedactor, ProgramError, ValidatorOutput, run_program, run_validator};
pub use trip_matching::{
    FeedMatches, MatchCount, MatchReason, ReasonCount, match_rate, match_trips,
};
pub use trip_phase::TripPhase;
pub use trip_run::{TripCall, TripNotFound, TripQuery, TripRun};
