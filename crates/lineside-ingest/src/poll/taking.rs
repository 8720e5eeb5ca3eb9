//! What a source answered is taken in: what it is, whether it is new, what it says.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{
    Format, Problem, Problems, gbfs,
    gtfs_rt::{Payload, Shallow},
    looks_like_html, sniff,
};
use lineside_sync::{UnixMillis, stage};
use tokio::sync::oneshot;

use super::{Poller, broken, decoding::decode, passing::Passing, system::System};
use crate::{
    dataset::Dataset,
    feed::Refused,
    fetch::{Body, Failure, FailureCode},
    limits::HASHED_AT_ONCE_MAX,
    load_budget::estimate_load_bytes,
    network::Input,
    normalize::seconds,
    record::FeedRecord,
    service_window::ServiceWindow,
    snapshot::{Snapshot, default_file_name, media_type},
    stages::Stage,
};

/// Why a schedule without trips is refused.
const NO_ROWS: &str = "the new version has no trips: its tables have no rows";
/// The last second of the year 9999: no calendar here has later times.
const TIMESTAMP_MAX: u64 = 253_402_300_799;

impl Poller {
    /// Takes an answer without a body. Of real time that is no failure: some producers say so that no vehicle is out. Whether
    /// it is to be so is judged like any other message with nothing in it; what is held stays as it is.
    pub(super) fn take_nothing(&mut self, status: u16) -> Result<&'static str, Failure> {
        let known = self.status.format.filter(|_| !self.anew);
        if !self.feed.config().promised().or(known).is_some_and(Format::is_real_time) {
            let failure = Failure::new(FailureCode::Empty, "the answer has nothing in its body");
            return Err(failure.of_reply(Some(status), 0, None));
        }
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
        let now = self.clock.wall();
        self.status.nothing_since.get_or_insert(now);
        Ok("nothing")
    }

    /// Takes a body: what it is, whether it is new, what it says.
    pub(super) async fn take(&mut self, body: Body) -> Result<&'static str, Failure> {
        self.status.bytes += body.bytes.len() as u64;
        self.take_in(body).await
    }

    /// The same of one that is not counted: it came from here.
    pub(super) async fn take_in(&mut self, body: Body) -> Result<&'static str, Failure> {
        let format = self.format_of(&body.bytes)?;
        let hash = hash_of(&body.bytes).await;
        let known = self.feed.snapshot();
        let is_known = |known: &Arc<Snapshot>| known.hash == hash && known.format == format;
        let is_old_news = !self.expired && !self.wants_all();
        let is_taken_in = is_old_news && self.system.as_ref().is_none_or(System::is_following);
        if known.as_ref().is_some_and(is_known) && is_taken_in {
            self.anew = false;
            self.confirm();
            return Ok("same");
        }
        let now = self.clock.wall();
        let mut passing = None;
        match format {
            Format::Gtfs | Format::Netex => {
                self.take_schedule(body.bytes.clone(), format, now).await?;
            }
            Format::GtfsRt => {
                self.take_message(body.bytes.clone(), now).await?;
                passing = Some(Passing::GtfsRt(body.bytes.clone()));
            }
            Format::Siri => passing = self.take_siri(body.bytes.clone(), now).await?,
            Format::Gbfs => self.take_gbfs(&body.bytes).await?,
            Format::Raw => {
                self.make_way(format, now).await?;
                self.succeed();
                self.status.entities = 0;
                // It was something else before, which gave itself a time and may have had faults.
                self.status.data_time = None;
                self.status.has_impossible_time = false;
                self.status.problems = Arc::new(self.doubt_raw(&body.bytes));
            }
        }
        self.keep(body, format, hash, now).await;
        self.inspect(passing, now).await;
        Ok("new")
    }

    /// Has a body that was taken in kept and given out as it came.
    pub(super) async fn keep(&mut self, body: Body, format: Format, hash: u128, now: UnixMillis) {
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
        self.keep_and_serve(snapshot, now).await;
    }

    /// What may be wrong about bytes that are served as they are: nothing where the operator wants them so. The content of a
    /// GBFS system alone does not tell it, so its format has to be configured.
    fn doubt_raw(&self, bytes: &[u8]) -> Problems {
        let mut problems = Problems::new();
        let is_promised = self.feed.config().promised() == Some(Format::Raw);
        let system = gbfs::decode(bytes, &gbfs::Limits::default()).ok().filter(|_| !is_promised);
        if system.is_some_and(|(discovery, _)| !discovery.entries.is_empty()) {
            let detail = "this is the discovery file of a GBFS system: set format = \"gbfs\" to read its files";
            problems.push(Problem::new("gbfs.json", "looks_like_gbfs", detail));
        }
        problems
    }

    /// What the bytes are, unless they are not what they have to be.
    fn format_of(&self, bytes: &Bytes) -> Result<Format, Failure> {
        if bytes.is_empty() {
            return Err(Failure::new(FailureCode::Empty, "the body is empty"));
        }
        let promised = self.feed.config().promised();
        if promised != Some(Format::Raw) && looks_like_html(bytes) {
            return Err(Failure::new(FailureCode::Html, "a web page came instead of data"));
        }
        if let Some(format) = promised {
            return Ok(format);
        }
        let Some(format) = sniff(bytes) else {
            return Err(Failure::new(FailureCode::Empty, "the body has nothing in it"));
        };
        match self.status.format {
            // Once its format is known, the decoder says what is wrong with bytes that no longer look like it. Raw is only what
            // was not recognised: the answer before may have been an error message.
            Some(known) if !self.anew && known != Format::Raw => Ok(known),
            _ => Ok(format),
        }
    }

    pub(super) async fn take_schedule(
        &mut self,
        bytes: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), Failure> {
        if self.number != 0 {
            let owner = self.feed.network().id().clone();
            let detail = format!("a schedule came, but the feed belongs to the schedule {owner}");
            return Err(Failure::new(FailureCode::Decode, detail));
        }
        let id = self.feed.id().clone();
        let body = bytes.clone();
        let estimate = tokio::task::spawn_blocking(move || estimate_load_bytes(&body)).await;
        let permit = self.loads.admit(estimate.map_err(|_| broken())?).await;
        let network = self.feed.network();
        let began = network.begin();
        let came = bytes.clone();
        let limits = Arc::clone(&self.load_limits);
        let load = tokio::task::spawn_blocking(move || {
            let _at = stage::enter(Stage::Decode.work());
            Dataset::load_as(id, bytes, format, now, &limits)
        })
        .await;
        network.finish(Stage::Decode, began);
        let dataset = self.accept_schedule(load.map_err(|_| broken())?, came, now)?;
        drop(permit);
        self.make_way(format, now).await?;
        self.succeed();
        self.status.format = Some(format);
        self.status.data_time = None;
        self.status.has_impossible_time = false;
        self.status.entities = dataset.timetable.trips().len() as u64;
        self.status.problems = Arc::clone(&dataset.problems);
        let said = self.conversions.take_said();
        if !said.is_empty() {
            Arc::make_mut(&mut self.status.problems).merge(said);
        }
        let (window, data_now) =
            (ServiceWindow::from_timetable(&dataset.timetable), self.data_now());
        self.rules.ended = window.and_then(|it| it.ended(data_now));
        self.status.judge(now, data_now, &self.rules);
        let record = FeedRecord::of(&self.status);
        let (reply, done) = oneshot::channel();
        let input = Input::Dataset { number: self.number, dataset, record, now, reply };
        if self.send(input).await.is_err() || done.await.is_err() {
            return Err(broken());
        }
        Ok(())
    }

    /// The schedule that was loaded from these bytes. If it is refused, the bytes are left to whoever reports on them.
    fn accept_schedule(
        &self,
        loaded: Result<Dataset, lineside_formats::Error>,
        bytes: Bytes,
        now: UnixMillis,
    ) -> Result<Arc<Dataset>, Failure> {
        let (failure, reason) = match loaded {
            Ok(dataset) if self.is_emptied(&dataset) => {
                (Failure::new(FailureCode::NoRows, NO_ROWS), NO_ROWS.to_owned())
            }
            Ok(dataset) => {
                self.feed.set_refused(None);
                return Ok(Arc::new(dataset));
            }
            Err(error) => (Failure::refused(&error), error.to_string()),
        };
        self.feed.set_refused(Some(Refused { bytes, at: now, reason }));
        Err(failure)
    }

    /// Whether this version of the schedule has no trip and the one that is served has some. Producers that export an
    /// empty database publish such files; no board is to go blank because of that.
    fn is_emptied(&self, dataset: &Dataset) -> bool {
        let served = self.feed.network().timetable().filter(|_| !self.anew);
        dataset.timetable.trips().len() == 0 && served.is_some_and(|it| it.trips().len() > 0)
    }

    pub(super) async fn take_message(
        &mut self,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<(), Failure> {
        let network = self.feed.network();
        let began = network.begin();
        let decoding = decode(body, self.feed.config().max_bytes);
        let decoded = stage::within(Stage::Decode.work(), decoding).await;
        network.finish(Stage::Decode, began);
        let (message, problems) = decoded?;
        self.take_entities(message, problems, Format::GtfsRt, now).await
    }

    /// Brings the network what a message of this format says.
    pub(super) async fn take_entities(
        &mut self,
        message: Shallow,
        mut problems: Problems,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), Failure> {
        problems.merge(self.conversions.take_said());
        // From here on the message is good; its judge sees the status that it brings about.
        self.make_way(format, now).await?;
        let before = (self.status.clone(), self.expired);
        self.succeed();
        self.status.format = Some(format);
        let timestamp = message.header.timestamp.filter(|seconds| *seconds > 0);
        let possible = timestamp.filter(|seconds| *seconds <= TIMESTAMP_MAX);
        self.status.has_impossible_time = timestamp != possible;
        self.status.data_time = seconds(possible).map(UnixMillis::from_seconds);
        let under_way = self.under_way().await;
        self.health.heard(&message, under_way, now);
        self.rules.expectation = self.health.expectation(under_way, now);
        let has_alerts = || message.entities.iter().any(|it| it.payload.contains(Payload::ALERT));
        let is_of_alerts = self.status.tells_of_alerts_only || has_alerts();
        self.status.tells_of_alerts_only = is_of_alerts && !self.rules.expectation.tells_of_trips;
        let (reply, judged) = oneshot::channel();
        let input = Input::Message {
            number: self.number,
            message: Box::new(message),
            problems,
            status: Box::new(self.status.clone()),
            rules: self.rules,
            now,
            data_now: self.data_now(),
            reply,
        };
        if self.send(input).await.is_err() {
            return Err(broken());
        }
        match judged.await.map_err(|_| broken())? {
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
pub(super) async fn hash_of(bytes: &Bytes) -> u128 {
    if bytes.len() < HASHED_AT_ONCE_MAX {
        return Snapshot::hash_of(bytes);
    }
    let shared = bytes.clone();
    let hashed = tokio::task::spawn_blocking(move || Snapshot::hash_of(&shared)).await;
    hashed.unwrap_or_else(|_| Snapshot::hash_of(bytes))
}
