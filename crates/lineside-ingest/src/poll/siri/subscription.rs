//! A subscription to a SIRI producer: requested, renewed before it ends, and requested again when it falls silent. The
//! producer delivers its data to the feed's inbox by itself.

mod agreement;
mod lifecycle;
mod request;
mod event;

pub(in crate::poll) use self::event::ProducerNotification;
pub(super) use self::{lifecycle::SiriSubscription, request::subscription_names};

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_formats::{
    Format,
    siri::{
        CheckStatusRequest, DataSupplyRequest, MessagePayload, PresenceFlag, SiriTime,
        TerminateSubscriptionRequest,
    },
};
use lineside_sync::Clock;
use smol_str::format_smolstr;

use self::{
    agreement::SubscriptionAgreement,
    lifecycle::{CATCH_UP_MAX, PendingSupply, SubscriptionAction},
    request::{build_subscription_request, requestor_name},
};
use super::{
    DecodedAnswer, PAGES_MAX, ProducerMessage, decode_siri, missing_delivery, requests::build_post,
};
use crate::{
    fetch::{FetchOutcome, FetchedBody, SourceFetcher, SourceRequest},
    fetch_failure::{FailureCode, FetchError},
    inbox::{DELIVERIES_MAX, InboxDelivery},
    poll::{FeedPoller, accept::hash_body, decoder_crash_failure},
    rate_limit::RateLimitBucket,
    source::SiriMode,
};

/// Maximum time for sending the TerminateSubscription request.
const TERMINATION_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Share of entities that must be repeated for a renewed subscription to count as a full refresh.
const REFRESH_SHARE_MIN: f64 = 0.5;

/// A TerminateSubscription request, possibly to a producer that is no longer the feed's.
#[derive(Debug)]
pub(in crate::poll) struct PendingTermination {
    pub(in crate::poll) fetcher: SourceFetcher,
    pub(in crate::poll) rate_limit_bucket: RateLimitBucket,
    pub(in crate::poll) request: SourceRequest,
}

/// Sends the request within a time limit. Its outcome does not matter: the subscription expires by itself.
async fn send_termination(
    fetcher: &mut SourceFetcher,
    bucket: &RateLimitBucket,
    question: SourceRequest,
    clock: &Arc<dyn Clock>,
) {
    let send_request_termination = async {
        let now = clock.monotonic();
        let permit = bucket.reserve_from(now, now).wait_for_permit(Arc::clone(clock)).await;
        let _: Result<FetchOutcome, FetchError> = fetcher.fetch_source(permit, question).await;
    };
    tokio::select! {
        biased;
        () = send_request_termination => {}
        () = clock.sleep(TERMINATION_TIMEOUT) => {}
    }
}

impl FeedPoller {
    /// Returns true if the feed is a subscription.
    pub(in crate::poll) fn is_subscribing(&self) -> bool {
        self.feed.config().siri.as_ref().is_some_and(|siri| siri.mode == SiriMode::Subscribe)
    }

    /// Returns the time until the next request of the subscription; `None` if it is due now or there is no
    /// subscription.
    pub(in crate::poll) fn subscription_wait(&self) -> Option<Duration> {
        let rest = self.siri.subscription.next_request_wait(self.clock.monotonic())?;
        self.is_subscribing().then_some(rest)
    }

    /// Returns the next request of a subscription: for announced data, for the status, or for the subscription itself.
    ///
    /// # Errors
    /// Returns an error if no address for deliveries is configured.
    pub(in crate::poll) async fn next_subscription_request(
        &mut self,
    ) -> Result<SourceRequest, FetchError> {
        // A waiting delivery may announce the same data again.
        for _ in 0..DELIVERIES_MAX {
            let Ok(delivery) = self.deliveries.try_recv() else { break };
            self.accept_inbox_delivery(delivery).await;
        }
        let mut question = match self.siri.subscription.next_action(self.clock.monotonic()) {
            SubscriptionAction::Supply => self.data_supply_request(),
            SubscriptionAction::Check => self.check_status_request(),
            SubscriptionAction::Subscription => self.build_subscribe_request().await?,
        };
        // Any answer may echo the key that the subscription request contained.
        if let (SourceRequest::Post(post), Some(inbox)) = (&mut question, self.feed.inbox()) {
            post.secret = Some(inbox.key().clone());
        }
        Ok(question)
    }

    /// Builds the CheckStatus request.
    fn check_status_request(&self) -> SourceRequest {
        let source = self.feed.config().siri.clone().unwrap_or_default();
        let now = self.clock.wall_time();
        let request = CheckStatusRequest {
            request_timestamp: SiriTime::from_millis(now.0),
            requestor_ref: Some(requestor_name(&source, &self.inboxes.subscriber)),
            message_identifier: Some(format_smolstr!("lineside-{}-{}", self.feed.id(), now.0)),
        };
        build_post(&source, MessagePayload::CheckStatusRequest(request), "CheckStatus")
    }

    /// Builds the request for all announced data.
    fn data_supply_request(&self) -> SourceRequest {
        let source = self.feed.config().siri.clone().unwrap_or_default();
        let now = self.clock.wall_time();
        let request = DataSupplyRequest {
            request_timestamp: SiriTime::from_millis(now.0),
            consumer_ref: Some(requestor_name(&source, &self.inboxes.subscriber)),
            message_identifier: Some(format_smolstr!("lineside-{}-{}", self.feed.id(), now.0)),
            all_data: Some(false),
            ..DataSupplyRequest::default()
        };
        build_post(&source, MessagePayload::DataSupplyRequest(request), "DataSupply")
    }

    /// Accepts the answer to the last request.
    pub(in crate::poll) async fn accept_subscription_reply(
        &mut self,
        body: FetchedBody,
    ) -> Result<&'static str, FetchError> {
        match self.siri.subscription.action {
            SubscriptionAction::Subscription => return self.accept_agreement(body).await,
            SubscriptionAction::Check => return self.accept_check_status(body).await,
            SubscriptionAction::Supply => {}
        }
        let ProducerMessage::Answer(answer) = self.read_siri_body(body.bytes.clone()).await? else {
            return Err(missing_delivery());
        };
        let has_more = answer.has_more;
        let before = self.siri.subscription.supply.pages;
        let continues = has_more && before < PAGES_MAX;
        self.siri.is_cut_off = has_more && !continues;
        self.accept_notification(body.bytes, *answer).await?;
        let subscription = &mut self.siri.subscription;
        subscription.last_delivery_at = self.clock.monotonic();
        subscription.has_been_silent = false;
        let pages = if continues { before + 1 } else { 0 };
        subscription.supply = PendingSupply { is_due: continues, pages };
        Ok("new")
    }

    /// After a failed request for announced data, their content is unknown, so all data are requested.
    pub(in crate::poll) fn record_supply_failure(&mut self) {
        if self.siri.subscription.action == SubscriptionAction::Supply {
            self.siri.subscription = self.siri.subscription.to_abandoned();
        }
    }

    /// Returns true if a failure shows that the producer does not support CheckStatus; it is then not used again.
    pub(in crate::poll) fn is_check_unsupported(&mut self, failure: &FetchError) -> bool {
        use FailureCode::{Decode, Empty, Html, Http, Truncated};
        let is_unknown = self.siri.subscription.action == SubscriptionAction::Check
            && matches!(
                failure.code,
                Http(400 | 404 | 405 | 500 | 501) | Decode | Empty | Html | Truncated
            );
        self.siri.subscription.has_no_checks |= is_unknown;
        is_unknown
    }

    /// Accepts the answer to CheckStatus. A positive one extends the subscription, but says nothing about the data: a
    /// running producer may have data that do not reach us.
    async fn accept_check_status(&mut self, body: FetchedBody) -> Result<&'static str, FetchError> {
        let (config, zone) = (self.feed.shared_config().clone(), self.default_time_zone());
        let reading = tokio::task::spawn_blocking(move || {
            Ok(ProducerNotification::from_check_status(
                &decode_siri(&body.bytes, &zone, &config)?.0,
            ))
        });
        let Some(event) = reading.await.unwrap_or_else(|_| Err(decoder_crash_failure()))? else {
            return Err(FetchError::new(
                FailureCode::Decode,
                "the response is SIRI, but not a CheckStatusResponse",
            ));
        };
        match event {
            ProducerNotification::Alive(started)
                if !self.siri.subscription.has_restarted(started) =>
            {
                self.siri.subscription.checked_at = Some(self.clock.monotonic());
                if !self.siri.subscription.has_been_silent {
                    self.clear_trouble();
                }
            }
            _ => drop(self.end_subscription()),
        }
        Ok("checked")
    }

    /// Ends the subscription after the producer has ended or forgotten it; returns the time until the next request, if
    /// there was a subscription.
    fn end_subscription(&mut self) -> Option<Duration> {
        // A repeated notification must not change the time of the next request.
        self.siri.subscription.renew_at?;
        let now = self.clock.monotonic();
        self.siri.subscription = self.siri.subscription.to_ended(now);
        self.siri.subscription.next_request_wait(now)
    }

    /// Builds the request that begins or renews a subscription.
    ///
    /// # Errors
    /// Returns an error if no address for deliveries is configured.
    async fn build_subscribe_request(&mut self) -> Result<SourceRequest, FetchError> {
        if self.siri.subscription.is_silent(self.clock.monotonic()) {
            // A silent producer may have lost data, so a full refresh is needed.
            self.siri.subscription = self.siri.subscription.to_abandoned();
            self.siri.subscription.has_been_silent = true;
            let detail = "no message of the subscription arrived in time";
            self.record_failure(FetchError::new(FailureCode::Timeout, detail)).await;
        }
        let Some(address) = self.inbox_address() else {
            let detail = "the subscription needs server.public_url, which is not configured";
            return Err(FetchError::new(FailureCode::Connect, detail));
        };
        let config = self.feed.shared_config().clone();
        let source = config.siri.clone().unwrap_or_default();
        let subscriber = &self.inboxes.subscriber;
        let request = build_subscription_request(
            &config,
            &source,
            (subscriber, &address),
            self.clock.wall_time(),
        );
        Ok(build_post(&source, MessagePayload::SubscriptionRequest(request), "Subscribe"))
    }

    fn inbox_address(&self) -> Option<String> {
        let inbox = self.feed.inbox()?;
        let base = self.inboxes.address.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/siri/inbox/{}?key={}", self.feed.id(), inbox.key().reveal()))
    }

    /// Accepts the answer to a subscription request.
    async fn accept_agreement(&mut self, body: FetchedBody) -> Result<&'static str, FetchError> {
        let (config, zone) = (self.feed.shared_config().clone(), self.default_time_zone());
        let reading = tokio::task::spawn_blocking(move || {
            let (message, _) = decode_siri(&body.bytes, &zone, &config)?;
            Ok(SubscriptionAgreement::from_message(&message))
        });
        let in_doubt = self.siri.subscription.to_unconfirmed();
        let before = std::mem::replace(&mut self.siri.subscription, in_doubt);
        let read = reading.await.unwrap_or_else(|_| Err(decoder_crash_failure()))?;
        // The producer's text may echo the request, which contains the key of the inbox.
        let shown = |reason_text: &str| self.redact_producer_text(reason_text);
        let mut agreement = read.map_err(|not| not.to_failure(shown))?;
        agreement.refused.iter_mut().for_each(|reason_text| *reason_text = shown(reason_text));
        let (now, wall) = (self.clock.monotonic(), self.clock.wall_time());
        self.siri.entities.begin_full_refresh();
        self.siri.subscription = before.with_agreement(agreement, now, wall);
        self.status.failures_in_a_row = 0;
        // A promise of a producer that fell silent before does not clear the failure.
        if !self.siri.subscription.has_been_silent {
            self.clear_trouble();
        }
        Ok("subscribed")
    }

    /// Clears failures after a sign of life from the producer.
    pub(super) fn clear_trouble(&mut self) {
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
    }

    /// Accepts a delivery.
    pub(in crate::poll) async fn accept_inbox_delivery(&mut self, delivery: InboxDelivery) {
        let bytes = delivery.bytes.clone();
        let ongoing_poll = self.poll_log.begin_poll(&self.status);
        let subscription = &mut self.siri.subscription;
        subscription.last_delivery_at = self.clock.monotonic();
        subscription.has_been_silent = false;
        let accepted = match self.read_siri_body(bytes.clone()).await {
            Ok(ProducerMessage::Answer(answer)) => self.accept_notification(bytes, *answer).await,
            Ok(ProducerMessage::Event(event)) => {
                self.apply_subscription_event(event).await;
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        match accepted {
            Ok(()) => {
                self.update_health().await;
                self.postpone_check();
                self.poll_log.record_delivery(ongoing_poll, &self.feed, &self.status);
                // The time of the last message is reported even if nothing else has changed.
                self.feed.set_status(self.status.clone());
            }
            Err(failure) => {
                self.record_failure(failure).await;
                self.poll_log.record_delivery(ongoing_poll, &self.feed, &self.status);
                // Its content is unknown, so all data are requested, as after a failed poll. The producer may
                // nevertheless continue with changes.
                self.siri.subscription = self.siri.subscription.to_unconfirmed();
                let wait = self.compute_wait();
                self.reschedule_poll(wait);
            }
        }
    }

    async fn accept_notification(
        &mut self,
        bytes: Bytes,
        answer: DecodedAnswer,
    ) -> Result<(), FetchError> {
        let now = self.clock.wall_time();
        self.status.bytes += bytes.len() as u64;
        let hash = hash_body(&bytes).await;
        let observation = self.accept_answer(answer, now).await?;
        let body = FetchedBody {
            bytes,
            content_type: None,
            last_modified: None,
            file_name: None,
            status: None,
        };
        self.persist_body(body, Format::Siri, hash, now).await;
        self.observe_message(observation, now).await;
        Ok(())
    }

    async fn apply_subscription_event(&mut self, event: ProducerNotification) {
        let is_ended = match event {
            ProducerNotification::Alive(started) => self.siri.subscription.has_restarted(started),
            ProducerNotification::Ended => true,
            ProducerNotification::DataReady => {
                // Without a subscription all data are requested anyway.
                if self.siri.subscription.renew_at.is_some() {
                    self.siri.subscription.supply.is_due = true;
                    self.reschedule_poll(Duration::ZERO);
                }
                return;
            }
            ProducerNotification::OtherEnded => {
                // Accepted without effect; logged for an operator who meant this feed's subscription.
                tracing::info!(feed = %self.feed.snapshot_key(), "the producer ended a subscription that is not this feed's");
                return;
            }
        };
        if is_ended {
            if let Some(wait) = self.end_subscription() {
                self.reschedule_poll(wait);
            }
        } else if self.siri.subscription.has_delivered {
            self.confirm_snapshot();
            self.resend_entities().await;
        } else {
            self.clear_trouble();
        }
    }

    /// Once the full refresh is complete, removes the entities that were not repeated. After a renewal the producer may
    /// send only changes: then nothing is removed.
    pub(in crate::poll) async fn remove_unseen_when_complete(&mut self) {
        let now = self.clock.monotonic();
        let is_settled = self.status.is_beginning && !self.is_initial_load();
        if is_settled {
            self.status.is_beginning = false;
            self.siri.is_whole = true;
            // Readers must see the change even if nothing else changes.
            self.feed.set_status(self.status.clone());
        }
        let is_swept = self.siri.subscription.check_caught_up(now).is_some_and(|is_renewal| {
            let is_all = !is_renewal || self.siri.entities.share_seen() >= REFRESH_SHARE_MIN;
            is_all && self.siri.entities.remove_unseen()
        });
        // Data held back so far are published now, or after a failure with the producer's next message.
        let is_not_sent = is_settled && !self.siri.is_sending_parts;
        if is_swept || (is_not_sent && self.status.failures_in_a_row == 0) {
            self.resend_entities().await;
        }
    }

    /// Returns true if the producer may not have sent all data yet since the last reset: the first deliveries are
    /// parts.
    pub(in crate::poll::siri) fn is_initial_load(&mut self) -> bool {
        if self.siri.is_whole || !self.is_subscribing() {
            return false;
        }
        let now = self.clock.monotonic();
        now < *self.siri.began_at.get_or_insert(now) + CATCH_UP_MAX
    }

    /// Postpones the next request after a sign of life from the producer.
    fn postpone_check(&mut self) {
        let now = self.clock.monotonic();
        if let Some(rest) =
            self.subscription_wait().filter(|&rest| now + rest > self.reservation.reserved_at())
        {
            self.reschedule_poll(rest);
        }
    }

    /// Moves the next poll to `wait` from now.
    fn reschedule_poll(&mut self, wait: Duration) {
        let now = self.clock.monotonic();
        drop(std::mem::take(&mut self.reservation));
        self.due_at = now + wait;
        self.reservation = self.rate_limit_bucket.reserve_from(self.due_at, now);
        let left = self.reservation.reserved_at().saturating_sub(now);
        self.status.next_poll = Some(self.clock.wall_time() + left);
        self.feed.set_status(self.status.clone());
    }

    /// Builds the TerminateSubscription request, if there is a subscription.
    pub(in crate::poll) fn termination_request(&self) -> Option<SourceRequest> {
        if self.siri.subscription.renew_at.is_none() || !self.is_subscribing() {
            return None;
        }
        let config = self.feed.config();
        let source = config.siri.clone().unwrap_or_default();
        let request = TerminateSubscriptionRequest {
            request_timestamp: SiriTime::from_millis(self.clock.wall_time().0),
            requestor_ref: Some(requestor_name(&source, &self.inboxes.subscriber)),
            subscriber_ref: Some(self.inboxes.subscriber.as_ref().into()),
            all: PresenceFlag::default(),
            subscription_refs: subscription_names(config, &source),
            ..TerminateSubscriptionRequest::default()
        };
        let payload = MessagePayload::TerminateSubscriptionRequest(request);
        Some(build_post(&source, payload, "DeleteSubscription"))
    }

    /// Terminates the subscription.
    pub(in crate::poll) async fn terminate_subscription(&mut self) {
        self.terminate_previous().await;
        let Some(question) = self.termination_request() else { return };
        self.siri.subscription = SiriSubscription::default();
        send_termination(&mut self.fetcher, &self.rate_limit_bucket, question, &self.clock).await;
    }

    /// Terminates the subscription at the previous producer.
    pub(in crate::poll) async fn terminate_previous(&mut self) {
        if let Some(PendingTermination { mut fetcher, rate_limit_bucket, request }) =
            self.pending_termination.take()
        {
            send_termination(&mut fetcher, &rate_limit_bucket, request, &self.clock).await;
        }
    }
}
