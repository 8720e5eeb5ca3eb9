//! SIRI in a feed's task: the requests to a producer, and the entities accumulated from its answers.
//!
//! An answer may be one page of several, or contain only changes. The network always gets all current entities, as from
//! a GTFS-Realtime message, so later stages know nothing of pages.

mod entity_store;
mod error_bodies;
mod requests;
mod subscription;

use std::time::Duration;

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    Format, Problem, Problems,
    gtfs::Timetable,
    gtfs_rt::{RawEntity, ShallowMessage},
    siri::{self, MessageLimits, SiriMessage},
};
use lineside_sync::{UnixMillis, stage};
use smol_str::SmolStr;

use self::{
    entity_store::{EntityStore, PutOutcome},
    subscription::{ProducerNotification, SiriSubscription},
};
pub(super) use self::{
    error_bodies::error_body_reader, requests::SiriRequests, subscription::PendingTermination,
};
use super::{FeedPoller, decoder_crash_failure, observe::UnobservedMessage};
use crate::{
    feed_config::FeedConfig,
    fetch::SourceRequest,
    fetch_failure::{FailureCode, FetchError},
    inbox::FeedInbox,
    message_observer::SiriPart,
    normalize::{NormalizedMessage, SiriEntity, SiriRules, normalize_siri, siri_header},
    poll_schedule::PollSchedule,
    poll_stages::PollStage,
    source::SiriService,
};

/// Maximum number of pages of one answer that are requested without the feed's interval between them.
const PAGES_MAX: u32 = 200;

/// Maximum number of reported refusals per answer.
const REFUSALS_MAX: usize = 1_000;

/// Minimum time between a page and the request for the next one.
const PAGE_GAP: Duration = Duration::from_secs(1);
/// Time for which a producer is trusted to remember its last answer.
const MEMORY_MAX: Duration = Duration::from_secs(10 * 60);

/// The state of a SIRI producer across answers.
#[derive(Debug)]
pub(super) struct SiriState {
    entities: EntityStore,
    pub(super) requests: SiriRequests,
    subscription: SiriSubscription,
    /// The number of pages received of an answer with more pages.
    pages: u32,
    /// True if the last answer had more pages than are requested.
    is_cut_off: bool,
    /// True if the next answer, other than a delivery, must contain all data, where answers contain changes.
    is_full_answer_due: bool,
    /// True if the network has received all data since the last reset.
    is_whole: bool,
    /// The time of the first delivery of a subscription since the last reset, on the monotonic clock.
    began_at: Option<Duration>,
    /// True if parts of the data are sent to the network as they arrive, because it had none before.
    is_sending_parts: bool,
    /// The time of the producer's last answer, on the monotonic clock.
    answered_at: Option<Duration>,
    /// The version of the schedule with which the last answer was read, if there was an answer.
    read_with: Option<Option<SmolStr>>,
}

impl SiriState {
    pub(super) fn new(seed: u64) -> SiriState {
        SiriState {
            entities: EntityStore::default(),
            requests: SiriRequests::new(seed),
            subscription: SiriSubscription::default(),
            pages: 0,
            is_cut_off: false,
            is_full_answer_due: true,
            is_whole: false,
            began_at: None,
            is_sending_parts: false,
            answered_at: None,
            read_with: None,
        }
    }

    /// Forgets everything: the next content is of another source, or uses other ids.
    pub(super) fn clear(&mut self) {
        self.entities.clear();
        self.is_cut_off = false;
        self.is_whole = false;
        self.began_at = None;
        self.is_sending_parts = false;
        self.request_full_state();
    }

    /// Returns true if the entities are a part of the first answer: entities on the pages to come must not be removed.
    fn is_gathering_pages(&self) -> bool {
        self.pages > 0 && !self.is_whole
    }

    /// Records a page. After the last one, entities that were not repeated are removed, provided that the answer
    /// contained all data.
    fn advance_page(&mut self, has_next: bool, answers_changes: bool) {
        if has_next && self.pages < PAGES_MAX {
            self.pages += 1;
            return;
        }
        self.pages = 0;
        self.is_cut_off = has_next;
        if !answers_changes || (self.is_full_answer_due && !has_next) {
            self.is_full_answer_due = false;
            self.entities.remove_unseen();
        }
    }

    /// Returns problems that persist across messages.
    fn problems(&self) -> Problems {
        let mut problems = self.subscription.problems();
        if self.is_cut_off {
            let detail = "the producer has more than 200 pages; the other pages are not requested";
            problems.push(Problem::new("delivery", "too_many_pages", detail));
        }
        problems
    }

    /// Requests all data from the producer. The current data stay until they have arrived.
    pub(super) fn request_full_state(&mut self) {
        self.pages = 0;
        self.is_full_answer_due = true;
        self.subscription = SiriSubscription::default();
        self.requests.request_full_state();
        self.entities.begin_full_refresh();
    }
}

/// A decoded answer.
struct DecodedAnswer {
    /// The decoded message, for the observer.
    message: Option<Box<SiriMessage>>,
    entities: Vec<(SiriEntity, RawEntity)>,
    normalized: NormalizedMessage,
    problems: Problems,
    has_more: bool,
}

/// A message from the producer.
enum ProducerMessage {
    /// Data.
    Answer(Box<DecodedAnswer>),
    /// An event of the subscription.
    Event(ProducerNotification),
}

/// The reason why a message was not accepted.
enum SiriReadError {
    /// The producer refuses, with this unredacted text.
    Refused(String),
    Failed(FetchError),
}

impl From<FetchError> for SiriReadError {
    fn from(failure: FetchError) -> SiriReadError {
        SiriReadError::Failed(failure)
    }
}

impl FeedPoller {
    /// Returns the next request, if the feed is not a subscription.
    pub(super) fn next_siri_request(&mut self) -> SourceRequest {
        if self.has_other_schedule() {
            self.siri.request_full_state();
            self.fetcher.forget_version();
        }
        if self.answers_changes() {
            let now = self.clock.monotonic();
            let is_forgotten = |at: Duration| now.saturating_sub(at) > MEMORY_MAX;
            if self.siri.answered_at.take_if(|at| is_forgotten(*at)).is_some() {
                self.siri.request_full_state();
            }
            if self.siri.is_full_answer_due {
                self.fetcher.forget_version();
            }
        }
        if self.siri.is_gathering_pages() {
            self.fetcher.forget_version();
        }
        self.siri.requests.next_request(self.feed.config(), self.clock.wall_time())
    }

    pub(super) fn answers_changes(&self) -> bool {
        self.feed.config().siri.as_ref().is_some_and(|siri| siri.answers_changes())
    }

    /// Returns true if an answer must be applied even if it equals the one before.
    pub(super) fn wants_full_answer(&self) -> bool {
        (self.siri.is_full_answer_due && self.answers_changes())
            || self.siri.is_gathering_pages()
            || self.has_other_schedule()
    }

    /// Returns true if the current entities were made with another schedule than the present one.
    fn has_other_schedule(&self) -> bool {
        self.siri.read_with.as_ref().is_some_and(|read_with| *read_with != self.schedule_version())
    }

    fn schedule_version(&self) -> Option<SmolStr> {
        self.feed.network().dataset().map(|dataset| dataset.version.clone())
    }

    /// Records an answer. An answer without news has no next page.
    pub(super) async fn record_siri_answer(&mut self, is_new: bool) {
        self.siri.answered_at = Some(self.clock.monotonic());
        if is_new {
            return;
        }
        let is_gathering = self.siri.is_gathering_pages();
        self.siri.pages = 0;
        if is_gathering {
            // A producer that announced more data but has none has sent all.
            self.siri.is_whole = true;
            self.resend_entities().await;
        }
    }

    /// Records a failed request: the producer may believe that data were received which were lost.
    pub(super) fn record_siri_failure(&mut self) {
        self.record_supply_failure();
        if self.answers_changes() && !self.is_subscribing() {
            self.siri.request_full_state();
        }
    }

    /// Returns the time until the request for the next page; `None` if there is none.
    pub(super) fn next_page_wait(&mut self) -> Option<Duration> {
        if self.siri.pages == 0 || self.status.failures_in_a_row > 0 {
            return None;
        }
        let schedule = PollSchedule {
            interval: PAGE_GAP,
            ttl: Duration::ZERO,
            failures_in_a_row: 0,
            advice: self.fetcher.last_advice(),
        };
        Some(schedule.next_wait(&mut self.rng).max(PAGE_GAP))
    }

    /// Accepts a SIRI answer.
    pub(super) async fn accept_siri(
        &mut self,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<Option<UnobservedMessage>, FetchError> {
        let schedule = self.schedule_version();
        let siri_message = self.read_siri_body(body).await?;
        self.siri.read_with = Some(schedule);
        match siri_message {
            ProducerMessage::Answer(answer) => self.accept_answer(*answer, now).await,
            ProducerMessage::Event(_) => Err(missing_delivery()),
        }
    }

    /// Decodes a restored message for the observer, unless it is one page of several.
    pub(super) async fn decode_restored_siri(&self, body: Bytes) -> Option<UnobservedMessage> {
        let (zone, config) = (self.default_time_zone(), self.feed.shared_config().clone());
        let decoding = tokio::task::spawn_blocking(move || decode_siri(&body, &zone, &config));
        let (message, _) = decoding.await.ok()?.ok()?;
        let is_whole = !message.has_more_data();
        is_whole.then(|| UnobservedMessage::Siri(Box::new(message), SiriPart::Whole))
    }

    /// Decodes a message on a blocking thread.
    async fn read_siri_body(&self, body: Bytes) -> Result<ProducerMessage, FetchError> {
        let config = self.feed.shared_config().clone();
        let network = self.feed.network();
        let zone = self.default_time_zone();
        let dataset = network.dataset();
        let began = network.stage_start();
        let is_inspected = self.has_observer();
        let inbox_key = self.feed.inbox().map(|inbox| inbox.key().clone());
        let decoding = tokio::task::spawn_blocking(move || {
            let _at = stage::enter_stage(PollStage::Decode.thread_stage());
            if inbox_key.is_some_and(|key| key.occurs_in(&body)) {
                return Err(inbox_key_leaked().into());
            }
            let mut siri_message = read_producer_message(
                &body,
                &zone,
                &config,
                dataset.as_ref().map(|it| &*it.timetable),
            );
            if let Ok(ProducerMessage::Answer(answer)) = &mut siri_message {
                answer.message.take_if(|_| !is_inspected);
            }
            siri_message
        });
        let read = decoding.await;
        network.record_stage(PollStage::Decode, began);
        // The producer's text may echo the request.
        let shown = |producer_text: &str| self.redact_producer_text(producer_text);
        let mut siri_message = read
            .unwrap_or_else(|_| Err(decoder_crash_failure().into()))
            .map_err(|not| match not {
                SiriReadError::Failed(failure) => failure,
                SiriReadError::Refused(producer_text) => {
                    let detail =
                        format!("the producer refused the request: {}", shown(&producer_text));
                    FetchError::new(FailureCode::Refused, detail)
                }
            })?;
        if let ProducerMessage::Answer(answer) = &mut siri_message {
            let refusals = std::mem::take(&mut answer.normalized.refusals);
            for refusal in refusals.iter().take(REFUSALS_MAX) {
                let detail = "the producer refused this delivery";
                let problem = Problem::new("delivery", "delivery_refused", detail);
                answer.normalized.problems.push(problem.with_value(&shown(refusal)));
            }
        }
        Ok(siri_message)
    }

    /// Returns a producer's text with secrets redacted, always including the key of the feed's inbox, which the
    /// producer knows.
    fn redact_producer_text(&self, producer_text: &str) -> String {
        let inbox = self.feed.inbox();
        self.fetcher.redact_head(producer_text.as_bytes(), inbox.as_deref().map(FeedInbox::key))
    }

    /// Returns the time zone of times without one.
    fn default_time_zone(&self) -> TimeZone {
        let dataset = self.feed.network().dataset();
        dataset.map_or(TimeZone::UTC, |dataset| dataset.timetable.timezone().clone())
    }

    async fn accept_answer(
        &mut self,
        mut answer: DecodedAnswer,
        now: UnixMillis,
    ) -> Result<Option<UnobservedMessage>, FetchError> {
        let as_sent = answer.message.take();
        let (message, problems) = self.merge_answer(answer, now);
        let mut is_part = self.siri.is_gathering_pages();
        if !is_part {
            self.status.is_beginning = self.is_initial_load();
            if self.status.is_beginning && !self.siri.is_sending_parts {
                is_part = self.status.entities > 0;
                self.siri.is_sending_parts = !is_part;
            }
        }
        if is_part {
            self.accept_partial_answer(now).await?;
        } else {
            self.siri.is_whole = !self.status.is_beginning;
            self.accept_entities(message, problems, Format::Siri, now).await?;
        }
        let part = match self.siri.pages {
            _ if self.answers_changes() => SiriPart::Changes,
            0 => SiriPart::Whole,
            _ => SiriPart::Page,
        };
        Ok(as_sent.map(|message| UnobservedMessage::Siri(message, part)))
    }

    /// Records a part of the first answer. It is held back: published alone, it would say that nothing else runs and
    /// that restored data are over.
    async fn accept_partial_answer(&mut self, now: UnixMillis) -> Result<(), FetchError> {
        self.clear_other_format(Format::Siri, now).await?;
        self.clear_trouble();
        self.status.empty_since = None;
        self.status.format = Some(Format::Siri);
        self.status.is_gathering = self.status.entities == 0;
        Ok(())
    }

    /// Sends all current entities to the network again with the present as their time, since a confirmation without
    /// news is news, too. Does nothing while they are an incomplete part.
    async fn resend_entities(&mut self) {
        if !self.siri.is_whole && !self.siri.is_sending_parts {
            return;
        }
        let now = self.clock.wall_time();
        self.siri.entities.remove_expired(now.unix_seconds());
        let header = siri_header(Some(now.unix_seconds()));
        let message = ShallowMessage { header, entities: self.siri.entities.list_raw_entities() };
        let problems = self.siri.problems();
        // An ended network needs no update.
        let _ = self.accept_entities(message, problems, Format::Siri, now).await;
    }

    /// Merges an answer into the entities and returns all of them as a message.
    fn merge_answer(
        &mut self,
        answer: DecodedAnswer,
        now: UnixMillis,
    ) -> (ShallowMessage, Problems) {
        let DecodedAnswer { entities, normalized, mut problems, has_more, .. } = answer;
        let (changes, delivered) = (self.answers_changes(), self.is_subscribing());
        problems.merge(normalized.problems);
        let siri = &mut self.siri;
        if siri.pages == 0 {
            if !changes {
                siri.entities.begin_full_refresh();
            }
            siri.entities.begin_answer();
        }
        let made_at = normalized.made_at.unwrap_or(now.unix_seconds());
        let mut has_new = !normalized.cancelled.is_empty();
        for (entity, raw) in entities {
            let until = entity.expires_at(made_at);
            match siri.entities.put_entity(entity, raw, until) {
                PutOutcome::New => has_new = true,
                PutOutcome::Repeated => {}
                PutOutcome::Full => {
                    let detail = "the feed has reached its maximum size; this entity is dropped";
                    problems.push(Problem::new("entity", "too_many_records", detail));
                }
            }
        }
        for cancelled in &normalized.cancelled {
            siri.entities.apply_cancellation(cancelled);
        }
        if delivered {
            siri.subscription.record_delivery(self.clock.monotonic());
        } else {
            // A producer that repeats a page has no further one.
            siri.advance_page(has_more && has_new, changes);
        }
        problems.merge(siri.problems());
        if changes {
            siri.entities.remove_expired(now.unix_seconds());
        }
        let message = ShallowMessage {
            header: siri_header(Some(made_at)),
            entities: siri.entities.list_raw_entities(),
        };
        (message, problems)
    }
}

fn read_producer_message(
    body: &[u8],
    zone: &TimeZone,
    config: &FeedConfig,
    timetable: Option<&Timetable>,
) -> Result<ProducerMessage, SiriReadError> {
    let source = config.siri.clone().unwrap_or_default();
    let (message, problems) = decode_siri(body, zone, config)?;
    if message.deliveries().next().is_none()
        && let Some(event) = ProducerNotification::from_message(
            &message,
            &subscription::subscription_names(config, &source),
        )
    {
        return Ok(ProducerMessage::Event(event));
    }
    let has_timetables = source.services.contains(&SiriService::Timetables)
        // If answers contain changes, vehicles arrive independently of timetables.
        && (source.answers_changes()
            || message.deliveries().any(|it| !it.estimated_timetables.is_empty()));
    let rules = SiriRules { ids: &source.ids, has_vehicle_delays: !has_timetables, zone };
    let mut normalized = normalize_siri(&message, rules);
    if normalized.is_refused() {
        return Err(SiriReadError::Refused(normalized.refusals.join("; ")));
    }
    if message.deliveries().next().is_none() {
        return Err(missing_delivery().into());
    }
    normalized.keep_last_duplicates();
    if let Some(timetable) = timetable {
        normalized.apply_schedule(timetable);
    }
    let entities = std::mem::take(&mut normalized.entities);
    let encoded = entities.into_iter().map(|it| {
        let raw = RawEntity::from_entity(&it.entity, 0);
        (it, raw)
    });
    let (entities, has_more) = (encoded.collect(), message.has_more_data());
    let message = Some(Box::new(message));
    Ok(ProducerMessage::Answer(Box::new(DecodedAnswer {
        message,
        entities,
        normalized,
        problems,
        has_more,
    })))
}

/// Decodes a message, which may be as large as the feed's bodies.
fn decode_siri(
    body: &[u8],
    zone: &TimeZone,
    config: &FeedConfig,
) -> Result<(SiriMessage, Problems), FetchError> {
    let body_bytes = usize::try_from(config.max_bytes).unwrap_or(usize::MAX);
    let defaults = MessageLimits::default();
    let limits = MessageLimits { body_bytes: defaults.body_bytes.min(body_bytes), ..defaults };
    siri::decode_message(body, zone, &limits)
        .map_err(|error| FetchError::from_decoder_error(&error))
}

/// Returns the failure of a message that contains the key of the feed's inbox: published, it would let anyone deliver
/// to the inbox.
fn inbox_key_leaked() -> FetchError {
    let detail = "the message contains the URL of the feed's inbox, which is secret";
    FetchError::new(FailureCode::Refused, detail)
}

fn missing_delivery() -> FetchError {
    FetchError::new(FailureCode::Decode, "the response is SIRI, but not a ServiceDelivery")
}
