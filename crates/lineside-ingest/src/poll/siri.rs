//! SIRI as a feed's task takes it: what a producer is asked, and what of its answers is held.
//!
//! An answer may be one page of several, or only what changed since the one before. What the network is brought is in any
//! case all that holds now, as if a message of GTFS-Realtime had said it; so the rest of the way knows nothing of pages.

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
    subscription::{SiriSubscription, SubscriptionEvent},
};
pub(super) use self::{
    error_bodies::error_body_reader, requests::SiriRequests, subscription::PendingTermination,
};
use super::{FeedPoller, decoder_crash_failure, observe::PendingObservation};
use crate::{
    config::FeedConfig,
    fetch::{FailureCode, FetchError, SourceRequest},
    inbox::FeedInbox,
    message_observer::SiriPart,
    normalize::{NormalizedMessage, SiriEntity, SiriRules, normalize_siri, siri_header},
    poll_schedule::PollSchedule,
    poll_stages::PollStage,
    source::SiriService,
};

/// Most pages of one answer that are asked for one after the other, without the feed's interval between them.
const PAGES_MAX: u32 = 200;

/// Most refusals of one answer that are told.
const REFUSALS_MAX: usize = 1_000;

/// How long after a page the next one is asked for at the soonest.
const PAGE_GAP: Duration = Duration::from_secs(1);
/// For how long a producer is trusted to remember what it has answered.
const MEMORY_MAX: Duration = Duration::from_secs(10 * 60);

/// What is known of a producer of SIRI from one answer to the next.
#[derive(Debug)]
pub(super) struct SiriState {
    held: EntityStore,
    pub(super) questions: SiriRequests,
    subscription: SiriSubscription,
    /// How many pages of the present answer have come, if there are more.
    pages: u32,
    /// Whether the last answer had more pages than are asked for.
    is_cut_off: bool,
    /// Whether the next answer that is not a delivery is to hold all that there is, where answers hold changes.
    wants_all: bool,
    /// Whether the network was told of all that there is since nothing was known.
    is_whole: bool,
    /// When the first delivery of a subscription came, on the monotonic clock, since nothing was known.
    began_at: Option<Duration>,
    /// Whether the network is told of the parts of what there is as they come: it knew nothing before.
    tells_parts: bool,
    /// When the producer last answered, on the monotonic clock.
    answered_at: Option<Duration>,
    /// With which version of the schedule its last answer was read, if there was an answer.
    read_with: Option<Option<SmolStr>>,
}

impl SiriState {
    pub(super) fn new(seed: u64) -> SiriState {
        SiriState {
            held: EntityStore::default(),
            questions: SiriRequests::new(seed),
            subscription: SiriSubscription::default(),
            pages: 0,
            is_cut_off: false,
            wants_all: true,
            is_whole: false,
            began_at: None,
            tells_parts: false,
            answered_at: None,
            read_with: None,
        }
    }

    /// Knows nothing any more: what comes next is of another source, or goes by other ids.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.is_cut_off = false;
        self.is_whole = false;
        self.began_at = None;
        self.tells_parts = false;
        self.request_full_state();
    }

    /// Whether what is held is a part of the first answer: what is not in it may be in the pages to come, and is not gone.
    fn is_gathering_pages(&self) -> bool {
        self.pages > 0 && !self.is_whole
    }

    /// A page has come, and the producer says whether it has another one. Whether what it has not told by the last one is
    /// gone, depends on whether answers hold changes: the rest of these comes with the next answer.
    fn advance_page(&mut self, has_next: bool, answers_changes: bool) {
        if has_next && self.pages < PAGES_MAX {
            self.pages += 1;
            return;
        }
        self.pages = 0;
        self.is_cut_off = has_next;
        if !answers_changes || (self.wants_all && !has_next) {
            self.wants_all = false;
            self.held.remove_unseen();
        }
    }

    /// What is not as it should be, whatever the last message said.
    fn problems(&self) -> Problems {
        let mut problems = self.subscription.problems();
        if self.is_cut_off {
            let detail = "after 200 pages the producer still has more, for which it is not asked";
            problems.push(Problem::new("delivery", "too_many_pages", detail));
        }
        problems
    }

    /// The producer is to say all that there is. What is known stays until it has.
    pub(super) fn request_full_state(&mut self) {
        self.pages = 0;
        self.wants_all = true;
        self.subscription = SiriSubscription::default();
        self.questions.request_full_state();
        self.held.begin_full_refresh();
    }
}

/// What an answer says, ready to be held.
struct DecodedAnswer {
    /// As it was decoded, for whoever looks at it.
    message: Option<Box<SiriMessage>>,
    entities: Vec<(SiriEntity, RawEntity)>,
    normalized: NormalizedMessage,
    problems: Problems,
    has_more: bool,
}

/// What a producer says.
enum ProducerMessage {
    /// News.
    Answer(Box<DecodedAnswer>),
    /// Something of the subscription.
    Word(SubscriptionEvent),
}

/// Why what a producer says is not taken.
enum SiriReadError {
    /// It refuses, with these words, in which nothing is hidden.
    Refused(String),
    Failed(FetchError),
}

impl From<FetchError> for SiriReadError {
    fn from(failure: FetchError) -> SiriReadError {
        SiriReadError::Failed(failure)
    }
}

impl FeedPoller {
    /// What is asked now, where nothing is subscribed to.
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
            if self.siri.wants_all {
                self.fetcher.forget_version();
            }
        }
        if self.siri.is_gathering_pages() {
            self.fetcher.forget_version();
        }
        self.siri.questions.next_request(self.feed.config(), self.clock.wall_time())
    }

    pub(super) fn answers_changes(&self) -> bool {
        self.feed.config().siri.as_ref().is_some_and(|siri| siri.answers_changes())
    }

    /// Whether an answer is taken in even if it says what the one before said.
    pub(super) fn wants_full_answer(&self) -> bool {
        (self.siri.wants_all && self.answers_changes())
            || self.siri.is_gathering_pages()
            || self.has_other_schedule()
    }

    /// Whether what is known took zone and planned calls from a schedule that is not the present one.
    fn has_other_schedule(&self) -> bool {
        self.siri.read_with.as_ref().is_some_and(|read_with| *read_with != self.schedule_version())
    }

    fn schedule_version(&self) -> Option<SmolStr> {
        self.feed.network().dataset().map(|dataset| dataset.version.clone())
    }

    /// The source has answered. An answer without news has no next page.
    pub(super) async fn record_siri_answer(&mut self, is_new: bool) {
        self.siri.answered_at = Some(self.clock.monotonic());
        if is_new {
            return;
        }
        let is_gathering = self.siri.is_gathering_pages();
        self.siri.pages = 0;
        if is_gathering {
            // Who promised more and has nothing has told all.
            self.siri.is_whole = true;
            self.resend_entities().await;
        }
    }

    /// There was no answer, or none that could be used: what the producer takes for told may not have come.
    pub(super) fn record_siri_failure(&mut self) {
        self.record_supply_failure();
        if self.answers_changes() && !self.is_subscribing() {
            self.siri.request_full_state();
        }
    }

    /// How long until the next page of an answer is asked for; none if there is none.
    pub(super) fn next_page_wait(&mut self) -> Option<Duration> {
        if self.siri.pages == 0 || self.status.failures_in_a_row > 0 {
            return None;
        }
        let asked = PollSchedule {
            interval: PAGE_GAP,
            ttl: Duration::ZERO,
            failures_in_a_row: 0,
            advice: self.fetcher.last_advice(),
        };
        Some(asked.next_wait(&mut self.rng).max(PAGE_GAP))
    }

    /// Takes an answer in SIRI.
    pub(super) async fn accept_siri(
        &mut self,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<Option<PendingObservation>, FetchError> {
        let schedule = self.schedule_version();
        let said = self.read_siri_body(body).await?;
        self.siri.read_with = Some(schedule);
        match said {
            ProducerMessage::Answer(answer) => self.accept_answer(*answer, now).await,
            ProducerMessage::Word(_) => Err(missing_delivery()),
        }
    }

    /// What an earlier process left, for whoever looks at it, unless it is one page of several.
    pub(super) async fn decode_restored_siri(&self, body: Bytes) -> Option<PendingObservation> {
        let (zone, config) = (self.default_time_zone(), self.feed.shared_config().clone());
        let decoding = tokio::task::spawn_blocking(move || decode_siri(&body, &zone, &config));
        let (message, _) = decoding.await.ok()?.ok()?;
        let is_whole = !message.has_more_data();
        is_whole.then(|| PendingObservation::Siri(Box::new(message), SiriPart::Whole))
    }

    /// Reads what a producer says, where that blocks nobody.
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
            let mut said = read_producer_message(
                &body,
                &zone,
                &config,
                dataset.as_ref().map(|it| &*it.timetable),
            );
            if let Ok(ProducerMessage::Answer(answer)) = &mut said {
                answer.message.take_if(|_| !is_inspected);
            }
            said
        });
        let read = decoding.await;
        network.record_stage(PollStage::Decode, began);
        // What a producer says may repeat what it was sent.
        let shown = |words: &str| self.redact_producer_text(words);
        let mut said = read.unwrap_or_else(|_| Err(decoder_crash_failure().into())).map_err(
            |not| match not {
                SiriReadError::Failed(failure) => failure,
                SiriReadError::Refused(words) => {
                    let detail = format!("the producer refuses: {}", shown(&words));
                    FetchError::new(FailureCode::Refused, detail)
                }
            },
        )?;
        if let ProducerMessage::Answer(answer) = &mut said {
            let refusals = std::mem::take(&mut answer.normalized.refusals);
            for refusal in refusals.iter().take(REFUSALS_MAX) {
                let detail = "the producer gives nothing of it";
                let problem = Problem::new("delivery", "delivery_refused", detail);
                answer.normalized.problems.push(problem.with_value(&shown(refusal)));
            }
        }
        Ok(said)
    }

    /// What a producer says, as everybody may see it. It knows the key of the feed's inbox for as long as there is one, whatever
    /// it was asked last.
    fn redact_producer_text(&self, words: &str) -> String {
        let inbox = self.feed.inbox();
        self.fetcher.redact_head(words.as_bytes(), inbox.as_deref().map(FeedInbox::key))
    }

    /// The zone of times that do not say theirs.
    fn default_time_zone(&self) -> TimeZone {
        let dataset = self.feed.network().dataset();
        dataset.map_or(TimeZone::UTC, |dataset| dataset.timetable.timezone().clone())
    }

    async fn accept_answer(
        &mut self,
        mut answer: DecodedAnswer,
        now: UnixMillis,
    ) -> Result<Option<PendingObservation>, FetchError> {
        let as_sent = answer.message.take();
        let (message, problems) = self.merge_answer(answer, now);
        let mut is_part = self.siri.is_gathering_pages();
        if !is_part {
            self.status.is_beginning = self.is_initial_load();
            if self.status.is_beginning && !self.siri.tells_parts {
                is_part = self.status.entities > 0;
                self.siri.tells_parts = !is_part;
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
        Ok(as_sent.map(|message| PendingObservation::Siri(message, part)))
    }

    /// Notes that a part of the first answer has come. It waits for the rest: told by itself it would say that nothing else
    /// runs, and that what an earlier process knew is over.
    async fn accept_partial_answer(&mut self, now: UnixMillis) -> Result<(), FetchError> {
        self.clear_other_format(Format::Siri, now).await?;
        self.clear_trouble();
        self.status.nothing_since = None;
        self.status.format = Some(Format::Siri);
        self.status.is_gathering = self.status.entities == 0;
        Ok(())
    }

    /// Tells the network all that holds now, with the present as its time: that there is no news is news, too. Not while that is
    /// a part which is held back.
    async fn resend_entities(&mut self) {
        if !self.siri.is_whole && !self.siri.tells_parts {
            return;
        }
        let now = self.clock.wall_time();
        self.siri.held.remove_expired(now.unix_seconds());
        let header = siri_header(Some(now.unix_seconds()));
        let message = ShallowMessage { header, entities: self.siri.held.list_raw_entities() };
        let problems = self.siri.problems();
        // A network that is gone needs no word of it.
        let _ = self.accept_entities(message, problems, Format::Siri, now).await;
    }

    /// Puts an answer to what is held, and gives all of that.
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
                siri.held.begin_full_refresh();
            }
            siri.held.begin_answer();
        }
        let made_at = normalized.made_at.unwrap_or(now.unix_seconds());
        let mut has_new = !normalized.cancelled.is_empty();
        for (entity, raw) in entities {
            let until = entity.expires_at(made_at);
            match siri.held.put_entity(entity, raw, until) {
                PutOutcome::New => has_new = true,
                PutOutcome::Again => {}
                PutOutcome::NoRoom => {
                    let detail = "the feed holds as much as it may already; this is left out";
                    problems.push(Problem::new("entity", "too_many_records", detail));
                }
            }
        }
        for cancelled in &normalized.cancelled {
            siri.held.apply_cancellation(cancelled);
        }
        if delivered {
            siri.subscription.record_delivery(self.clock.monotonic());
        } else {
            // Who repeats a page has no other one.
            siri.advance_page(has_more && has_new, changes);
        }
        problems.merge(siri.problems());
        if changes {
            siri.held.remove_expired(now.unix_seconds());
        }
        let message = ShallowMessage {
            header: siri_header(Some(made_at)),
            entities: siri.held.list_raw_entities(),
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
        && let Some(word) = SubscriptionEvent::from_message(
            &message,
            &subscription::subscription_names(config, &source),
        )
    {
        return Ok(ProducerMessage::Word(word));
    }
    let has_timetables = source.services.contains(&SiriService::Timetables)
        // Where answers hold changes, what vehicles say comes by itself, whenever the timetables did.
        && (source.answers_changes()
            || message.deliveries().any(|it| !it.estimated_timetables.is_empty()));
    let rules = SiriRules { ids: &source.ids, vehicles_tell_delays: !has_timetables, zone };
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
    let usual = MessageLimits::default();
    let limits = MessageLimits { body_bytes: usual.body_bytes.min(body_bytes), ..usual };
    siri::decode_message(body, zone, &limits)
        .map_err(|error| FetchError::from_decoder_error(&error))
}

/// A message with the key of the feed's inbox is for everybody once it is taken, and whoever has the key may deliver what
/// it likes.
fn inbox_key_leaked() -> FetchError {
    let detail = "the message repeats the address of the inbox, which only its producer may know";
    FetchError::new(FailureCode::Refused, detail)
}

fn missing_delivery() -> FetchError {
    FetchError::new(FailureCode::Decode, "the answer is SIRI, but no delivery of a service")
}
