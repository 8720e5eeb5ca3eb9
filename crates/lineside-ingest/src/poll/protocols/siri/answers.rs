//! Merging a producer's answers into the current entities, which the network gets as one message.

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems, gtfs_rt::SplitFeedMessage};
use lineside_sync::UnixMillis;

use super::{
    SiriProtocol, current_schedule_version,
    decoding::{DecodedAnswer, ProducerMessage, decode_siri_body, missing_delivery_failure},
    entity_store::StoreEntityOutcome,
    is_limited_to_changes, is_subscription_feed,
};
use crate::{
    fetch_failure::FetchError,
    message_observer::SiriMessagePart,
    normalize::siri_header,
    poll::{observe::MessageToObserve, polled_feed::PolledFeed},
};

impl SiriProtocol {
    /// Accepts a SIRI answer.
    pub(super) async fn decode_and_accept_siri(
        &mut self,
        polled: &mut PolledFeed,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<Option<MessageToObserve>, FetchError> {
        let schedule = current_schedule_version(polled);
        let siri_message = decode_siri_body(polled, body).await?;
        self.read_with = Some(schedule);
        match siri_message {
            ProducerMessage::Answer(answer) => {
                self.merge_and_apply_answer(polled, *answer, now).await
            }
            ProducerMessage::Event(_) => Err(missing_delivery_failure()),
        }
    }

    pub(super) async fn merge_and_apply_answer(
        &mut self,
        polled: &mut PolledFeed,
        mut answer: DecodedAnswer,
        now: UnixMillis,
    ) -> Result<Option<MessageToObserve>, FetchError> {
        let as_sent = answer.message.take();
        let (message, problems) = self.merge_answer_into_entities(polled, answer, now);
        let mut is_part = self.is_gathering_pages();
        if !is_part {
            polled.status.is_beginning = self.is_initial_load_incomplete(polled);
            if polled.status.is_beginning && !self.is_sending_parts {
                is_part = polled.status.entities > 0;
                self.is_sending_parts = !is_part;
            }
        }
        if is_part {
            record_partial_answer(polled, now).await?;
        } else {
            self.is_whole = !polled.status.is_beginning;
            polled.apply_entities(message, problems, Format::Siri, now).await?;
        }
        let part = match self.pages {
            _ if is_limited_to_changes(polled) => SiriMessagePart::Changes,
            0 => SiriMessagePart::Whole,
            _ => SiriMessagePart::Page,
        };
        Ok(as_sent.map(|message| MessageToObserve::Siri(message, part)))
    }

    /// Sends all current entities to the network again with the present as their time, since a confirmation without
    /// news is news, too. Does nothing while they are an incomplete part.
    pub(super) async fn resend_all_entities(&mut self, polled: &mut PolledFeed) {
        if !self.is_whole && !self.is_sending_parts {
            return;
        }
        let now = polled.clock.wall_time();
        self.entities.remove_expired(now.unix_seconds());
        let header = siri_header(Some(now.unix_seconds()));
        let message = SplitFeedMessage { header, entities: self.entities.list_raw_entities() };
        let problems = self.persistent_problems();
        // An ended network needs no update.
        let _ = polled.apply_entities(message, problems, Format::Siri, now).await;
    }

    /// Merges an answer into the entities and returns all of them as a message.
    fn merge_answer_into_entities(
        &mut self,
        polled: &PolledFeed,
        answer: DecodedAnswer,
        now: UnixMillis,
    ) -> (SplitFeedMessage, Problems) {
        let DecodedAnswer { entities, normalized, mut problems, has_more, .. } = answer;
        let (changes, delivered) = (is_limited_to_changes(polled), is_subscription_feed(polled));
        problems.merge(normalized.problems);
        if self.pages == 0 {
            if !changes {
                self.entities.begin_full_refresh();
            }
            self.entities.start_next_answer();
        }
        let made_at = normalized.made_at.unwrap_or(now.unix_seconds());
        let mut has_new = !normalized.cancelled.is_empty();
        for (entity, raw) in entities {
            let until = entity.expires_at(made_at);
            match self.entities.store_entity(entity, raw, until) {
                StoreEntityOutcome::New => has_new = true,
                StoreEntityOutcome::Repeated => {}
                StoreEntityOutcome::Full => {
                    let detail = "the feed has reached its maximum size; this entity is dropped";
                    problems.push(Problem::new("entity", "too_many_records", detail));
                }
            }
        }
        for cancelled in &normalized.cancelled {
            self.entities.remove_cancelled_entity(cancelled);
        }
        if delivered {
            self.subscription.record_received_delivery(polled.clock.monotonic());
        } else {
            // A producer that repeats a page has no further one.
            self.record_answer_page(has_more && has_new, changes);
        }
        problems.merge(self.persistent_problems());
        if changes {
            self.entities.remove_expired(now.unix_seconds());
        }
        let message = SplitFeedMessage {
            header: siri_header(Some(made_at)),
            entities: self.entities.list_raw_entities(),
        };
        (message, problems)
    }
}

/// Records a part of the first answer. It is held back: published alone, it would say that nothing else runs and
/// that restored data are over.
async fn record_partial_answer(polled: &mut PolledFeed, now: UnixMillis) -> Result<(), FetchError> {
    polled.clear_data_of_other_format(Format::Siri, now).await?;
    polled.clear_failures();
    polled.status.empty_since = None;
    polled.status.format = Some(Format::Siri);
    polled.status.is_gathering = polled.status.entities == 0;
    Ok(())
}
