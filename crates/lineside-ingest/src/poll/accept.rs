//! What a source answered is taken in: what it is, whether it is new, what it says.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{
    Format, Problem, Problems, gbfs,
    gtfs_rt::{EntityPayloads, ShallowMessage},
    looks_like_html, sniff_format,
};
use lineside_sync::{UnixMillis, stage};
use tokio::sync::oneshot;

use super::{
    FeedPoller, decoder_crash_failure, decoding::decode_message, observe::PendingObservation,
    system::SystemPollers,
};
use crate::{
    dataset::Dataset,
    feed::RejectedSchedule,
    fetch::{FailureCode, FetchError, FetchedBody},
    limits::HASHED_AT_ONCE_MAX,
    load_budget::estimate_load_bytes,
    network::NetworkInput,
    normalize::nonzero_seconds,
    poll_stages::PollStage,
    record::FeedRecord,
    service_window::ServiceWindow,
    snapshot::{Snapshot, default_file_name, media_type},
};

/// Why a schedule without trips is refused.
const NO_ROWS: &str = "the new version has no trips: its tables have no rows";
/// The last second of the year 9999: no calendar here has later times.
const TIMESTAMP_MAX: u64 = 253_402_300_799;

impl FeedPoller {
    /// Takes an answer without a body. Of real time that is no failure: some producers say so that no vehicle is out. Whether
    /// it is to be so is judged like any other message with nothing in it; what is held stays as it is.
    pub(super) fn accept_empty_reply(&mut self, status: u16) -> Result<&'static str, FetchError> {
        let known = self.status.format.filter(|_| !self.anew);
        if !self.feed.config().configured_format().or(known).is_some_and(Format::is_realtime) {
            let failure = FetchError::new(FailureCode::Empty, "the answer has nothing in its body");
            return Err(failure.with_reply(Some(status), 0, None));
        }
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
        let now = self.clock.wall_time();
        self.status.nothing_since.get_or_insert(now);
        Ok("nothing")
    }

    /// Takes a body: what it is, whether it is new, what it says.
    pub(super) async fn accept_body(
        &mut self,
        body: FetchedBody,
    ) -> Result<&'static str, FetchError> {
        self.status.bytes += body.bytes.len() as u64;
        self.accept_local_body(body).await
    }

    /// The same of one that is not counted: it came from here.
    pub(super) async fn accept_local_body(
        &mut self,
        body: FetchedBody,
    ) -> Result<&'static str, FetchError> {
        let format = self.detect_format(&body.bytes)?;
        let hash = hash_body(&body.bytes).await;
        let known = self.feed.snapshot();
        let is_known = |known: &Arc<Snapshot>| known.hash == hash && known.format == format;
        let is_old_news = !self.expired && !self.wants_full_answer();
        let is_taken_in =
            is_old_news && self.system.as_ref().is_none_or(SystemPollers::is_following_discovery);
        if known.as_ref().is_some_and(is_known) && is_taken_in {
            self.anew = false;
            self.confirm_snapshot();
            return Ok("same");
        }
        let now = self.clock.wall_time();
        let mut passing = None;
        match format {
            Format::Gtfs | Format::Netex => {
                self.load_schedule(body.bytes.clone(), format, now).await?;
            }
            Format::GtfsRt => {
                self.accept_message(body.bytes.clone(), now).await?;
                passing = Some(PendingObservation::GtfsRt(body.bytes.clone()));
            }
            Format::Siri => passing = self.accept_siri(body.bytes.clone(), now).await?,
            Format::Gbfs => self.accept_gbfs(&body.bytes).await?,
            Format::Raw => {
                self.clear_other_format(format, now).await?;
                self.record_success();
                self.status.entities = 0;
                // It was something else before, which gave itself a time and may have had faults.
                self.status.data_time = None;
                self.status.has_impossible_time = false;
                self.status.problems = Arc::new(self.check_raw_bytes(&body.bytes));
            }
        }
        self.persist_body(body, format, hash, now).await;
        self.observe_message(passing, now).await;
        Ok("new")
    }

    /// Has a body that was taken in kept and given out as it came.
    pub(super) async fn persist_body(
        &mut self,
        body: FetchedBody,
        format: Format,
        hash: u128,
        now: UnixMillis,
    ) {
        self.anew = false;
        self.status.format = Some(format);
        let id = self.feed.id().as_str();
        let before = self.feed.snapshot().filter(|known| known.hash != hash);
        let snapshot = Snapshot {
            hash,
            format,
            content_type: body
                .content_type
                .unwrap_or_else(|| media_type(format, &body.bytes).to_owned()),
            file_name: body.file_name.unwrap_or_else(|| default_file_name(id, format, &body.bytes)),
            fetched_at: now,
            last_modified: Snapshot::changed_at(body.last_modified, now, before.as_deref()),
            bytes: body.bytes,
        };
        self.persist_then_publish(snapshot, now).await;
    }

    /// What may be wrong about bytes that are served as they are: nothing where the operator wants them so. The content of a
    /// GBFS system alone does not tell it, so its format has to be configured.
    fn check_raw_bytes(&self, bytes: &[u8]) -> Problems {
        let mut problems = Problems::new();
        let is_promised = self.feed.config().configured_format() == Some(Format::Raw);
        let system = gbfs::decode_discovery(bytes, &gbfs::DiscoveryLimits::default())
            .ok()
            .filter(|_| !is_promised);
        if system.is_some_and(|(discovery, _)| !discovery.entries.is_empty()) {
            let detail = "this is the discovery file of a GBFS system: set format = \"gbfs\" to read its files";
            problems.push(Problem::new("gbfs.json", "looks_like_gbfs", detail));
        }
        problems
    }

    /// What the bytes are, unless they are not what they have to be.
    fn detect_format(&self, bytes: &Bytes) -> Result<Format, FetchError> {
        if bytes.is_empty() {
            return Err(FetchError::new(FailureCode::Empty, "the body is empty"));
        }
        let promised = self.feed.config().configured_format();
        if promised != Some(Format::Raw) && looks_like_html(bytes) {
            return Err(FetchError::new(FailureCode::Html, "a web page came instead of data"));
        }
        if let Some(format) = promised {
            return Ok(format);
        }
        let Some(format) = sniff_format(bytes) else {
            return Err(FetchError::new(FailureCode::Empty, "the body has nothing in it"));
        };
        match self.status.format {
            // Once its format is known, the decoder says what is wrong with bytes that no longer look like it. Raw is only what
            // was not recognised: the answer before may have been an error message.
            Some(known) if !self.anew && known != Format::Raw => Ok(known),
            _ => Ok(format),
        }
    }

    pub(super) async fn load_schedule(
        &mut self,
        bytes: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), FetchError> {
        if self.number != 0 {
            let owner = self.feed.network().id().clone();
            let detail = format!("a schedule came, but the feed belongs to the schedule {owner}");
            return Err(FetchError::new(FailureCode::Decode, detail));
        }
        let id = self.feed.id().clone();
        let body = bytes.clone();
        let estimate = tokio::task::spawn_blocking(move || estimate_load_bytes(&body)).await;
        let permit = self.loads.admit(estimate.map_err(|_| decoder_crash_failure())?).await;
        let network = self.feed.network();
        let began = network.stage_start();
        let came = bytes.clone();
        let limits = Arc::clone(&self.load_limits);
        let load = tokio::task::spawn_blocking(move || {
            let _at = stage::enter_stage(PollStage::Decode.thread_stage());
            Dataset::load_format(id, bytes, format, now, &limits)
        })
        .await;
        network.record_stage(PollStage::Decode, began);
        let dataset =
            self.accept_schedule(load.map_err(|_| decoder_crash_failure())?, came, now)?;
        drop(permit);
        self.clear_other_format(format, now).await?;
        self.record_success();
        self.status.format = Some(format);
        self.status.data_time = None;
        self.status.has_impossible_time = false;
        self.status.entities = dataset.timetable.trips().len() as u64;
        self.status.problems = Arc::clone(&dataset.problems);
        let said = self.conversions.take_output_problems();
        if !said.is_empty() {
            Arc::make_mut(&mut self.status.problems).merge(said);
        }
        let (window, data_now) =
            (ServiceWindow::from_timetable(&dataset.timetable), self.data_now());
        self.rules.ended = window.and_then(|it| it.service_end(data_now));
        self.status.update_state(now, data_now, &self.rules);
        let record = FeedRecord::from_status(&self.status);
        let (reply, done) = oneshot::channel();
        let input = NetworkInput::Dataset { number: self.number, dataset, record, now, reply };
        if self.send_to_network(input).await.is_err() || done.await.is_err() {
            return Err(decoder_crash_failure());
        }
        Ok(())
    }

    /// The schedule that was loaded from these bytes. If it is refused, the bytes are left to whoever reports on them.
    fn accept_schedule(
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

    /// Whether this version of the schedule has no trip and the one that is served has some. Producers that export an
    /// empty database publish such files; no board is to go blank because of that.
    fn is_suddenly_empty(&self, dataset: &Dataset) -> bool {
        let served = self.feed.network().timetable().filter(|_| !self.anew);
        dataset.timetable.trips().len() == 0 && served.is_some_and(|it| it.trips().len() > 0)
    }

    pub(super) async fn accept_message(
        &mut self,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<(), FetchError> {
        let network = self.feed.network();
        let began = network.stage_start();
        let decoding = decode_message(body, self.feed.config().max_bytes);
        let decoded = stage::run_in_stage(PollStage::Decode.thread_stage(), decoding).await;
        network.record_stage(PollStage::Decode, began);
        let (message, problems) = decoded?;
        self.accept_entities(message, problems, Format::GtfsRt, now).await
    }

    /// Brings the network what a message of this format says.
    pub(super) async fn accept_entities(
        &mut self,
        message: ShallowMessage,
        mut problems: Problems,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), FetchError> {
        problems.merge(self.conversions.take_output_problems());
        // From here on the message is good; its judge sees the status that it brings about.
        self.clear_other_format(format, now).await?;
        let before = (self.status.clone(), self.expired);
        self.record_success();
        self.status.format = Some(format);
        let timestamp = message.header.timestamp.filter(|seconds| *seconds > 0);
        let possible = timestamp.filter(|seconds| *seconds <= TIMESTAMP_MAX);
        self.status.has_impossible_time = timestamp != possible;
        self.status.data_time = nonzero_seconds(possible).map(UnixMillis::from_seconds);
        let under_way = self.count_active_trips().await;
        self.health.record_message(&message, under_way, now);
        self.rules.expectation = self.health.expected_content(under_way, now);
        let has_alerts =
            || message.entities.iter().any(|it| it.payload.contains(EntityPayloads::ALERT));
        let is_of_alerts = self.status.tells_of_alerts_only || has_alerts();
        self.status.tells_of_alerts_only = is_of_alerts && !self.rules.expectation.tells_of_trips;
        let (reply, judged) = oneshot::channel();
        let input = NetworkInput::Message {
            number: self.number,
            message: Box::new(message),
            problems,
            status: Box::new(self.status.clone()),
            rules: self.rules,
            now,
            data_now: self.data_now(),
            reply,
        };
        if self.send_to_network(input).await.is_err() {
            return Err(decoder_crash_failure());
        }
        match judged.await.map_err(|_| decoder_crash_failure())? {
            Ok(status) => self.status = status,
            Err(failure) => {
                (self.status, self.expired) = before;
                return Err(failure);
            }
        }
        Ok(())
    }
}

/// The hash of a body, counted where it blocks nobody if it is large.
pub(super) async fn hash_body(bytes: &Bytes) -> u128 {
    if bytes.len() < HASHED_AT_ONCE_MAX {
        return Snapshot::hash_bytes(bytes);
    }
    let shared = bytes.clone();
    let hashed = tokio::task::spawn_blocking(move || Snapshot::hash_bytes(&shared)).await;
    hashed.unwrap_or_else(|_| Snapshot::hash_bytes(bytes))
}
