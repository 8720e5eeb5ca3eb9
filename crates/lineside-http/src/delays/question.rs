//! A question about delays: a feed, optionally a line and a stop of it, the sources of its trips, and their health.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use lineside_formats::gtfs::Timetable;
use lineside_ingest::{Feed, Network};
use lineside_model::{DelayQuery, FeedId, FeedState, NetworkState};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;
use xxhash_rust::xxh3::Xxh3Default;

/// The delay from which a trip is late unless the operator configures another: the usual measure of punctuality in
/// Europe.
const TRIP_LATE_AFTER: Duration = Duration::from_secs(5 * 60);

/// Characters of an id that an error or a title repeats.
const ID_CHARS_MAX: usize = 100;

/// A feed with trips, and its health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelaySource {
    pub id: FeedId,
    pub name: String,
    pub state: FeedState,
    pub reason: String,
    /// The time of its data, or of its last successful fetch if the data have none.
    pub at: Option<UnixMillis>,
    /// True if the feed is healthy and its data are not stale.
    pub is_fresh: bool,
    /// The age from which its data are stale.
    pub late_after: Duration,
    /// The delay from which a trip of the feed is late.
    pub trip_late_after: Duration,
}

/// A question with everything that its answer depends on.
#[derive(Debug)]
pub struct DelayReportRequest {
    pub network: Arc<Network>,
    pub state: Arc<NetworkState>,
    pub timetable: Option<Arc<Timetable>>,
    /// The feed in the address.
    pub feed: FeedId,
    pub feed_name: String,
    pub route: Option<SmolStr>,
    pub stop: Option<SmolStr>,
    pub sources: Vec<DelaySource>,
    /// True if the question is about one real-time feed and not about its network.
    pub is_only_feed: bool,
    pub late_after: Duration,
}

/// The cache key of a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DelayReportKey {
    feed: FeedId,
    route: Option<SmolStr>,
    stop: Option<SmolStr>,
}

/// A hash of everything that an answer depends on: the answer changes only if the hash does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReportFingerprint(u128);

impl DelayReportRequest {
    /// Returns the cache key.
    pub fn report_cache_key(&self) -> DelayReportKey {
        DelayReportKey {
            feed: self.feed.clone(),
            route: self.route.clone(),
            stop: self.stop.clone(),
        }
    }

    /// Returns the hash of everything that the answer depends on; `generation` is that of the day's history.
    pub fn report_fingerprint(&self, generation: i64) -> ReportFingerprint {
        let mut hash = Xxh3Default::new();
        let mut put = |number: i64| hash.update(&number.to_le_bytes());
        put(i64::from_le_bytes(self.network.epoch().to_bits().to_le_bytes()));
        put(i64::from_le_bytes(self.state.revision.to_le_bytes()));
        put(self.state.at.0);
        put(i64::try_from(self.late_after.as_secs()).unwrap_or(i64::MAX));
        put(generation);
        for source in &self.sources {
            put(source.at.map_or(i64::MIN, |at| at.0));
            put(i64::from(source.is_fresh));
            for span in [source.late_after, source.trip_late_after] {
                put(i64::try_from(span.as_secs()).unwrap_or(i64::MAX));
            }
        }
        for source in &self.sources {
            for text in [source.id.as_str(), source.name.as_str(), source.reason.as_str()] {
                hash.update(text.as_bytes());
                hash.update(&[0]);
            }
        }
        hash.update(self.feed_name.as_bytes());
        ReportFingerprint(hash.digest128())
    }

    /// Returns the query for the question's trips in these feeds.
    pub fn trip_query<'a>(&'a self, feeds: &'a [FeedId]) -> DelayQuery<'a> {
        DelayQuery {
            feeds,
            route: self.route.as_deref(),
            stop: self.stop.as_deref(),
            all_lines: !self.is_only_feed,
        }
    }

    /// Returns the sources with fresh data.
    pub fn fresh_sources(&self) -> Vec<FeedId> {
        self.sources.iter().filter(|it| it.is_fresh).map(|it| it.id.clone()).collect()
    }

    /// Returns the time zone for displayed times.
    pub fn time_zone(&self) -> TimeZone {
        self.timetable.as_ref().map_or(TimeZone::UTC, |timetable| timetable.timezone().clone())
    }

    /// Returns the age from which the data are stale, by the strictest source; `None` if there are no sources.
    pub fn data_stale_after(&self) -> Option<Duration> {
        self.sources.iter().map(|source| source.late_after).min()
    }

    /// Returns the suffix of displayed times if they are not local.
    pub fn utc_suffix(&self) -> &'static str {
        if self.timetable.is_some() { "" } else { " UTC" }
    }

    /// Returns the name of the line, or its id.
    pub fn route_name(&self) -> Option<String> {
        let id = self.route.as_deref()?;
        let route = self.timetable.as_ref().and_then(|timetable| {
            timetable.find_route(id).map(|route| timetable.route(route).display_name().to_owned())
        });
        Some(route.filter(|name| !name.is_empty()).unwrap_or_else(|| shorten_id(id)))
    }

    /// Returns the name of the stop, or its id.
    pub fn stop_name(&self) -> Option<String> {
        let id = self.stop.as_deref()?;
        let stop = self.timetable.as_ref().and_then(|timetable| {
            timetable.find_stop(id).map(|stop| timetable.stop(stop).name.to_owned())
        });
        Some(stop.filter(|name| !name.is_empty()).unwrap_or_else(|| shorten_id(id)))
    }
}

fn shorten_id(id: &str) -> String {
    id.chars().take(ID_CHARS_MAX).collect()
}

/// Returns the delay from which a trip is late: the feed's, or the first of its network that configures one.
pub fn lateness_threshold(feed: &Feed, network: &Network) -> Duration {
    let stated = feed.config().trip_late_after;
    let network_threshold =
        || network.feeds().iter().find_map(|feed| feed.config().trip_late_after);
    stated.or_else(network_threshold).unwrap_or(TRIP_LATE_AFTER)
}
