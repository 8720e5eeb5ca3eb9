//! From a source to published changes: source → fetch → snapshot → decode → normalize → diff → publish.
//!
//! # Layout
//! - [`FeedConfig`], [`Location`], [`Secret`]: what is polled
//! - [`Ingest`]: all feeds running; one task per feed, one writer per network
//! - [`Feed`], [`FeedStatus`], [`Snapshot`]: how a feed is doing, and its last good bytes
//! - [`Network`], [`NetworkState`], [`Record`]: what is known, as immutable values that are swapped
//! - [`NetworkWriter`]: the pure heart, from a message to changes and publications
//! - [`departures()`], [`DelayCounts`], [`FeedMatches`], [`exports`], [`geojson`], [`search`](StopQuery): what is derived from a state
//! - [`Converter`], [`Program`]: what the operator's own programs make of bytes that are not read here
//! - [`Archive`], [`Availability`]: what is remembered of polling, and what it shows
//! - [`Snapshots`]: where last good bytes outlive the process
//! - [`Kept`], [`KeptWriter`]: what one process leaves to the next
//!
//! # What it promises
//! Readers never wait for a source or a writer. The same content published again publishes nothing. A bad entity is a
//! [`Problem`](lineside_formats::Problem), never the end of a feed, and a bad body leaves the last good one in place.
//! Time and chance are handed in.

mod budget;
mod archive;
mod bounds;
mod catalog;
mod change;
mod channels;
mod config;
mod dataset;
mod delays;
mod departures;
pub mod exports;
mod external;
mod feed;
mod figures;
mod fetch;
pub mod geojson;
mod geohash;
mod health;
mod hashing;
mod inbox;
mod ingest;
mod inspector;
mod kept;
pub mod limits;
mod load_budget;
mod matches;
mod network;
mod normalize;
mod parts;
mod poll;
mod public_only;
mod publish;
mod record;
mod route_mode;
mod saved;
mod schedule;
#[cfg(target_os = "linux")]
mod sealed;
#[cfg(not(target_os = "linux"))]
#[path = "sealed_elsewhere.rs"]
mod sealed;
mod search;
pub mod siri;
mod service_calendar;
mod service_window;
mod snapshot;
mod source;
mod stages;
mod status;
mod trip_run;
mod under_way;
mod ways;

pub use archive::{
    Archive, ArchiveError, Availability, Bin, Incident, Last, Life, MemoryArchive, Poll,
    PollFailure, PollQuery, Serving, ServingState, SourceState, Span, Stretch,
};
pub use bounds::{Bounds, Extent};
pub use budget::{BadRate, Rate};
pub use change::{Change, Why};
pub use channels::{Beside, Channels, kinds::KIND_BESIDE};
pub use config::{BadFeedId, Converter, FeedConfig, FeedId};
pub use dataset::{Dataset, LoadLimits};
pub use delays::{DelayClass, DelayCounts, Selection, Standing, TripStanding, classes};
pub use departures::{departures, departures_from};
pub use external::{Cover, Judged, NotMade, Program, run_program, run_validator};
pub use feed::{Feed, Held, Refused};
pub use fetch::{FailureCode, FetchFailure, Phase, fetch_into, fetch_once, pack_folder, probe};
pub use figures::FeedFigures;
pub use geohash::{CELL_CHARS, Cell};
pub use inbox::{Inbox, Inboxes, NotTaken, Room};
pub use ingest::{
    Changed, Ingest, KeptNetworks, Options, PollRefused, SourceTest, SourceTestFailure, Stopping,
};
pub use inspector::{Inspector, Passed, SiriPart};
pub use kept::{Kept, KeptError, KeptNetwork, KeptWriter};
pub use matches::{FeedMatches, MatchCount, MatchReason, ReasonCount, match_rate, match_trips};
pub use network::{Applied, BoundingBox, Continued, Network, NetworkState, NetworkWriter};
pub use normalize::{IdKind, IdTable, IdTableError, SiriIds, siri_to_gtfs_rt};
pub use parts::Part;
pub use public_only::{NotPublic, PublicOnly, is_public};
pub use publish::messages;
pub use record::{
    Body, DatasetRecord, Departure, DepartureStatus, FeedRecord, Join, Kind, Record, RentalVehicle,
    Station,
};
pub use route_mode::RouteMode;
pub use saved::{
    CountChanges, DatasetFacts, Done, MemorySnapshots, SavedHead, SnapshotKey, Snapshots,
    Validators,
};
pub use sealed::Sealed;
pub use search::{CatalogHit, CatalogHitKind, CatalogResults, StopHit, StopPage, StopQuery};
pub use service_calendar::{ServiceCalendar, ServiceDays};
pub use service_window::{EXPIRES_SOON_DAYS, ServiceEnd, ServiceWindow};
pub use snapshot::Snapshot;
pub use source::{
    BadLocation, Basic, Location, OAuth2, Secret, SiriAnswers, SiriEnvelope, SiriMode, SiriService,
    SiriSource,
};
pub use stages::Stage;
pub use status::{FeedState, FeedStatus};
pub use trip_run::{TripCall, TripNotFound, TripQuery, TripRun};
pub use under_way::UnderWay;
pub use ways::{Way, Ways};
