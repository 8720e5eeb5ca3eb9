//! The data of networks as immutable values, and the views that are derived from them.
//!
//! A [`NetworkState`] is a network at one revision: its timetable and the records of its feeds. Boards, delays, trip
//! runs, exports and searches are functions of a state. The crate fetches nothing and publishes nothing.
//!
//! # Layout
//! - [`FeedConfig`], [`SourceLocation`], [`Secret`]: the configuration of sources
//! - [`Record`], [`NetworkState`], [`Dataset`]: the data
//! - [`list_next_departures`], [`DelayCounts`], [`FeedMatchCounts`], [`exports`], [`geojson`], [`search`], [`siri_output`]: views
//! - [`FeedBodySnapshot`], [`FeedStatus`], [`FetchFailure`]: the bytes of a feed, its status, and the reason why it has none
//! - [`PollArchive`], [`SnapshotStore`]: the history of polls and the stored bytes, behind traits
//!
//! # Guarantees
//! A state never changes; a view is computed once for each state. No function reads a clock.

pub mod active_trips;
pub mod archive;
pub mod bounds;
pub mod change;
pub mod dataset;
pub mod delays;
pub mod departures;
pub mod exports;
pub mod feed_config;
pub mod feed_id;
pub mod fetch_failure;
pub mod geohash;
pub mod geojson;
pub mod hashing;
pub mod limits;
pub mod network_state;
pub mod record;
pub mod route_mode;
pub mod route_variants;
pub mod search;
pub mod served_snapshot;
pub mod service_calendar;
pub mod service_date;
pub mod service_window;
pub mod siri_output;
pub mod snapshot;
pub mod snapshot_store;
pub mod source;
pub mod status;
pub mod trip_forecast;
pub mod trip_identity;
pub mod trip_links;
pub mod trip_matching;
pub mod trip_phase;
pub mod trip_run;
pub mod view_cache;
#[cfg(target_os = "linux")]
pub mod memfd;
#[cfg(not(target_os = "linux"))]
#[path = "memfd_fallback.rs"]
pub mod memfd;

pub use active_trips::{ActiveTripWithoutVehicle, TripRunId, UpcomingExtraTrip};
pub use archive::{
    ArchiveError, ArchiveSpan, FeedAvailabilityTimelines, FeedStatePeriod, LastPollOutcome,
    MemoryArchive, PollArchive, PollBin, PollFailure, PollQuery, PollRecord,
    ServedContentFreshness, ServedContentState, ServerRun, SourceAvailability, StatePeriod,
};
pub use bounds::BoundingBox;
pub use bounds::{GeoBounds, MapExtent};
pub use change::RecordChange;
pub use dataset::{Dataset, DecodingLimits};
pub use delays::{
    DelayCounts, DelayHistogramClass, DelayQuery, TripDelay, TripDelayStatus, group_trips_by_delay,
};
pub use departures::{list_departures_from, list_next_departures};
pub use feed_config::{ExternalProgram, FeedConfig, FormatConverter, InvalidRate, RequestRate};
pub use feed_id::{BadFeedId, FeedId};
pub use fetch_failure::{FailureCode, FetchFailure, FetchPhase};
pub use geohash::{CELL_CHARS, GeohashCell};
pub use memfd::MemoryFile;
pub use network_state::NetworkState;
pub use record::{
    DatasetRecord, Departure, DepartureStatus, FeedStatusRecord, HexColor, Record, RecordBody,
    RecordKind, RemovalReason, RentalVehicle, Station, TimetableJoin,
};
pub use route_mode::RouteMode;
pub use route_variants::{RouteVariant, RouteVariants};
pub use search::{StopSearchPage, StopSearchQuery, fold_for_search, matches_query};
pub use served_snapshot::ServedSnapshot;
pub use service_calendar::{DailyTripCounts, DailyTripCountsRange};
pub use service_window::{EXPIRES_SOON_DAYS, EndOfService, ServiceDateRange};
pub use snapshot::FeedBodySnapshot;
pub use snapshot_store::{
    CacheValidators, MemorySnapshotStore, SaveCallback, ScheduleCountDifferences,
    ScheduleVersionFacts, SnapshotKey, SnapshotMetadata, SnapshotStore,
};
pub use source::{
    BadLocation, BasicAuth, IdKind, IdTable, IdTableError, OAuth2Client, Secret, SiriAnswers,
    SiriEnvelope, SiriIdMapping, SiriMode, SiriService, SiriSourceSettings, SourceLocation,
};
pub use status::{FeedState, FeedStatus};
pub use trip_matching::{
    FeedMatchCounts, MatchCount, MatchReasonCount, UnmatchedReason, count_matched_trips, match_rate,
};
pub use trip_phase::TripPhase;
pub use trip_run::{TripCall, TripNotFound, TripRun, TripRunQuery};
