//! A test of a source: one request whose reply is shown before the feed is polled.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    Format,
    gtfs_rt::{EntityPayloadKinds, SplitFeedMessage},
    looks_like_html, siri, sniff_format,
};
use lineside_sync::UnixMillis;
use tokio::sync::OwnedSemaphorePermit;

use super::Ingest;
use crate::{
    dataset::{Dataset, DecodingLimits},
    feed_config::FeedConfig,
    fetch::{FetchOutcome, FetchedBody},
    fetch_failure::{FailureCode, FetchError, FetchFailure},
    limits::SOURCE_TEST_WAIT_MAX,
    load_budget::estimate_schedule_load_memory,
    poll::{build_source_test_request, decode_message, new_fetcher},
    source::{SiriMode, SiriSourceSettings},
    trip_identity::timestamp_if_nonzero,
};

/// The reply of a source and a summary of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTestResult {
    /// The HTTP status of the reply, if there was one.
    pub status: Option<u16>,
    /// The media type that the reply states.
    pub content_type: Option<String>,
    /// The configured format, or the one detected from the bytes.
    pub format: Option<Format>,
    /// Bytes of the body, decompressed.
    pub bytes: u64,
    /// The time from the request to the end of the body.
    pub took: Duration,
    /// Numbers of items by kind, such as `("trips", 120)`.
    pub contents: Vec<(&'static str, u64)>,
    /// Records or values that could not be read.
    pub problems: u64,
    /// The timestamp in the data.
    pub data_time: Option<UnixMillis>,
}

/// The reason why a source test failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceTestFailure {
    /// Another test is running.
    #[error("another test is running: try again in a moment")]
    Busy,
    /// The rate limit of the host allows no request for this time.
    #[error("the rate limit of the host allows the next request in {} s", .0.as_secs_f64().ceil())]
    RateLimited(Duration),
    /// The source did not answer, or not with anything usable.
    #[error("{}: {}", .0.code, .0.detail)]
    Failed(Box<FetchFailure>),
}

impl Ingest {
    /// Requests a source once, by the rules for polling its feed, and decodes the reply. Nothing is stored or
    /// published. A subscription is tested by a plain request.
    ///
    /// Cancel safety: the request ends when the future is dropped; decoding in progress holds the slot until it ends.
    ///
    /// # Errors
    /// Returns an error if there was no usable reply.
    pub async fn test_source(
        &self,
        config: FeedConfig,
    ) -> Result<SourceTestResult, SourceTestFailure> {
        let slot = Arc::clone(&self.shared.sources.test_slot).try_acquire_owned();
        let slot = slot.map_err(|_| SourceTestFailure::Busy)?;
        let clock = Arc::clone(&self.shared.clock);
        let config = Arc::new(with_request_mode(config));
        let (began, bucket) =
            (clock.monotonic(), self.shared.sources.rate_limit_bucket_for_feed(&config));
        let reservation = bucket.reserve_request_time(began, began);
        let wait = reservation.reserved_time().saturating_sub(began);
        if wait > SOURCE_TEST_WAIT_MAX {
            return Err(SourceTestFailure::RateLimited(wait));
        }
        clock.sleep_until(reservation.reserved_time()).await;
        let permit = reservation.wait_for_permit(Arc::clone(&clock)).await;
        let mut fetcher = new_fetcher(&config, &self.shared.sources);
        let requested_at = clock.monotonic();
        let fetched = fetcher
            .fetch_source(permit, build_source_test_request(&config, clock.wall_time()))
            .await;
        let took = clock.monotonic().saturating_sub(requested_at);
        let failed = |failure: FetchError| {
            SourceTestFailure::Failed(Box::new(failure.into_fetch_failure(clock.wall_time())))
        };
        let body = match fetched.map_err(failed)? {
            FetchOutcome::Body(body) => body,
            FetchOutcome::Empty(status) => return Ok(empty_reply_result(&config, status, took)),
            FetchOutcome::NotModified => {
                return Err(failed(FetchError::new(
                    FailureCode::Empty,
                    "the response has no body",
                )));
            }
        };
        let (status, bytes) = (body.status, body.bytes.clone());
        let limits = Arc::clone(&self.shared.load_limits);
        let body_bytes = bytes.clone();
        let estimate =
            tokio::task::spawn_blocking(move || estimate_schedule_load_memory(&body_bytes)).await;
        let _load = self.shared.loads.wait_for_load_permit(estimate.unwrap_or(u64::MAX)).await;
        let result = read(&config, body, took, clock.wall_time(), slot, limits).await;
        result.map_err(|failure| failed(failure.with_response(status, bytes.len() as u64, None)))
    }
}

/// Returns the feed with request mode instead of subscription.
fn with_request_mode(config: FeedConfig) -> FeedConfig {
    let siri = config.siri.map(|siri| match siri.mode {
        SiriMode::Subscribe => Arc::new(SiriSourceSettings {
            mode: SiriMode::Request,
            ..SiriSourceSettings::clone(&siri)
        }),
        _ => siri,
    });
    FeedConfig { siri, ..config }
}

/// Returns the result of an empty reply, which a realtime source may send.
fn empty_reply_result(config: &FeedConfig, status: u16, took: Duration) -> SourceTestResult {
    SourceTestResult {
        status: Some(status),
        content_type: None,
        format: config.configured_format(),
        bytes: 0,
        took,
        contents: Vec::new(),
        problems: 0,
        data_time: None,
    }
}

async fn read(
    config: &FeedConfig,
    body: FetchedBody,
    took: Duration,
    now: UnixMillis,
    slot: OwnedSemaphorePermit,
    limits: Arc<DecodingLimits>,
) -> Result<SourceTestResult, FetchError> {
    let FetchedBody { bytes, content_type, status, .. } = body;
    let is_converted = config.converter.is_some();
    let format = detect_body_format(config, &bytes)?;
    let mut test = SourceTestResult {
        status,
        content_type,
        format,
        bytes: bytes.len() as u64,
        took,
        contents: Vec::new(),
        problems: 0,
        data_time: None,
    };
    match format {
        // The converter's output is checked only when the feed is polled.
        _ if is_converted => {}
        Some(Format::GtfsRt) => {
            let (message, problems) =
                decode_message(bytes, limits.gtfs_rt_limits(config.max_bytes)).await?;
            test.data_time =
                timestamp_if_nonzero(message.header.timestamp).map(UnixMillis::from_seconds);
            test.contents = count_gtfs_rt_entities(&message);
            test.problems = problems.total_count();
        }
        Some(format @ (Format::Gtfs | Format::Netex | Format::Siri | Format::Gbfs)) => {
            let (id, max_bytes) = (config.id.clone(), config.max_bytes);
            let decode = move || {
                let _slot = slot;
                match format {
                    Format::Siri => count_siri_elements(&bytes, &limits.siri_limits(max_bytes)),
                    Format::Gbfs => count_gbfs_files(&bytes),
                    _ => Dataset::decode_schedule(id, bytes, format, now, &limits)
                        .map(|it| count_routes_stops_trips(&it)),
                }
            };
            let decoded = tokio::task::spawn_blocking(decode).await.map_err(|_| {
                FetchError::new(
                    FailureCode::Decode,
                    "decoding stopped because of a bug in Lineside",
                )
            })?;
            (test.contents, test.problems) =
                decoded.map_err(|error| FetchError::from_decoder_error(&error))?;
        }
        Some(Format::Raw) | None => {}
    }
    Ok(test)
}

/// Returns the format of the bytes; an error if they are unusable as configured.
fn detect_body_format(config: &FeedConfig, bytes: &Bytes) -> Result<Option<Format>, FetchError> {
    if bytes.is_empty() {
        return Err(FetchError::new(FailureCode::Empty, "the body is empty"));
    }
    if !config.configured_format().is_some_and(Format::is_raw) && looks_like_html(bytes) {
        return Err(FetchError::new(
            FailureCode::Html,
            "the source returned a web page instead of data",
        ));
    }
    Ok(config.configured_format().or_else(|| sniff_format(bytes)))
}

type CountsAndProblemCount = (Vec<(&'static str, u64)>, u64);

fn count_gtfs_rt_entities(message: &SplitFeedMessage) -> Vec<(&'static str, u64)> {
    let kinds = [
        ("trip updates", EntityPayloadKinds::TRIP_UPDATE),
        ("vehicles", EntityPayloadKinds::VEHICLE),
        ("alerts", EntityPayloadKinds::ALERT),
    ];
    let count = |payload: EntityPayloadKinds| {
        message.entities.iter().filter(|entity| entity.payload.contains(payload)).count() as u64
    };
    kinds.map(|(name, payload)| (name, count(payload))).to_vec()
}

fn count_routes_stops_trips(dataset: &Dataset) -> CountsAndProblemCount {
    let timetable = &dataset.timetable;
    let contents = vec![
        ("routes", timetable.routes().len() as u64),
        ("stops", timetable.stops().len() as u64),
        ("trips", timetable.trips().len() as u64),
    ];
    (contents, dataset.problems.total_count())
}

fn count_siri_elements(
    bytes: &Bytes,
    limits: &siri::MessageLimits,
) -> Result<CountsAndProblemCount, lineside_formats::Error> {
    let (message, problems) = siri::decode_siri_message(bytes, &TimeZone::UTC, limits)?;
    let (mut journeys, mut vehicles, mut visits, mut situations) = (0, 0, 0, 0);
    for delivery in message.service_deliveries() {
        let frames = delivery.estimated_timetables.iter().flat_map(|it| &it.frames);
        journeys += frames.map(|frame| frame.estimated_vehicle_journeys.len()).sum::<usize>();
        let monitorings = delivery.vehicle_monitorings.iter();
        vehicles += monitorings.map(|it| it.vehicle_activities.len()).sum::<usize>();
        let boards = delivery.stop_monitorings.iter();
        visits += boards.map(|it| it.monitored_stop_visits.len()).sum::<usize>();
        let exchanges = delivery.situation_exchanges.iter();
        situations += exchanges.map(|it| it.situations.len()).sum::<usize>();
    }
    let counts = [
        ("journeys", journeys),
        ("vehicles", vehicles),
        ("stop visits", visits),
        ("situations", situations),
    ];
    Ok((counts.map(|(name, n)| (name, n as u64)).to_vec(), problems.total_count()))
}

fn count_gbfs_files(bytes: &Bytes) -> Result<CountsAndProblemCount, lineside_formats::Error> {
    let (discovery, problems) =
        lineside_gbfs::decode_discovery_file(bytes, &lineside_gbfs::DiscoveryLimits::default())?;
    Ok((vec![("files", discovery.entries.len() as u64)], problems.total_count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed_id::FeedId;
    use crate::source::SourceLocation;

    fn config(format: Option<Format>) -> FeedConfig {
        let url = SourceLocation::parse("https://a.example/x").unwrap();
        FeedConfig { format, ..FeedConfig::new(FeedId::new("a").unwrap(), url) }
    }

    #[test]
    fn a_web_page_is_a_failure_unless_the_feed_is_raw() {
        let page = Bytes::from_static(b"<!DOCTYPE html><html><body>Sorry</body></html>");
        let failure = detect_body_format(&config(None), &page).unwrap_err();
        assert_eq!(failure.code, FailureCode::Html);
        assert_eq!(
            detect_body_format(&config(Some(Format::Raw)), &page).unwrap(),
            Some(Format::Raw)
        );
        assert_eq!(
            detect_body_format(&config(None), &Bytes::new()).unwrap_err().code,
            FailureCode::Empty
        );
    }

    #[test]
    fn a_subscription_is_tested_by_a_request() {
        let siri =
            SiriSourceSettings { mode: SiriMode::Subscribe, ..SiriSourceSettings::default() };
        let feed = FeedConfig { siri: Some(Arc::new(siri)), ..config(Some(Format::Siri)) };
        assert_eq!(with_request_mode(feed).siri.unwrap().mode, SiriMode::Request);
    }
}
