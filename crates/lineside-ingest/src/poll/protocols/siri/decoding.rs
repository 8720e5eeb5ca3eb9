//! Decoding of the messages that a producer sends.

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    Problem, Problems,
    gtfs::Timetable,
    gtfs_rt::EncodedEntity,
    siri::{self, MessageLimits, SiriMessage},
};
use lineside_sync::stage;

use super::subscription::{ProducerNotification, all_subscription_ids};
use crate::{
    feed_config::FeedConfig,
    fetch_failure::{FailureCode, FetchError},
    inbox::FeedInbox,
    message_observer::SiriMessagePart,
    normalize::{NormalizedMessage, SiriEntity, SiriRules, normalize_siri},
    poll::{decoder_crash_failure, observe::MessageToObserve, polled_feed::PolledFeed},
    poll_stages::PollStage,
    source::SiriService,
};

/// Maximum number of reported refusals per answer.
const REFUSALS_MAX: usize = 1_000;

pub(super) struct DecodedAnswer {
    /// The decoded message, for the observer.
    pub(super) message: Option<Box<SiriMessage>>,
    pub(super) entities: Vec<(SiriEntity, EncodedEntity)>,
    pub(super) normalized: NormalizedMessage,
    pub(super) problems: Problems,
    pub(super) has_more: bool,
}

pub(super) enum ProducerMessage {
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

/// Decodes a restored message for the observer, unless it is one page of several.
pub(super) async fn decode_restored_message(
    polled: &PolledFeed,
    body: Bytes,
) -> Option<MessageToObserve> {
    let (zone, limits) = (schedule_time_zone_or_utc(polled), message_limits(polled));
    let decoding = tokio::task::spawn_blocking(move || decode_siri_message(&body, &zone, &limits));
    let (message, _) = decoding.await.ok()?.ok()?;
    let is_whole = !message.has_more_data();
    is_whole.then(|| MessageToObserve::Siri(Box::new(message), SiriMessagePart::Whole))
}

/// Decodes a message on a blocking thread.
pub(super) async fn decode_siri_body(
    polled: &PolledFeed,
    body: Bytes,
) -> Result<ProducerMessage, FetchError> {
    let (config, limits) = (polled.feed.shared_config().clone(), message_limits(polled));
    let network = polled.feed.network();
    let zone = schedule_time_zone_or_utc(polled);
    let dataset = network.dataset();
    let began = network.stage_start_time();
    let is_inspected = polled.has_observer();
    let inbox_key = polled.feed.inbox().map(|inbox| inbox.inbox_key().clone());
    let decoding = tokio::task::spawn_blocking(move || {
        let _at = stage::set_stage_until_dropped(PollStage::Decode.to_work_stage());
        if inbox_key.is_some_and(|key| key.occurs_in(&body)) {
            return Err(inbox_key_leak_failure().into());
        }
        let timetable = dataset.as_ref().map(|it| &*it.timetable);
        let mut siri_message = decode_siri_message(&body, &zone, &limits)
            .map_err(SiriReadError::from)
            .and_then(|decoded| interpret_producer_message(decoded, &zone, &config, timetable));
        if let Ok(ProducerMessage::Answer(answer)) = &mut siri_message {
            answer.message.take_if(|_| !is_inspected);
        }
        siri_message
    });
    let read = decoding.await;
    network.record_stage_duration(PollStage::Decode, began);
    // The producer's text may echo the request.
    let shown = |producer_text: &str| redact_producer_text(polled, producer_text);
    let mut siri_message =
        read.unwrap_or_else(|_| Err(decoder_crash_failure().into())).map_err(|not| match not {
            SiriReadError::Failed(failure) => failure,
            SiriReadError::Refused(producer_text) => {
                let detail = format!("the producer refused the request: {}", shown(&producer_text));
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
pub(super) fn redact_producer_text(polled: &PolledFeed, producer_text: &str) -> String {
    let inbox = polled.feed.inbox();
    polled
        .fetcher
        .redacted_body_start(producer_text.as_bytes(), inbox.as_deref().map(FeedInbox::inbox_key))
}

/// Returns the time zone of times without one.
pub(super) fn schedule_time_zone_or_utc(polled: &PolledFeed) -> TimeZone {
    let dataset = polled.feed.network().dataset();
    dataset.map_or(TimeZone::UTC, |dataset| dataset.timetable.timezone().clone())
}

/// Returns the limits of the feed's messages.
pub(super) fn message_limits(polled: &PolledFeed) -> MessageLimits {
    polled.load_limits.siri_limits(polled.feed.config().max_bytes)
}

fn interpret_producer_message(
    (message, problems): (SiriMessage, Problems),
    zone: &TimeZone,
    config: &FeedConfig,
    timetable: Option<&Timetable>,
) -> Result<ProducerMessage, SiriReadError> {
    let source = config.siri.clone().unwrap_or_default();
    if message.service_deliveries().next().is_none()
        && let Some(event) =
            ProducerNotification::from_message(&message, &all_subscription_ids(config, &source))
    {
        return Ok(ProducerMessage::Event(event));
    }
    let has_timetables = source.services.contains(&SiriService::Timetables)
        // If answers contain changes, vehicles arrive independently of timetables.
        && (source.is_limited_to_changes()
            || message.service_deliveries().any(|it| !it.estimated_timetables.is_empty()));
    let rules = SiriRules { ids: &source.ids, has_vehicle_delays: !has_timetables, zone };
    let mut normalized = normalize_siri(&message, rules);
    if normalized.is_refused() {
        return Err(SiriReadError::Refused(normalized.refusals.join("; ")));
    }
    if message.service_deliveries().next().is_none() {
        return Err(missing_delivery_failure().into());
    }
    normalized.remove_earlier_duplicates();
    if let Some(timetable) = timetable {
        normalized.complete_from_schedule(timetable);
    }
    let entities = std::mem::take(&mut normalized.entities);
    let encoded = entities.into_iter().map(|it| {
        let raw = EncodedEntity::from_decoded_entity(&it.entity, 0);
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

pub(super) fn decode_siri_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), FetchError> {
    siri::decode_siri_message(body, zone, limits)
        .map_err(|error| FetchError::from_decoder_error(&error))
}

/// Returns the failure of a message that contains the key of the feed's inbox: published, it would let anyone deliver
/// to the inbox.
fn inbox_key_leak_failure() -> FetchError {
    let detail = "the message contains the URL of the feed's inbox, which is secret";
    FetchError::new(FailureCode::Refused, detail)
}

pub(super) fn missing_delivery_failure() -> FetchError {
    FetchError::new(FailureCode::Decode, "the response is SIRI, but not a ServiceDelivery")
}
