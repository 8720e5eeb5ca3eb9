//! The statistics of a feed, from the counters of its task and its readers.

use std::collections::HashMap;
use std::time::Duration;

use lineside_config::times::format_rfc3339;
use lineside_ingest::Feed;
use lineside_model::{FeedId, FeedState, FeedStatus};
use lineside_quality::reports::{LatestValidationReports, ReportFindingCounts};
use lineside_sync::UnixMillis;
use serde::{Serialize, Serializer};

/// The upper bounds of the fetch latency histogram, in milliseconds; a further bucket has no bound.
pub const FETCH_BOUNDS_MS: [u64; 11] = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 15_000];

/// The state of a feed, and the load that it causes for its producer and for us.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedOverview {
    #[serde(skip)]
    pub id: FeedId,
    pub name: Option<String>,
    pub format: Option<&'static str>,
    #[serde(serialize_with = "as_word")]
    pub state: FeedState,
    pub reason: String,
    /// True if polling is paused.
    pub paused: bool,
    #[serde(serialize_with = "as_optional_word")]
    pub state_before_pause: Option<FeedState>,
    /// The last service day of a schedule, `YYYY-MM-DD`.
    pub service_end: Option<String>,
    /// Days until then: 0 on that day, negative once the timetable has expired.
    pub service_days_left: Option<i64>,
    /// Days until the first service day: 0 once it has come.
    pub service_days_until_start: Option<i64>,
    #[serde(serialize_with = "as_time")]
    pub since: Option<UnixMillis>,
    #[serde(serialize_with = "as_time")]
    pub last_success: Option<UnixMillis>,
    /// The timestamp in the data.
    #[serde(serialize_with = "as_time")]
    pub data_time: Option<UnixMillis>,
    #[serde(serialize_with = "as_time")]
    pub next_poll: Option<UnixMillis>,
    /// The recorded day, `YYYY-MM-DD`, if the network plays a recording.
    pub recorded_day: Option<String>,
    /// The seconds from the recorded time to now, if the network plays a recording.
    pub recorded_seconds_ago: Option<i64>,
    pub entities: u64,
    pub problems: u64,
    /// The summary of the latest report.
    pub report: Option<ReportFindingCounts>,
    pub fetches: FetchStats,
    pub served: RequestStats,
    /// Readers' requests per fetch; `None` before the first fetch.
    pub amplification: Option<f64>,
    pub cache: CacheUsage,
    /// Subscribers of all channels of the feed.
    pub subscribers: u64,
}

/// The fetches from the source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FetchStats {
    pub total: u64,
    pub failed: u64,
    pub not_modified: u64,
    pub bytes: u64,
    /// For each of [`FETCH_BOUNDS_MS`], the number of recent fetches up to that bound; the last entry counts longer
    /// ones.
    pub histogram: [u64; FETCH_BOUNDS_MS.len() + 1],
    pub took: Option<FetchDurations>,
}

/// Quantiles of the recent fetches, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FetchDurations {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// The requests of readers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestStats {
    pub total: u64,
    pub not_modified: u64,
    pub bytes: u64,
    /// Requests per second, since the previous sample.
    pub rate: f64,
}

/// The size of the cached representations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheUsage {
    /// Number of representations: the last good bytes, and each requested content encoding of them.
    pub representations: usize,
    pub bytes: usize,
}

/// The inputs of a feed's statistics besides the feed itself.
#[derive(Debug)]
pub struct FeedOverviewInputs<'a> {
    /// Number of its requests at the previous sample.
    pub requests: Option<u64>,
    /// Time since the previous sample.
    pub elapsed: Duration,
    /// Number of subscribers by feed.
    pub subscribers: &'a HashMap<String, u64>,
    /// The current time.
    pub wall: UnixMillis,
    pub reports: &'a LatestValidationReports,
    /// The size of its cached representations.
    pub cache: CacheUsage,
}

impl FeedOverview {
    pub fn from_feed(feed: &Feed, seen: &FeedOverviewInputs<'_>) -> Self {
        let (status, config) = (feed.status_including_files(), feed.config());
        let (served, window) = (request_stats(feed, seen), feed.service_date_range());
        let network = feed.network();
        let now = network.data_time_now();
        let recorded = network.replayed_time_now();
        let fetches = fetch_stats(feed, &status);
        let ratio = || served.total as f64 / fetches.total as f64;
        Self {
            name: config.name.clone(),
            format: feed.format().map(|format| format.as_str()),
            state: status.state,
            reason: status.reason.clone(),
            paused: config.paused,
            state_before_pause: status.state_before_pause,
            service_end: window.as_ref().map(|it| it.end.to_string()),
            service_days_left: window.as_ref().and_then(|it| it.days_until_end(now)),
            service_days_until_start: window.as_ref().and_then(|it| it.days_until_start(now)),
            since: Some(status.since),
            last_success: status.last_success,
            data_time: status.data_time,
            next_poll: status.next_poll,
            recorded_day: recorded.map(|_| network.data_date_today().to_string()),
            recorded_seconds_ago: recorded.map(|at| round_seconds(seen.wall.0 - at.0)),
            entities: status.entities,
            problems: status.problems.total_count(),
            report: seen
                .reports
                .latest_reports_of_feed(config.id.as_str())
                .and_then(|reports| reports.summary_of_main_report()),
            amplification: (fetches.total > 0).then(|| round_to_digits(ratio(), 100.0)),
            fetches,
            served,
            cache: seen.cache,
            subscribers: seen.subscribers.get(config.id.as_str()).copied().unwrap_or_default(),
            id: config.id.clone(),
        }
    }
}

fn fetch_stats(feed: &Feed, status: &FeedStatus) -> FetchStats {
    let count = |name: &str| status.outcomes.iter().find(|(it, _)| it == name).map(|(_, n)| *n);
    let mut times = feed.metrics().fetch_durations();
    let mut histogram = [0; FETCH_BOUNDS_MS.len() + 1];
    for time in &times {
        let fits = |bound: &u64| *time <= Duration::from_millis(*bound);
        let bar = FETCH_BOUNDS_MS.iter().position(fits).unwrap_or(FETCH_BOUNDS_MS.len());
        histogram[bar] += 1;
    }
    times.sort_unstable();
    FetchStats {
        total: status.fetches,
        failed: status.failures,
        not_modified: count("not_modified").unwrap_or_default(),
        bytes: status.bytes,
        histogram,
        took: FetchDurations::from_sorted(&times),
    }
}

impl FetchDurations {
    /// Returns the quantiles of sorted durations.
    fn from_sorted(sorted: &[Duration]) -> Option<Self> {
        let at = |share: f64| {
            let rank = (sorted.len() as f64 * share).ceil() as usize;
            let time = sorted.get(rank.max(1) - 1)?;
            Some(round_to_digits(time.as_secs_f64(), 10_000.0))
        };
        Some(Self { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, max: at(1.0)? })
    }
}

fn request_stats(feed: &Feed, seen: &FeedOverviewInputs<'_>) -> RequestStats {
    let metrics = feed.metrics();
    let total = metrics.request_count();
    let new = seen.requests.map_or(0, |before| total.saturating_sub(before));
    let seconds = seen.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    RequestStats {
        total,
        not_modified: metrics.not_modified_count(),
        bytes: metrics.bytes_sent(),
        rate: round_to_digits(new as f64 / seconds, 10.0),
    }
}

/// Rounds a value: further digits are of no use, and each would cause a change.
pub fn round_to_digits(value: f64, digits: f64) -> f64 {
    (value * digits).round() / digits
}

/// Rounds milliseconds to seconds: a further digit would change with each sample.
fn round_seconds(millis: i64) -> i64 {
    (millis + 500).div_euclid(1_000)
}

fn as_word<S: Serializer>(state: &FeedState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.as_str())
}

fn as_optional_word<S: Serializer>(
    state: &Option<FeedState>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    state.map(FeedState::as_str).serialize(serializer)
}

fn as_time<S: Serializer>(at: &Option<UnixMillis>, serializer: S) -> Result<S::Ok, S::Error> {
    at.and_then(format_rfc3339).serialize(serializer)
}

#[cfg(any(test, feature = "test-support"))]
impl FeedOverview {
    /// Returns the statistics of a feed without fetches and requests.
    pub fn empty_overview(id: FeedId) -> Self {
        let fetches = FetchStats {
            total: 0,
            failed: 0,
            not_modified: 0,
            bytes: 0,
            histogram: [0; FETCH_BOUNDS_MS.len() + 1],
            took: None,
        };
        Self {
            id,
            name: None,
            format: None,
            state: FeedState::Unknown,
            reason: String::new(),
            paused: false,
            state_before_pause: None,
            service_end: None,
            service_days_left: None,
            service_days_until_start: None,
            since: None,
            last_success: None,
            data_time: None,
            next_poll: None,
            recorded_day: None,
            recorded_seconds_ago: None,
            entities: 0,
            problems: 0,
            report: None,
            fetches,
            served: RequestStats { total: 0, not_modified: 0, bytes: 0, rate: 0.0 },
            amplification: None,
            cache: CacheUsage::default(),
            subscribers: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_observed_durations() {
        assert_eq!(FetchDurations::from_sorted(&[]), None);
        let millis: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        let took = FetchDurations::from_sorted(&millis).unwrap();
        assert_eq!((took.p50, took.p90, took.p99, took.max), (0.1, 0.18, 0.198, 0.2));
        let one = FetchDurations::from_sorted(&millis[..1]).unwrap();
        assert_eq!((one.p50, one.max), (0.001, 0.001));
    }
}
