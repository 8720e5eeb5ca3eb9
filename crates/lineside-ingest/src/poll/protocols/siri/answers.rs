//! Merging a producer's answers into the current entities, which the network gets as one message.

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems, gtfs_rt::SplitFeedMessage};
use lineside_sync::UnixMillis;

use super::{
    SiriProtocol, answers_changes,
    decoding::{DecodedAnswer, ProducerMessage, missing_delivery, read_siri_body},
    entity_store::PutOutcome,
    is_subscribing, schedule_version,
};
use crate::{
    fetch_failure::FetchError,
    message_observer::SiriPart,
    normalize::siri_header,
    poll::{observe::UnobservedMessage, polled_feed::PolledFeed},
};

impl SiriProtocol {
    /// Accepts a SIRI answer.
    pub(super) async fn accept_siri(
        &mut self,
        polled: &mut PolledFeed,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<Option<UnobservedMessage>, FetchError> {
        let schedule = schedule_version(polled);
        let siri_message = read_siri_body(polled, body).await?;
        self.read_with = Some(schedule);
        match siri_message {
            ProducerMessage::Answer(answer) => self.accept_answer(polled, *answer, now).await,
            ProducerMessage::Event(_) => Err(missing_delivery()),
        }
    }

    pub(super) async fn accept_answer(
        &mut self,
        polled: &mut PolledFeed,
        mut answer: DecodedAnswer,
        now: UnixMillis,
    ) -> Result<Option<UnobservedMessage>, FetchError> {
        let as_sent = answer.message.take();
        let (message, problems) = self.merge_answer(polled, answer, now);
        let mut is_part = self.is_gathering_pages();
        if !is_part {
            polled.status.is_beginning = self.is_initial_load(polled);
            if polled.status.is_beginning && !self.is_sending_parts {
                is_part = polled.status.entities > 0;
                self.is_sending_parts = !is_part;
            }
        }
        if is_part {
            accept_partial_answer(polled, now).await?;
        } else {
            self.is_whole = !polled.status.is_beginning;
            polled.accept_entities(message, problems, Format::Siri, now).await?;
        }
        let part = match self.pages {
            _ if answers_changes(polled) => SiriPart::Changes,
            0 => SiriPart::Whole,
            _ => SiriPart::Page,
        };
        Ok(as_sent.map(|message| UnobservedMessage::Siri(message, part)))
    }

    /// Sends all current entities to the network again with the present as their time, since a confirmation without
    /// news is news, too. Does nothing while they are an incomplete part.
    pub(super) async fn resend_entities(&mut self, polled: &mut PolledFeed) {
        if !self.is_whole && !self.is_sending_parts {
            return;
        }
        let now = polled.clock.wall_time();
        self.entities.remove_expired(now.unix_seconds());
        let header = siri_header(Some(now.unix_seconds()));
        let message = SplitFeedMessage { header, entities: self.entities.list_raw_entities() };
        let problems = self.problems();
        // An ended network needs no update.
        let _ = polled.accept_entities(message, problems, Format::Siri, now).await;
    }

    /// Merges an answer into the entities and returns all of them as a message.
    fn merge_answer(
        &mut self,
        polled: &PolledFeed,
        answer: DecodedAnswer,
        now: UnixMillis,
    ) -> (SplitFeedMessage, Problems) {
        let DecodedAnswer { entities, normalized, mut problems, has_more, .. } = answer;
        let (changes, delivered) = (answers_changes(polled), is_subscribing(polled));
        problems.merge(normalized.problems);
        if self.pages == 0 {
            if !changes {
                self.entities.begin_full_refresh();
            }
            self.entities.begin_answer();
        }
        let made_at = normalized.made_at.unwrap_or(now.unix_seconds());
        let mut has_new = !normalized.cancelled.is_empty();
        for (entity, raw) in entities {
            let until = entity.expires_at(made_at);
            match self.entities.put_entity(entity, raw, until) {
                PutOutcome::New => has_new = true,
                PutOutcome::Repeated => {}
                PutOutcome::Full => {
                    let detail = "the feed has reached its maximum size; this entity is dropped";
                    problems.push(Problem::new("entity", "too_many_records", detail));
                }
            }
        }
        for cancelled in &normalized.cancelled {
            self.entities.apply_cancellation(cancelled);
        }
        if delivered {
            self.subscription.record_delivery(polled.clock.monotonic());
        } else {
            // A producer that repeats a page has no further one.
            self.advance_page(has_more && has_new, changes);
        }
        problems.merge(self.problems());
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
async fn accept_partial_answer(polled: &mut PolledFeed, now: UnixMillis) -> Result<(), FetchError> {
    polled.clear_other_format(Format::Siri, now).await?;
    polled.clear_failures();
    polled.status.empty_since = None;
    polled.status.format = Some(Format::Siri);
    polled.status.is_gathering = polled.status.entities == 0;
    Ok(())
}
