//! "Is my train late?": answered once per state of a network, and then served from a cache.
//!
//! A question names a feed, and optionally a line or a stop of it. Its
//! [`ReportFingerprint`](question::ReportFingerprint) is a hash of everything that the answer depends on: the network's
//! state, the health of its sources, the threshold. A cached answer is valid as long as its fingerprint matches, so a
//! request compares and copies only a pointer; the first request after a change renders the answer for all.

mod report;
pub mod day;
mod vehicle_nouns;
pub mod question;
pub mod stops;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use lineside_sync::UnixMillis;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
use xxhash_rust::xxh3::xxh3_128;

pub use self::day::{
    DelayHistoryStore, FEED_LINES_MAX, QuarterHour, SampleGap, find_sample_gaps, last_day_start,
    quarter_hour_index,
};
pub use self::question::{DelayReportRequest, DelaySource};
pub use self::report::{DelayReport, DelayVerdict, LineDelayCounts};
pub use self::stops::STOPS_MAX;
pub use self::vehicle_nouns::VehicleNoun;

use crate::Refusal;
use crate::render_slots::RenderSlots;

/// The most cached answers: enough for some hundred lines and stops in each view.
const CACHE_ENTRIES_MAX: usize = 2_048;
/// The most bytes of cached answers.
const CACHE_BYTES_MAX: usize = 64 << 20;
/// The lifetime of a cached answer; the next poll usually invalidates it long before.
const CACHE_TTL: Duration = Duration::from_secs(120);

/// A representation of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DelayReportView {
    /// The page in its layout.
    Page,
    /// The page for embedding in frames of other sites.
    Embedded,
    Json,
    /// An SVG badge.
    Badge,
}

/// A rendered answer.
#[derive(Debug)]
pub struct RenderedDelayReport {
    pub kind: HeaderValue,
    pub body: Bytes,
    pub hash: u128,
    pub at: UnixMillis,
}

impl RenderedDelayReport {
    pub fn new(kind: &'static str, body: impl Into<Bytes>, at: UnixMillis) -> Self {
        let body = body.into();
        Self { kind: HeaderValue::from_static(kind), hash: xxh3_128(&body), body, at }
    }
}

type Key = (DelayReportView, question::DelayReportKey, question::ReportFingerprint);

/// The cached answers, and the history of the day.
#[derive(Debug)]
pub struct DelayReportCache {
    pub rendered: LoadingCache<Key, Arc<RenderedDelayReport>, Refusal>,
    pub render_slots: RenderSlots,
    pub day: DelayHistoryStore,
    pub stops: stops::WatchedStopDelays,
}

impl Default for DelayReportCache {
    fn default() -> Self {
        let limits = CacheLimits {
            entries: CACHE_ENTRIES_MAX,
            weight: CACHE_BYTES_MAX,
            age: Some(CACHE_TTL),
        };
        Self {
            rendered: LoadingCache::new(limits, |_, rendered| rendered.body.len()),
            render_slots: RenderSlots::default(),
            day: DelayHistoryStore::default(),
            stops: stops::WatchedStopDelays::default(),
        }
    }
}

impl DelayReportCache {
    pub fn day_history(&self) -> &DelayHistoryStore {
        &self.day
    }

    /// Returns the day's history for a question. There is no history for one line at one stop.
    pub fn find_day_history(
        &self,
        question: &DelayReportRequest,
        now: UnixMillis,
    ) -> day::DelayHistory {
        let data_now = question.network.data_time_now();
        match (&question.stop, &question.route) {
            (None, _) => self.day.find_delay_history(question, data_now),
            (Some(stop), None) => {
                self.stops.watch_stop_and_get_history(&question.feed, stop, now, data_now)
            }
            (Some(_), Some(_)) => day::DelayHistory::default(),
        }
    }

    /// Drops expired answers. `now` is the clock's monotonic time.
    pub fn evict_expired(&self, now: Duration) {
        self.rendered.remove_aged_entries(now);
    }
}
