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
pub use lineside_model::{exports, geojson, siri_output};

pub use catalog::GbfsFeedFile;
pub use catalog::Network;
pub use catalog::{Feed, RejectedSchedule};
pub use catalog_search::{CatalogHit, CatalogHitKind, CatalogResults, StopHit};
pub use channel_kinds::KIND_EXTRA;
pub use channels::{ChannelStates, ExtraChannels};
pub use feed_metrics::FeedMetrics;
pub use handoff::{HandoffError, HandoffNetwork, HandoffState, HandoffWriter};
pub use inbox::{DeliveryError, FeedInbox, InboxReservation, InboxSettings};
pub use ingest::{
    ConfigChange, Ingest, IngestOptions, PollRefused, PollingStopped, SourceTest,
    SourceTestFailure, WrittenNetworks,
};
pub use lineside_model::{
    ActiveTrip, AnnouncedTrip, ArchiveError, ArchiveSpan, BadFeedId, BadLocation, BasicAuth,
    BoundingBox, Bounds, CELL_CHARS, CacheValidators, CountChanges, Dataset, DatasetFacts,
    DatasetRecord, DelayClass, DelayCounts, DelayQuery, Departure, DepartureStatus, Done,
    EXPIRES_SOON_DAYS, Extent, ExternalProgram, FailureCode, FeedAvailability, FeedConfig, FeedId,
    FeedMatches, FeedRecord, FeedState, FeedStatePeriod, FeedStatus, FetchFailure, FetchPhase,
    FormatConverter, GeohashCell, HexColor, IdKind, IdTable, IdTableError, InvalidRate, LastPoll,
    LoadLimits, MatchCount, MatchReason, MemoryArchive, MemoryFile, MemorySnapshotStore,
    NetworkState, OAuth2Client, PollArchive, PollBin, PollFailure, PollQuery, PollRecord,
    ReasonCount, Record, RecordBody, RecordChange, RecordKind, RemovalReason, RentalVehicle,
    RequestRate, RouteMode, RouteVariant, RouteVariants, Secret, ServedContent, ServedSnapshot,
    ServerRun, ServiceCalendar, ServiceDays, ServiceEnd, ServiceWindow, ServingState, SiriAnswers,
    SiriEnvelope, SiriIds, SiriMode, SiriService, SiriSource, Snapshot, SnapshotKey,
    SnapshotMetadata, SnapshotStore, SourceLocation, SourceState, StateStretch, Station, StopPage,
    StopQuery, TimetableJoin, TripCall, TripDelay, TripDelayStatus, TripNotFound, TripPhase,
    TripQuery, TripRun, TripRunId, classify_delays, departures, departures_from, fold_text,
    match_rate, match_trips, matches_query,
};
pub use message_observer::{MessageObserver, ObservedMessage, SiriPart};
pub use network_writer::{ApplyOutcome, NetworkWriter, ResumedNetwork};
pub use normalize::siri_to_gtfs_rt;
pub use poll_stages::PollStage;
pub use publish::messages;

pub use lineside_fetch::{
    NotPublic, OutputRedactor, ProgramError, PublicOnly, ValidatorOutput, fetch_into, fetch_once,
    is_public, pack_folder, probe_format, run_program, run_validator,
};
use lineside_fetch::{fetch, poll_schedule, rate_limit, subprocess};
