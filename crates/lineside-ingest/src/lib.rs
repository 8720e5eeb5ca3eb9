//! Ingestion, from a source to published changes: source → fetch → snapshot → decode → normalize → diff → publish.
//!
//! # Layout
//! - [`FeedConfig`], [`SourceLocation`], [`Secret`]: the configuration of sources
//! - [`Ingest`]: all feeds running; one task per feed, one writer per network
//! - [`Feed`], [`FeedStatus`], [`FeedBodySnapshot`]: the status of a feed and its last good bytes
//! - [`Network`], [`NetworkState`], [`Record`]: the data, as immutable values that are swapped
//! - [`NetworkWriter`]: the pure core, from a message to changes and publications
//! - [`list_next_departures`], [`DelayCounts`], [`FeedMatchCounts`], [`exports`], [`geojson`], [`search`](StopQuery): views derived
//!   from a state
//! - [`FormatConverter`], [`ExternalProgram`]: the operator's programs that convert unsupported formats
//! - [`PollArchive`], [`FeedAvailabilityTimelines`]: the history of polls
//! - [`SnapshotStore`]: storage of the last good bytes across restarts
//! - [`HandoffFileContent`], [`HandoffWriter`]: state that one process leaves to the next
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
pub use channels::{ExtraChannelSource, NetworkChannelStates};
pub use feed_metrics::FeedMetrics;
pub use handoff::{HandoffError, HandoffFileContent, HandoffNetwork, HandoffWriter};
pub use inbox::{DeliveryError, FeedInbox, InboxReservation, InboxSettings};
pub use ingest::{
    ConfigChange, Ingest, IngestOptions, PollNowRefusal, PollingStopped, SourceTestFailure,
    SourceTestResult, WrittenNetworkGroups,
};
pub use lineside_model::{
    ActiveTripWithoutVehicle, ArchiveError, ArchiveSpan, BadFeedId, BadLocation, BasicAuth,
    BoundingBox, CELL_CHARS, CacheValidators, DailyTripCounts, DailyTripCountsRange, Dataset,
    DatasetRecord, DecodingLimits, DelayCounts, DelayHistogramClass, DelayQuery, Departure,
    DepartureStatus, EXPIRES_SOON_DAYS, EndOfService, ExternalProgram, FailureCode,
    FeedAvailabilityTimelines, FeedBodySnapshot, FeedConfig, FeedId, FeedMatchCounts, FeedState,
    FeedStatePeriod, FeedStatus, FeedStatusRecord, FetchFailure, FetchPhase, FormatConverter,
    GeoBounds, GeohashCell, HexColor, IdKind, IdTable, IdTableError, InvalidRate, LastPollOutcome,
    MapExtent, MatchCount, MatchReasonCount, MemoryArchive, MemoryFile, MemorySnapshotStore,
    NetworkState, OAuth2Client, PollArchive, PollBin, PollFailure, PollQuery, PollRecord, Record,
    RecordBody, RecordChange, RecordKind, RemovalReason, RentalVehicle, RequestRate, RouteMode,
    RouteVariant, RouteVariants, SaveCallback, ScheduleCountDifferences, ScheduleVersionFacts,
    Secret, ServedContentFreshness, ServedContentState, ServedSnapshot, ServerRun,
    ServiceDateRange, SiriAnswers, SiriEnvelope, SiriIdMapping, SiriMode, SiriService,
    SiriSourceSettings, SnapshotKey, SnapshotMetadata, SnapshotStore, SourceAvailability,
    SourceLocation, StatePeriod, Station, StopSearchPage, StopSearchQuery, TimetableJoin, TripCall,
    TripDelay, TripDelayStatus, TripNotFound, TripPhase, TripRun, TripRunId, TripRunQuery,
    UnmatchedReason, UpcomingExtraTrip, count_matched_trips, fold_for_search, group_trips_by_delay,
    list_departures_from, list_next_departures, match_rate, matches_query,
};
pub use message_observer::{MessageObserver, ObservedMessage, SiriMessagePart};
pub use network_writer::{ApplyOutcome, NetworkWriter, ResumedNetwork};
pub use normalize::siri_to_gtfs_rt;
pub use poll_stages::PollStage;
pub use publish::messages;

pub use lineside_fetch::{
    OutputRedactor, ProgramError, PublicOnlyHttpClient, UrlRejection, ValidatorOutput,
    detect_source_format, fetch_once_into_writer, fetch_source_once, is_public,
    run_external_validator, run_program, zip_schedule_folder,
};
use lineside_fetch::{fetch, poll_schedule, rate_limit, subprocess};
