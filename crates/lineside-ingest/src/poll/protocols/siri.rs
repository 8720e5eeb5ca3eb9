//! SIRI in a feed's task: the requests to a producer, and the entities accumulated from its answers.
//!
//! An answer may be one page of several, or contain only changes. The network always gets all current entities, as from
//! a GTFS-Realtime message, so later stages know nothing of pages.

mod answers;
mod decoding;
mod entity_store;
mod error_bodies;
mod requests;
mod subscription;

use std::time::Duration;

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;
use tokio::sync::mpsc;

pub(in crate::poll) use self::error_bodies::siri_error_body_reader;
pub(super) use self::requests::SiriRequestBuilder;
use self::{
    decoding::decode_restored_message, entity_store::EntityStore, subscription::SiriSubscription,
};
use super::{
    ConverterResult,
    plain::{decode_and_apply_file, decode_restored_file, restored_gtfs_rt_message},
};
use crate::{
    feed_config::FeedConfig,
    fetch::{FetchedBody, SourceRequest},
    fetch_failure::FetchError,
    inbox::{FeedInbox, InboxDelivery},
    limits::POLL_MIN,
    poll::{
        accept::count_and_accept_body,
        observe::MessageToObserve,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, NextPollChange, PollSuccess, SourceProtocol},
    },
    poll_schedule::PollSchedule,
    snapshot::FeedBodySnapshot,
    source::SiriMode,
};

/// Maximum number of pages of one answer that are requested without the feed's interval between them.
const PAGES_MAX: u32 = 200;

/// Minimum time between a page and the request for the next one.
const PAGE_GAP: Duration = Duration::from_secs(1);
/// Time for which a producer is trusted to remember its last answer.
const MEMORY_MAX: Duration = Duration::from_secs(10 * 60);

/// The protocol of a SIRI producer, with the state across its answers.
#[derive(Debug)]
pub(in crate::poll) struct SiriProtocol {
    /// Deliveries that the producer sends by itself.
    deliveries: mpsc::Receiver<InboxDelivery>,
    entities: EntityStore,
    requests: SiriRequestBuilder,
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

impl SourceProtocol for SiriProtocol {
    fn as_dyn_protocol(&mut self) -> &mut dyn SourceProtocol {
        self
    }

    fn can_decode_format(&self, format: Format) -> bool {
        format == Format::Siri
    }

    fn next_source_request<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, Result<SourceRequest, FetchError>> {
        Box::pin(async move {
            match is_subscription_feed(polled) {
                true => self.next_subscription_request(polled).await,
                false => Ok(self.next_data_request(polled)),
            }
        })
    }

    fn accept_reply<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: FetchedBody,
        _converted: Option<ConverterResult>,
    ) -> BoxFuture<'a, Result<PollSuccess, FetchError>> {
        Box::pin(async move {
            match is_subscription_feed(polled) {
                true => self.accept_subscription_reply(polled, body).await,
                false => count_and_accept_body(self, polled, body).await,
            }
        })
    }

    fn decode_and_apply_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<MessageToObserve>, FetchError>> {
        Box::pin(async move {
            match format {
                Format::Siri => self.decode_and_accept_siri(polled, body, now).await,
                // A converter's output.
                other => decode_and_apply_file(polled, body, other, now).await,
            }
        })
    }

    fn must_decode_unchanged_body(&self, polled: &PolledFeed) -> bool {
        (self.is_full_answer_due && is_limited_to_changes(polled))
            || self.is_gathering_pages()
            || self.has_schedule_changed(polled)
    }

    fn decode_restored_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a FeedBodySnapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        Box::pin(async move {
            if snapshot.format != Format::Siri {
                return decode_restored_file(polled, snapshot, is_too_old).await;
            }
            if is_too_old {
                polled.is_expired = true;
                return Ok(());
            }
            // Only the last changes are stored; the data before them are lost, and a part must not be published as the
            // whole.
            if is_limited_to_changes(polled) {
                return Ok(());
            }
            let now = polled.clock.wall_time();
            let accepted = self.decode_and_accept_siri(polled, snapshot.bytes.clone(), now).await;
            // The stored message may be one page of several.
            self.start_full_refresh();
            accepted.map(drop)
        })
    }

    fn restored_message_to_observe<'a>(
        &'a self,
        polled: &'a PolledFeed,
        snapshot: &'a FeedBodySnapshot,
    ) -> BoxFuture<'a, Option<MessageToObserve>> {
        Box::pin(async move {
            match snapshot.format {
                // The last changes alone cannot be observed meaningfully.
                Format::Siri if is_limited_to_changes(polled) => None,
                Format::Siri => decode_restored_message(polled, snapshot.bytes.clone()).await,
                _ => restored_gtfs_rt_message(snapshot),
            }
        })
    }

    fn wait_for_delivery(&mut self) -> BoxFuture<'_, InboxDelivery> {
        Box::pin(async {
            match self.deliveries.recv().await {
                Some(delivery) => delivery,
                None => std::future::pending().await,
            }
        })
    }

    fn accept_producer_delivery<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        delivery: InboxDelivery,
    ) -> BoxFuture<'a, NextPollChange> {
        Box::pin(self.accept_inbox_delivery(polled, delivery))
    }

    fn record_successful_poll<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        outcome: PollSuccess,
    ) -> BoxFuture<'a, ()> {
        Box::pin(self.record_accepted_answer(polled, outcome == PollSuccess::New))
    }

    /// A producer that does not support status checks has not failed.
    fn reinterpret_failure(
        &mut self,
        polled: &mut PolledFeed,
        failure: FetchError,
    ) -> Result<PollSuccess, FetchError> {
        if self.subscription.stop_checks_if_unsupported(&failure) {
            return Ok(PollSuccess::Unchecked);
        }
        self.subscription.record_request_failure();
        // The producer may believe that data were received which were lost.
        if is_limited_to_changes(polled) && !is_subscription_feed(polled) {
            self.start_full_refresh();
        }
        Err(failure)
    }

    fn update_content_between_polls<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, ()> {
        Box::pin(self.remove_not_repeated_when_complete(polled))
    }

    fn time_until_next_request(&mut self, polled: &mut PolledFeed) -> Option<Duration> {
        // After a failure the usual retry delay applies.
        if polled.status.failures_in_a_row > 0 {
            return None;
        }
        match self.time_until_subscription_request(polled) {
            Some(wait) => Some(wait.max(POLL_MIN)),
            None => self.time_until_next_page(polled),
        }
    }

    fn apply_changed_config(&mut self, polled: &mut PolledFeed, before: &FeedConfig) {
        if polled.feed.config().siri != before.siri {
            // The id mapping may have changed, and the current entities use the old one.
            self.clear();
            polled.forget_fetched_content();
        }
    }

    fn termination_request(&self, polled: &PolledFeed) -> Option<SourceRequest> {
        self.build_termination_request(polled)
    }

    fn mark_termination_sent(&mut self) {
        self.subscription = SiriSubscription::default();
    }
}

impl SiriProtocol {
    /// Creates the protocol and the inbox of a feed.
    pub(in crate::poll) fn new(polled: &mut PolledFeed) -> SiriProtocol {
        let (inbox, deliveries) = FeedInbox::new((polled.inboxes.keys)());
        polled.feed.set_inbox(inbox);
        SiriProtocol {
            deliveries,
            entities: EntityStore::default(),
            requests: SiriRequestBuilder::new(polled.rng.u64(..)),
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
    fn clear(&mut self) {
        self.entities.clear();
        self.is_cut_off = false;
        self.is_whole = false;
        self.began_at = None;
        self.is_sending_parts = false;
        self.start_full_refresh();
    }

    /// Returns true if the entities are a part of the first answer: entities on the pages to come must not be removed.
    fn is_gathering_pages(&self) -> bool {
        self.pages > 0 && !self.is_whole
    }

    /// Records a page. After the last one, entities that were not repeated are removed, provided that the answer
    /// contained all data.
    fn record_answer_page(&mut self, has_next: bool, answers_changes: bool) {
        if has_next && self.pages < PAGES_MAX {
            self.pages += 1;
            return;
        }
        self.pages = 0;
        self.is_cut_off = has_next;
        if !answers_changes || (self.is_full_answer_due && !has_next) {
            self.is_full_answer_due = false;
            self.entities.remove_not_repeated();
        }
    }

    /// Returns problems that persist across messages.
    fn persistent_problems(&self) -> Problems {
        let mut problems = self.subscription.refused_parts_as_problems();
        if self.is_cut_off {
            let detail = "the producer has more than 200 pages; the other pages are not requested";
            problems.push(Problem::new("delivery", "too_many_pages", detail));
        }
        problems
    }

    /// Requests all data from the producer. The current data stay until they have arrived.
    fn start_full_refresh(&mut self) {
        self.pages = 0;
        self.is_full_answer_due = true;
        self.subscription = SiriSubscription::default();
        self.requests.start_new_session();
        self.entities.begin_full_refresh();
    }

    /// Returns the next request, if the feed is not a subscription.
    fn next_data_request(&mut self, polled: &mut PolledFeed) -> SourceRequest {
        if self.has_schedule_changed(polled) {
            self.start_full_refresh();
            polled.fetcher.forget_fetched_version();
        }
        if is_limited_to_changes(polled) {
            let now = polled.clock.monotonic();
            let is_forgotten = |at: Duration| now.saturating_sub(at) > MEMORY_MAX;
            if self.answered_at.take_if(|at| is_forgotten(*at)).is_some() {
                self.start_full_refresh();
            }
            if self.is_full_answer_due {
                polled.fetcher.forget_fetched_version();
            }
        }
        if self.is_gathering_pages() {
            polled.fetcher.forget_fetched_version();
        }
        self.requests.build_next_request(polled.feed.config(), polled.clock.wall_time())
    }

    /// Returns true if the current entities were made with another schedule than the present one.
    fn has_schedule_changed(&self, polled: &PolledFeed) -> bool {
        self.read_with
            .as_ref()
            .is_some_and(|read_with| *read_with != current_schedule_version(polled))
    }

    /// Records an answer. An answer without news has no next page.
    async fn record_accepted_answer(&mut self, polled: &mut PolledFeed, is_new: bool) {
        self.answered_at = Some(polled.clock.monotonic());
        if is_new {
            return;
        }
        let is_gathering = self.is_gathering_pages();
        self.pages = 0;
        if is_gathering {
            // A producer that announced more data but has none has sent all.
            self.is_whole = true;
            self.resend_all_entities(polled).await;
        }
    }

    /// Returns the time until the request for the next page; `None` if there is none.
    fn time_until_next_page(&self, polled: &mut PolledFeed) -> Option<Duration> {
        if self.pages == 0 || polled.status.failures_in_a_row > 0 {
            return None;
        }
        let schedule = PollSchedule {
            interval: PAGE_GAP,
            ttl: Duration::ZERO,
            failures_in_a_row: 0,
            advice: polled.fetcher.last_poll_advice(),
        };
        Some(schedule.time_until_next_poll(&mut polled.rng).max(PAGE_GAP))
    }
}

/// Returns true if the feed is a subscription.
fn is_subscription_feed(polled: &PolledFeed) -> bool {
    polled.feed.config().siri.as_ref().is_some_and(|siri| siri.mode == SiriMode::Subscribe)
}

/// Returns true if the producer's answers contain only changes.
fn is_limited_to_changes(polled: &PolledFeed) -> bool {
    polled.feed.config().siri.as_ref().is_some_and(|siri| siri.is_limited_to_changes())
}

fn current_schedule_version(polled: &PolledFeed) -> Option<SmolStr> {
    polled.feed.network().dataset().map(|dataset| dataset.version.clone())
}
