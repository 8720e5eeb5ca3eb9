//! A subscription to a SIRI producer: requested, renewed before it ends, and requested again when it falls silent. The
//! producer delivers its data to the feed's inbox by itself.

mod agreement;
mod lifecycle;
mod request;
mod event;

pub(in crate::poll) use self::event::ProducerNotification;
pub(super) use self::{lifecycle::SiriSubscription, request::all_subscription_ids};

use std::time::Duration;

use bytes::Bytes;
use lineside_formats::{
    Format,
    siri::{
        CheckStatusRequest, DataSupplyRequest, MessagePayload, PresenceFlag, SiriTime,
        TerminateSubscriptionRequest,
    },
};
use smol_str::format_smolstr;

use self::{
    agreement::SubscriptionAgreement,
    lifecycle::{CATCH_UP_MAX, PendingDataSupply, SubscriptionRequestKind},
    request::{build_subscription_request, requestor_ref},
};
use super::{
    PAGES_MAX, SiriProtocol,
    decoding::{
        DecodedAnswer, ProducerMessage, decode_siri_body, decode_siri_message, message_limits,
        missing_delivery_failure, redact_producer_text, schedule_time_zone_or_utc,
    },
    is_subscription_feed,
    requests::build_post,
};
use crate::{
    fetch::{FetchedBody, SourceRequest},
    fetch_failure::{FailureCode, FetchError},
    inbox::{DELIVERIES_MAX, InboxDelivery},
    poll::{
        accept::hash_body,
        decoder_crash_failure,
        polled_feed::PolledFeed,
        protocol::{NextPollChange, PollSuccess},
    },
};

/// Share of entities that must be repeated for a renewed subscription to count as a full refresh.
const REFRESH_SHARE_MIN: f64 = 0.5;

impl SiriProtocol {
    /// Returns the time until the next request of the subscription; `None` if it is due now or there is no
    /// subscription.
    pub(super) fn time_until_subscription_request(&self, polled: &PolledFeed) -> Option<Duration> {
        let rest = self.subscription.time_until_next_request(polled.clock.monotonic())?;
        is_subscription_feed(polled).then_some(rest)
    }

    /// Returns the next request of a subscription: for announced data, for the status, or for the subscription itself.
    ///
    /// # Errors
    /// Returns an error if no address for deliveries is configured.
    pub(super) async fn next_subscription_request(
        &mut self,
        polled: &mut PolledFeed,
    ) -> Result<SourceRequest, FetchError> {
        // A waiting delivery may announce the same data again.
        for _ in 0..DELIVERIES_MAX {
            let Ok(delivery) = self.deliveries.try_recv() else { break };
            self.accept_inbox_delivery(polled, delivery).await;
        }
        let mut question = match self.subscription.choose_next_request(polled.clock.monotonic()) {
            SubscriptionRequestKind::Supply => self.build_data_supply_request(polled),
            SubscriptionRequestKind::Check => self.build_check_status_request(polled),
            SubscriptionRequestKind::Subscription => self.build_subscribe_request(polled).await?,
        };
        // Any answer may echo the key that the subscription request contained.
        if let (SourceRequest::Post(post), Some(inbox)) = (&mut question, polled.feed.inbox()) {
            post.secret = Some(inbox.inbox_key().clone());
        }
        Ok(question)
    }

    /// Builds the CheckStatus request.
    fn build_check_status_request(&self, polled: &PolledFeed) -> SourceRequest {
        let source = polled.feed.config().siri.clone().unwrap_or_default();
        let now = polled.clock.wall_time();
        let request = CheckStatusRequest {
            request_timestamp: SiriTime::from_millis(now.0),
            requestor_ref: Some(requestor_ref(&source, &polled.inboxes.subscriber)),
            message_identifier: Some(format_smolstr!("lineside-{}-{}", polled.feed.id(), now.0)),
        };
        build_post(&source, MessagePayload::CheckStatusRequest(request), "CheckStatus")
    }

    /// Builds the request for all announced data.
    fn build_data_supply_request(&self, polled: &PolledFeed) -> SourceRequest {
        let source = polled.feed.config().siri.clone().unwrap_or_default();
        let now = polled.clock.wall_time();
        let request = DataSupplyRequest {
            request_timestamp: SiriTime::from_millis(now.0),
            consumer_ref: Some(requestor_ref(&source, &polled.inboxes.subscriber)),
            message_identifier: Some(format_smolstr!("lineside-{}-{}", polled.feed.id(), now.0)),
            all_data: Some(false),
            ..DataSupplyRequest::default()
        };
        build_post(&source, MessagePayload::DataSupplyRequest(request), "DataSupply")
    }

    /// Accepts the answer to the last request.
    pub(super) async fn accept_subscription_reply(
        &mut self,
        polled: &mut PolledFeed,
        body: FetchedBody,
    ) -> Result<PollSuccess, FetchError> {
        match self.subscription.action {
            SubscriptionRequestKind::Subscription => {
                return self.accept_subscription_response(polled, body).await;
            }
            SubscriptionRequestKind::Check => {
                return self.accept_check_status_response(polled, body).await;
            }
            SubscriptionRequestKind::Supply => {}
        }
        let ProducerMessage::Answer(answer) = decode_siri_body(polled, body.bytes.clone()).await?
        else {
            return Err(missing_delivery_failure());
        };
        let has_more = answer.has_more;
        let before = self.subscription.supply.pages;
        let continues = has_more && before < PAGES_MAX;
        self.is_cut_off = has_more && !continues;
        self.accept_data_delivery(polled, body.bytes, *answer).await?;
        let subscription = &mut self.subscription;
        subscription.last_delivery_at = polled.clock.monotonic();
        subscription.has_been_silent = false;
        let pages = if continues { before + 1 } else { 0 };
        subscription.supply = PendingDataSupply { is_due: continues, pages };
        Ok(PollSuccess::New)
    }

    /// Accepts the answer to CheckStatus. A positive one extends the subscription, but says nothing about the data: a
    /// running producer may have data that do not reach us.
    async fn accept_check_status_response(
        &mut self,
        polled: &mut PolledFeed,
        body: FetchedBody,
    ) -> Result<PollSuccess, FetchError> {
        let (limits, zone) = (message_limits(polled), schedule_time_zone_or_utc(polled));
        let reading = tokio::task::spawn_blocking(move || {
            Ok(ProducerNotification::from_check_status(
                &decode_siri_message(&body.bytes, &zone, &limits)?.0,
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
                if !self.subscription.has_producer_restarted(started) =>
            {
                self.subscription.checked_at = Some(polled.clock.monotonic());
                if !self.subscription.has_been_silent {
                    polled.clear_failures();
                }
            }
            _ => drop(self.mark_subscription_ended(polled)),
        }
        Ok(PollSuccess::Checked)
    }

    /// Ends the subscription after the producer has ended or forgotten it; returns the time until the next request, if
    /// there was a subscription.
    fn mark_subscription_ended(&mut self, polled: &PolledFeed) -> Option<Duration> {
        // A repeated notification must not change the time of the next request.
        self.subscription.renew_at?;
        let now = polled.clock.monotonic();
        self.subscription = self.subscription.after_producer_ended(now);
        self.subscription.time_until_next_request(now)
    }

    /// Builds the request that begins or renews a subscription.
    ///
    /// # Errors
    /// Returns an error if no address for deliveries is configured.
    async fn build_subscribe_request(
        &mut self,
        polled: &mut PolledFeed,
    ) -> Result<SourceRequest, FetchError> {
        if self.subscription.is_producer_silent(polled.clock.monotonic()) {
            // A silent producer may have lost data, so a full refresh is needed.
            self.subscription = self.subscription.without_subscription();
            self.subscription.has_been_silent = true;
            let detail = "no message of the subscription arrived in time";
            polled.record_failure(FetchError::new(FailureCode::Timeout, detail)).await;
        }
        let Some(address) = self.inbox_delivery_url(polled) else {
            let detail = "the subscription needs server.public_url, which is not configured";
            return Err(FetchError::new(FailureCode::Connect, detail));
        };
        let config = polled.feed.shared_config().clone();
        let source = config.siri.clone().unwrap_or_default();
        let subscriber = &polled.inboxes.subscriber;
        let request = build_subscription_request(
            &config,
            &source,
            (subscriber, &address),
            polled.clock.wall_time(),
        );
        Ok(build_post(&source, MessagePayload::SubscriptionRequest(request), "Subscribe"))
    }

    fn inbox_delivery_url(&self, polled: &PolledFeed) -> Option<String> {
        let inbox = polled.feed.inbox()?;
        let base = polled.inboxes.address.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/siri/inbox/{}?key={}", polled.feed.id(), inbox.inbox_key().reveal()))
    }

    /// Accepts the answer to a subscription request.
    async fn accept_subscription_response(
        &mut self,
        polled: &mut PolledFeed,
        body: FetchedBody,
    ) -> Result<PollSuccess, FetchError> {
        let (limits, zone) = (message_limits(polled), schedule_time_zone_or_utc(polled));
        let reading = tokio::task::spawn_blocking(move || {
            let (message, _) = decode_siri_message(&body.bytes, &zone, &limits)?;
            Ok(SubscriptionAgreement::from_message(&message))
        });
        let in_doubt = self.subscription.after_unreadable_message();
        let before = std::mem::replace(&mut self.subscription, in_doubt);
        let read = reading.await.unwrap_or_else(|_| Err(decoder_crash_failure()))?;
        // The producer's text may echo the request, which contains the key of the inbox.
        let shown = |reason_text: &str| redact_producer_text(polled, reason_text);
        let mut agreement = read.map_err(|not| not.to_failure(shown))?;
        agreement.refused.iter_mut().for_each(|reason_text| *reason_text = shown(reason_text));
        let (now, wall) = (polled.clock.monotonic(), polled.clock.wall_time());
        self.entities.begin_full_refresh();
        self.subscription = before.after_agreement(agreement, now, wall);
        polled.status.failures_in_a_row = 0;
        // A promise of a producer that fell silent before does not clear the failure.
        if !self.subscription.has_been_silent {
            polled.clear_failures();
        }
        Ok(PollSuccess::Subscribed)
    }

    pub(super) async fn accept_inbox_delivery(
        &mut self,
        polled: &mut PolledFeed,
        delivery: InboxDelivery,
    ) -> NextPollChange {
        let bytes = delivery.bytes.clone();
        let ongoing_poll = polled.poll_log.start_measuring_poll(&polled.status);
        self.subscription.last_delivery_at = polled.clock.monotonic();
        self.subscription.has_been_silent = false;
        let accepted = match decode_siri_body(polled, bytes.clone()).await {
            Ok(ProducerMessage::Answer(answer)) => self
                .accept_data_delivery(polled, bytes, *answer)
                .await
                .map(|()| NextPollChange::Unchanged),
            Ok(ProducerMessage::Event(event)) => {
                Ok(self.apply_producer_notification(polled, event).await)
            }
            Err(failure) => Err(failure),
        };
        match accepted {
            Ok(next_poll) => {
                polled.update_and_report_state().await;
                polled.poll_log.record_producer_delivery(
                    ongoing_poll,
                    &polled.feed,
                    &polled.status,
                );
                // The time of the last message is reported even if nothing else has changed.
                polled.feed.set_status(polled.status.clone());
                match (next_poll, self.time_until_subscription_request(polled)) {
                    // A sign of life postpones the next status check.
                    (NextPollChange::Unchanged, Some(wait)) => NextPollChange::NotBefore(wait),
                    (next_poll, _) => next_poll,
                }
            }
            Err(failure) => {
                polled.record_failure(failure).await;
                polled.poll_log.record_producer_delivery(
                    ongoing_poll,
                    &polled.feed,
                    &polled.status,
                );
                // Its content is unknown, so all data are requested, as after a failed poll. The producer may
                // nevertheless continue with changes.
                self.subscription = self.subscription.after_unreadable_message();
                NextPollChange::AfterPoll
            }
        }
    }

    async fn accept_data_delivery(
        &mut self,
        polled: &mut PolledFeed,
        bytes: Bytes,
        answer: DecodedAnswer,
    ) -> Result<(), FetchError> {
        let now = polled.clock.wall_time();
        polled.status.bytes += bytes.len() as u64;
        let hash = hash_body(&bytes).await;
        let observation = self.merge_and_apply_answer(polled, answer, now).await?;
        let body = FetchedBody {
            bytes,
            content_type: None,
            last_modified: None,
            file_name: None,
            status: None,
        };
        polled.store_and_serve_body(body, Format::Siri, hash, now).await;
        polled.pass_message_to_observer(observation, now).await;
        Ok(())
    }

    async fn apply_producer_notification(
        &mut self,
        polled: &mut PolledFeed,
        event: ProducerNotification,
    ) -> NextPollChange {
        let is_ended = match event {
            ProducerNotification::Alive(started) => {
                self.subscription.has_producer_restarted(started)
            }
            ProducerNotification::Ended => true,
            ProducerNotification::DataReady => {
                // Without a subscription all data are requested anyway.
                if self.subscription.renew_at.is_none() {
                    return NextPollChange::Unchanged;
                }
                self.subscription.supply.is_due = true;
                return NextPollChange::In(Duration::ZERO);
            }
            ProducerNotification::OtherEnded => {
                // Accepted without effect; logged for an operator who meant this feed's subscription.
                tracing::info!(feed = %polled.feed.snapshot_key(), "the producer ended a subscription that is not this feed's");
                return NextPollChange::Unchanged;
            }
        };
        if is_ended {
            return self
                .mark_subscription_ended(polled)
                .map_or(NextPollChange::Unchanged, NextPollChange::In);
        }
        if self.subscription.has_delivered {
            polled.record_not_modified();
            self.resend_all_entities(polled).await;
        } else {
            polled.clear_failures();
        }
        NextPollChange::Unchanged
    }

    /// Once the full refresh is complete, removes the entities that were not repeated. After a renewal the producer may
    /// send only changes: then nothing is removed.
    pub(super) async fn remove_not_repeated_when_complete(&mut self, polled: &mut PolledFeed) {
        let now = polled.clock.monotonic();
        let is_settled = polled.status.is_beginning && !self.is_initial_load_incomplete(polled);
        if is_settled {
            polled.status.is_beginning = false;
            self.is_whole = true;
            // Readers must see the change even if nothing else changes.
            polled.feed.set_status(polled.status.clone());
        }
        let is_swept = self.subscription.take_completed_refresh(now).is_some_and(|is_renewal| {
            let is_all =
                !is_renewal || self.entities.share_repeated_in_refresh() >= REFRESH_SHARE_MIN;
            is_all && self.entities.remove_not_repeated()
        });
        // Data held back so far are published now, or after a failure with the producer's next message.
        let is_not_sent = is_settled && !self.is_sending_parts;
        if is_swept || (is_not_sent && polled.status.failures_in_a_row == 0) {
            self.resend_all_entities(polled).await;
        }
    }

    /// Returns true if the producer may not have sent all data yet since the last reset: the first deliveries are
    /// parts.
    pub(super) fn is_initial_load_incomplete(&mut self, polled: &PolledFeed) -> bool {
        if self.is_whole || !is_subscription_feed(polled) {
            return false;
        }
        let now = polled.clock.monotonic();
        now < *self.began_at.get_or_insert(now) + CATCH_UP_MAX
    }

    /// Builds the TerminateSubscription request, if there is a subscription.
    pub(super) fn build_termination_request(&self, polled: &PolledFeed) -> Option<SourceRequest> {
        if self.subscription.renew_at.is_none() || !is_subscription_feed(polled) {
            return None;
        }
        let config = polled.feed.config();
        let source = config.siri.clone().unwrap_or_default();
        let request = TerminateSubscriptionRequest {
            request_timestamp: SiriTime::from_millis(polled.clock.wall_time().0),
            requestor_ref: Some(requestor_ref(&source, &polled.inboxes.subscriber)),
            subscriber_ref: Some(polled.inboxes.subscriber.as_ref().into()),
            all: PresenceFlag::default(),
            subscription_refs: all_subscription_ids(config, &source),
            ..TerminateSubscriptionRequest::default()
        };
        let payload = MessagePayload::TerminateSubscriptionRequest(request);
        Some(build_post(&source, payload, "DeleteSubscription"))
    }
}
