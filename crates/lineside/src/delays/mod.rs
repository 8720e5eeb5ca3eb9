//! "Is my train late?": answered once per state of a network, and then served from a cache.
//!
//! A question names a feed, and optionally a line or a stop of it. Its
//! [`ReportFingerprint`](question::ReportFingerprint) is a hash of everything that the answer depends on: the network's
//! state, the health of its sources, the threshold. A cached answer is valid as long as its fingerprint matches, so a
//! request compares and copies only a pointer; the first request after a change renders the answer for all.

mod report;
mod day;
mod vehicle_nouns;
mod sampling;
mod question;
mod stops;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use lineside_sync::UnixMillis;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
use xxhash_rust::xxh3::xxh3_128;

pub(crate) use self::day::{
    DataGap, DelayDay, FEED_LINES_MAX, QuarterHour, day_start, find_gaps, quarter_index,
};
pub(crate) use self::question::{DelayQuestion, DelaySource, has_only_alerts};
pub(crate) use self::report::{DelayReport, DelayVerdict, LineCount};
pub(crate) use self::sampling::{sample_delays, save_quarter};
pub(crate) use self::stops::STOPS_MAX;
pub(crate) use self::vehicle_nouns::VehicleNoun;

use crate::app::App;
use crate::http::{Refusal, RenderSlots, ReplyPreferences, Representation, run_blocking};

/// The most cached answers: enough for some hundred lines and stops in each view.
const CACHE_ENTRIES_MAX: usize = 2_048;
/// The most bytes of cached answers.
const CACHE_BYTES_MAX: usize = 64 << 20;
/// The lifetime of a cached answer; the next poll usually invalidates it long before.
const CACHE_TTL: Duration = Duration::from_secs(120);
/// The longest `max-age` of an answer: polls may be hours apart, and a source may fail in between.
const FRESH_FOR_MAX: Duration = Duration::from_secs(15);

/// A representation of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DelayView {
    /// The page in its layout.
    Page,
    /// The page for embedding in frames of other sites.
    Embedded,
    /// JSON.
    Json,
    /// An SVG badge.
    Badge,
}

/// A rendered answer.
#[derive(Debug)]
pub(crate) struct RenderedReport {
    kind: HeaderValue,
    body: Bytes,
    hash: u128,
    at: UnixMillis,
}

impl RenderedReport {
    pub(crate) fn new(kind: &'static str, body: impl Into<Bytes>, at: UnixMillis) -> Self {
        let body = body.into();
        Self { kind: HeaderValue::from_static(kind), hash: xxh3_128(&body), body, at }
    }
}

type Key = (DelayView, question::QuestionKey, question::ReportFingerprint);

/// The cached answers, and the history of the day.
#[derive(Debug)]
pub(crate) struct DelayReports {
    rendered: LoadingCache<Key, Arc<RenderedReport>, Refusal>,
    render_slots: RenderSlots,
    day: DelayDay,
    stops: stops::StopDelays,
}

impl Default for DelayReports {
    fn default() -> Self {
        let limits = CacheLimits {
            entries: CACHE_ENTRIES_MAX,
            weight: CACHE_BYTES_MAX,
            age: Some(CACHE_TTL),
        };
        Self {
            rendered: LoadingCache::new(limits, |_, rendered| rendered.body.len()),
            render_slots: RenderSlots::default(),
            day: DelayDay::default(),
            stops: stops::StopDelays::default(),
        }
    }
}

impl DelayReports {
    pub(crate) fn day(&self) -> &DelayDay {
        &self.day
    }

    /// Returns the day's history for a question. There is no history for one line at one stop.
    fn find_history(&self, question: &DelayQuestion, now: UnixMillis) -> day::DelayHistory {
        let data_now = question.network.data_now();
        match (&question.stop, &question.route) {
            (None, _) => self.day.find_history(question, data_now),
            (Some(stop), None) => self.stops.watch_stop(&question.feed, stop, now, data_now),
            (Some(_), Some(_)) => day::DelayHistory::default(),
        }
    }

    /// Drops expired answers. `now` is the clock's monotonic time.
    pub(crate) fn evict_expired(&self, now: Duration) {
        self.rendered.sweep_aged(now);
    }
}

/// Returns the reply to a question in one view; `make` renders it if it is not cached.
pub(crate) async fn reply_with_report(
    app: &App,
    question: DelayQuestion,
    view: DelayView,
    preferences: &ReplyPreferences,
    make: fn(&DelayReport) -> RenderedReport,
) -> Result<Response, Refusal> {
    let fresh_for = question.fresh_for(app).min(FRESH_FOR_MAX);
    let key = (view, question.question_key(), question.report_fingerprint(app));
    let load = async || {
        let permit = app.delays().render_slots.acquire_permit().await?;
        let day = app.delays().find_history(&question, app.now());
        let now = app.now();
        let work = move || {
            let _permit = permit;
            make(&DelayReport::for_question(question, day, now))
        };
        Ok(Arc::new(run_blocking(work).await?))
    };
    let rendered = app.delays().rendered.load(key, load).await?;
    let reply =
        Representation::with_hash(rendered.kind.clone(), rendered.body.clone(), rendered.hash);
    let reply = reply.modified_at(Some(rendered.at), app.now()).fresh_for(fresh_for);
    Ok(reply.into_reply(preferences, app).await)
}

/// Parses the line and the stop of a request's parameters.
pub(crate) fn parse_question(
    app: &App,
    feed: &str,
    parameters: &crate::http::QueryParameters,
) -> Result<DelayQuestion, Refusal> {
    DelayQuestion::from_ids(
        app,
        feed,
        parameters.find_value("route"),
        parameters.find_value("stop"),
    )
}

/// Returns true if a request asks for the page for embedding.
pub(crate) fn is_embedded(parameters: &crate::http::QueryParameters) -> bool {
    parameters.find_value("embed").is_some_and(|embed| embed != "0")
}
