//! Accepting a reply: detects its format, compares it with the last one, decodes it and sends it to the network.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{
    Format, Problem, Problems,
    gtfs_rt::{EntityPayloadKinds, SplitFeedMessage},
    looks_like_html, sniff_format,
};
use lineside_sync::{UnixMillis, stage};
use tokio::sync::oneshot;

use super::{
    decoder_crash_failure,
    polled_feed::PolledFeed,
    protocol::{PollSuccess, SourceProtocol},
};
use crate::{
    catalog::RejectedSchedule,
    dataset::Dataset,
    fetch::FetchedBody,
    fetch_failure::{FailureCode, FetchError},
    limits::HASH_CHUNK_BYTES_MAX,
    load_budget::estimate_schedule_load_memory,
    network_writer::NetworkInput,
    poll_stages::PollStage,
    record::FeedStatusRecord,
    service_window::ServiceDateRange,
    snapshot::{FeedBodySnapshot, default_download_file_name},
    trip_identity::timestamp_if_nonzero,
};

/// The reason for rejecting a schedule without trips.
const NO_ROWS: &str = "the new version has no trips: its tables have no rows";
/// The last second of the year 9999: later times are outside of the calendar's range.
const TIMESTAMP_MAX: u64 = 253_402_300_799;

impl PolledFeed {
    /// Accepts an empty reply. For a realtime feed this is no failure: some producers send it when no vehicle is in
    /// service. The health rules judge it like any message without entities; the current content stays.
    pub(super) fn accept_empty_reply(&mut self, status: u16) -> Result<PollSuccess, FetchError> {
        let known = self.status.format.filter(|_| !self.has_new_source);
        if !self.feed.config().configured_format().or(known).is_some_and(Format::is_realtime) {
            let failure = FetchError::new(FailureCode::Empty, "the response has an empty body");
            return Err(failure.with_response(Some(status), 0, None));
        }
        self.clear_failures();
        let now = self.clock.wall_time();
        self.status.empty_since.get_or_insert(now);
        Ok(PollSuccess::Nothing)
    }

    /// Stores an accepted body and then serves it.
    pub(super) async fn store_and_serve_body(
        &mut self,
        body: FetchedBody,
        format: Format,
        hash: u128,
        now: UnixMillis,
    ) {
        self.has_new_source = false;
        self.status.format = Some(format);
        let id = self.feed.id().as_str();
        let before = self.feed.snapshot().filter(|known| known.hash != hash);
        let snapshot = body_to_snapshot(id, body, format, hash, now, before.as_deref());
        self.store_then_publish_snapshot(snapshot, now).await;
    }

    /// Returns problems of bytes served without decoding: none if configured as raw. GBFS cannot be detected reliably
    /// from the content, so its format must be configured.
    pub(super) fn problems_of_raw_bytes(&self, bytes: &[u8]) -> Problems {
        let mut problems = Problems::new();
        let is_promised = self.feed.config().configured_format().is_some_and(Format::is_raw);
        let system =
            lineside_gbfs::decode_discovery_file(bytes, &lineside_gbfs::DiscoveryLimits::default())
                .ok()
                .filter(|_| !is_promised);
        if system.is_some_and(|(discovery, _)| !discovery.entries.is_empty()) {
            let detail = "this is the discovery file of a GBFS system: set format = \"gbfs\" to read its files";
            problems.push(Problem::new("gbfs.json", "looks_like_gbfs", detail));
        }
        problems
    }

    /// Returns the format of the bytes; an error if they are unusable as configured.
    pub(super) fn detect_usable_format(&self, bytes: &Bytes) -> Result<Format, FetchError> {
        if bytes.is_empty() {
            return Err(FetchError::new(FailureCode::Empty, "the body is empty"));
        }
        let promised = self.feed.config().configured_format();
        if !promised.is_some_and(Format::is_raw) && looks_like_html(bytes) {
            return Err(FetchError::new(
                FailureCode::Html,
                "the source returned a web page instead of data",
            ));
        }
        if let Some(format) = promised {
            return Ok(format);
        }
        let Some(format) = sniff_format(bytes) else {
            return Err(FetchError::new(FailureCode::Empty, "the body contains only whitespace"));
        };
        match self.status.format {
            // Once the format is known, the decoder reports bytes that no longer match it. Raw only means unrecognised:
            // the previous reply may have been an error message.
            Some(known) if !self.has_new_source && !known.is_raw() => Ok(known),
            _ => Ok(format),
        }
    }

    pub(super) async fn decode_and_apply_schedule(
        &mut self,
        bytes: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), FetchError> {
        if self.number != 0 {
            let owner = self.feed.network().id().clone();
            let detail =
                format!("the data are a schedule, but the feed belongs to the schedule {owner}");
            return Err(FetchError::new(FailureCode::Decode, detail));
        }
        let id = self.feed.id().clone();
        let body = bytes.clone();
        let estimate =
            tokio::task::spawn_blocking(move || estimate_schedule_load_memory(&body)).await;
        let permit =
            self.loads.wait_for_load_permit(estimate.map_err(|_| decoder_crash_failure())?).await;
        let network = self.feed.network();
        let began = network.stage_start_time();
        let came = bytes.clone();
        let limits = Arc::clone(&self.load_limits);
        let load = tokio::task::spawn_blocking(move || {
            let _at = stage::set_stage_until_dropped(PollStage::Decode.to_work_stage());
            Dataset::decode_schedule(id, bytes, format, now, &limits)
        })
        .await;
        network.record_stage_duration(PollStage::Decode, began);
        let dataset =
            self.check_loaded_schedule(load.map_err(|_| decoder_crash_failure())?, came, now)?;
        drop(permit);
        self.clear_data_of_other_format(format, now).await?;
        self.record_success();
        self.status.format = Some(format);
        self.status.data_time = None;
        self.status.has_impossible_time = false;
        self.status.entities = dataset.timetable.trips().len() as u64;
        self.status.problems = Arc::clone(&dataset.problems);
        let output_problems = std::mem::take(&mut self.output_problems);
        if !output_problems.is_empty() {
            Arc::make_mut(&mut self.status.problems).merge(output_problems);
        }
        let (window, data_now) =
            (ServiceDateRange::from_timetable(&dataset.timetable), self.data_time_now());
        self.rules.ended = window.and_then(|it| it.end_if_passed(data_now));
        self.status.update_state(now, data_now, &self.rules);
        let record = FeedStatusRecord::from_status(&self.status);
        let (reply, done) = oneshot::channel();
        let input = NetworkInput::Dataset { number: self.number, dataset, record, now, reply };
        if self.send_to_network(input).await.is_err() || done.await.is_err() {
            return Err(decoder_crash_failure());
        }
        Ok(())
    }

    /// Returns the loaded schedule. The bytes of a rejected one are stored for inspection.
    fn check_loaded_schedule(
        &self,
        loaded: Result<Dataset, lineside_formats::Error>,
        bytes: Bytes,
        now: UnixMillis,
    ) -> Result<Arc<Dataset>, FetchError> {
        let (failure, reason) = match loaded {
            Ok(dataset) if self.is_suddenly_empty(&dataset) => {
                (FetchError::new(FailureCode::NoRows, NO_ROWS), NO_ROWS.to_owned())
            }
            Ok(dataset) => {
                self.feed.set_rejected_schedule(None);
                return Ok(Arc::new(dataset));
            }
            Err(error) => (FetchError::from_decoder_error(&error), error.to_string()),
        };
        self.feed.set_rejected_schedule(Some(RejectedSchedule { bytes, at: now, reason }));
        Err(failure)
    }

    /// Returns true if this version of the schedule has no trips and the served one has some. Producers that export an
    /// empty database publish such files; boards must not go blank because of that.
    fn is_suddenly_empty(&self, dataset: &Dataset) -> bool {
        let served = self.feed.network().timetable().filter(|_| !self.has_new_source);
        dataset.timetable.trips().len() == 0 && served.is_some_and(|it| it.trips().len() > 0)
    }

    /// Sends the entities of a message to the network.
    pub(super) async fn apply_entities(
        &mut self,
        message: SplitFeedMessage,
        mut problems: Problems,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), FetchError> {
        problems.merge(std::mem::take(&mut self.output_problems));
        // The message is good from here on; the health rules use the status that it leads to.
        self.clear_data_of_other_format(format, now).await?;
        let before = (self.status.clone(), self.is_expired);
        self.record_success();
        self.status.format = Some(format);
        let timestamp = message.header.timestamp.filter(|seconds| *seconds > 0);
        let possible = timestamp.filter(|seconds| *seconds <= TIMESTAMP_MAX);
        self.status.has_impossible_time = timestamp != possible;
        self.status.data_time = timestamp_if_nonzero(possible).map(UnixMillis::from_seconds);
        let n_active = self.count_active_trips().await;
        self.health.record_message_content(&message, n_active, now);
        self.rules.expectation = self.health.expected_content(n_active, now);
        let has_alerts =
            || message.entities.iter().any(|it| it.payload.contains(EntityPayloadKinds::ALERT));
        let has_only_alerts = self.status.has_only_alerts || has_alerts();
        self.status.has_only_alerts = has_only_alerts && !self.rules.expectation.has_trip_data;
        let (reply, health_reply) = oneshot::channel();
        let input = NetworkInput::Message {
            number: self.number,
            message: Box::new(message),
            problems,
            status: Box::new(self.status.clone()),
            rules: self.rules,
            now,
            data_now: self.data_time_now(),
            reply,
        };
        if self.send_to_network(input).await.is_err() {
            return Err(decoder_crash_failure());
        }
        match health_reply.await.map_err(|_| decoder_crash_failure())? {
            Ok(status) => self.status = status,
            Err(failure) => {
                (self.status, self.is_expired) = before;
                return Err(failure);
            }
        }
        Ok(())
    }
}

/// Accepts a body from the source: detects its format, compares it with the last one and decodes it.
pub(super) async fn count_and_accept_body(
    protocol: &mut dyn SourceProtocol,
    polled: &mut PolledFeed,
    body: FetchedBody,
) -> Result<PollSuccess, FetchError> {
    polled.status.bytes += body.bytes.len() as u64;
    accept_body_if_changed(protocol, polled, body).await
}

/// Accepts a body of local origin, which does not count as received bytes.
pub(super) async fn accept_body_if_changed(
    protocol: &mut dyn SourceProtocol,
    polled: &mut PolledFeed,
    body: FetchedBody,
) -> Result<PollSuccess, FetchError> {
    let format = polled.detect_usable_format(&body.bytes)?;
    let hash = hash_body(&body.bytes).await;
    let known = polled.feed.snapshot();
    let is_known = |known: &Arc<FeedBodySnapshot>| known.hash == hash && known.format == format;
    let is_applied = !polled.is_expired && !protocol.must_decode_unchanged_body(polled);
    if known.as_ref().is_some_and(is_known) && is_applied {
        polled.has_new_source = false;
        polled.record_not_modified();
        return Ok(PollSuccess::Same);
    }
    let now = polled.clock.wall_time();
    let message = protocol.decode_and_apply_body(polled, body.bytes.clone(), format, now).await?;
    polled.store_and_serve_body(body, format, hash, now).await;
    polled.pass_message_to_observer(message, now).await;
    Ok(PollSuccess::New)
}

/// Returns a fetched body as the snapshot that follows `before`.
pub(super) fn body_to_snapshot(
    id: &str,
    body: FetchedBody,
    format: Format,
    hash: u128,
    now: UnixMillis,
    before: Option<&FeedBodySnapshot>,
) -> FeedBodySnapshot {
    FeedBodySnapshot {
        hash,
        format,
        content_type: body
            .content_type
            .unwrap_or_else(|| format.media_type(&body.bytes).to_owned()),
        file_name: body
            .file_name
            .unwrap_or_else(|| default_download_file_name(id, format, &body.bytes)),
        fetched_at: now,
        last_modified: FeedBodySnapshot::compute_modification_time(body.last_modified, now, before),
        bytes: body.bytes,
    }
}

/// Hashes a body; a large one on a blocking thread.
pub(super) async fn hash_body(bytes: &Bytes) -> u128 {
    if bytes.len() < HASH_CHUNK_BYTES_MAX {
        return FeedBodySnapshot::hash_body(bytes);
    }
    let shared = bytes.clone();
    let hashed = tokio::task::spawn_blocking(move || FeedBodySnapshot::hash_body(&shared)).await;
    hashed.unwrap_or_else(|_| FeedBodySnapshot::hash_body(bytes))
}
