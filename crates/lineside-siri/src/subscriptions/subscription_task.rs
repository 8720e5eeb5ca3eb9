//! The task of one subscription.

use std::time::Duration;

use bytes::Bytes;
use lineside_formats::siri::{HeartbeatNotification, MessagePayload, ServiceDelivery, SiriTime};
use lineside_http::blocking::run_blocking;
use lineside_http::limits::SIRI_CYCLE;
use lineside_hub::Epoch;
use lineside_sync::UnixMillis;

use super::super::deliveries::{self, wrap_delivery_in_message, wrap_payload_in_message};
use super::super::query::{QuerySubject, SiriQuery};
use super::super::snapshot::SiriSnapshot;
use super::SubscriptionPermit;
use super::consumer::ConsumerTarget;
use super::consumer_failures::{ConsumerFailures, ConsumerMessageKind, RETRY};
use super::update_policy::UpdatePolicy;
use super::updates::{PendingUpdate, SubscriberState, find_updates};
use crate::SiriService;

/// An accepted subscription.
#[derive(Debug)]
pub(super) struct ServedSubscription {
    pub(super) subject: QuerySubject,
    /// The query; for records limited to one delivery.
    pub(super) query: SiriQuery,
    pub(super) update_policy: UpdatePolicy,
    pub(super) consumer: ConsumerTarget,
    pub(super) heartbeat: Duration,
    pub(super) ends_at: UnixMillis,
}

/// The result of one check for updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpdateOutcome {
    /// There were no updates.
    Unchanged,
    /// There were no updates in this part; the next part may have some.
    PartUnchanged,
    /// The consumer accepted everything.
    Delivered,
    /// The consumer accepted a part, and there is more.
    More,
    /// The consumer did not accept the delivery.
    Failed,
}

/// The revision of each network, and the time if the result depends on it.
type NetworkRevisions = (Vec<(Epoch, u64)>, Option<UnixMillis>);

struct SubscriptionTask {
    siri: SiriService,
    permit: SubscriptionPermit,
    subscription: ServedSubscription,
    state: SubscriberState,
    /// The state of the networks at the last complete delivery.
    delivered_revisions: Option<NetworkRevisions>,
    /// End of the minimum interval between deliveries, in monotonic time.
    not_before: Duration,
}

/// Serves a subscription until it ends.
pub(super) async fn run_subscription(
    siri: SiriService,
    permit: SubscriptionPermit,
    subscription: ServedSubscription,
) {
    let (clock, stop) = (siri.clock().clone(), permit.stop.clone());
    let shutdown = siri.shutdown().clone();
    let mut run = SubscriptionTask {
        siri,
        permit,
        subscription,
        state: SubscriberState::default(),
        delivered_revisions: None,
        not_before: Duration::ZERO,
    };
    let (mut failures, mut beat_at) = (ConsumerFailures::default(), Duration::ZERO);
    // A host that does not expect SIRI is sent only heartbeats.
    let mut is_met = false;
    while clock.wall_time() < run.subscription.ends_at {
        let (sent, outcome) = if clock.monotonic() >= beat_at || !is_met {
            beat_at = clock.monotonic() + run.subscription.heartbeat;
            (ConsumerMessageKind::Heartbeat, run.send_heartbeat().await)
        } else {
            (ConsumerMessageKind::Delivery, run.send_updates().await)
        };
        let pause = match outcome {
            UpdateOutcome::Failed if failures.record_failure(sent, clock.monotonic()) => {
                let SubscriptionPermit { name, .. } = &run.permit;
                tracing::info!(?name, "a SIRI consumer keeps failing, so its subscription ends");
                return;
            }
            UpdateOutcome::Failed => RETRY,
            UpdateOutcome::Delivered | UpdateOutcome::More => {
                failures.record_success(sent);
                // Continues without a pause after the first heartbeat, and while there is more.
                let is_alive =
                    outcome == UpdateOutcome::More || !std::mem::replace(&mut is_met, true);
                if is_alive { Duration::ZERO } else { SIRI_CYCLE }
            }
            UpdateOutcome::PartUnchanged => Duration::ZERO,
            UpdateOutcome::Unchanged => SIRI_CYCLE,
        };
        tokio::select! {
            () = clock.sleep(pause) => {}
            () = stop.cancelled() => return,
            () = shutdown.wait_until_draining() => return,
        }
    }
}

impl SubscriptionTask {
    /// Sends a heartbeat.
    async fn send_heartbeat(&self) -> UpdateOutcome {
        let snapshot = SiriSnapshot::capture_networks(&self.siri);
        let beat =
            wrap_payload_in_message(MessagePayload::HeartbeatNotification(HeartbeatNotification {
                request_timestamp: snapshot.response_time(),
                producer_ref: Some(deliveries::PRODUCER.into()),
                status: Some(true),
                service_started_time: SiriTime::from_millis(snapshot.started.0),
                ..HeartbeatNotification::default()
            }));
        let body = self.subscription.consumer.encoding.encode_notification(&beat);
        self.send_message(body).await
    }

    /// Sends the updates, if there are any.
    async fn send_updates(&mut self) -> UpdateOutcome {
        let now = self.siri.clock().monotonic();
        if now < self.not_before {
            return UpdateOutcome::Unchanged;
        }
        let snapshot = SiriSnapshot::capture_networks(&self.siri);
        let ServedSubscription { subject, ref query, update_policy, ref consumer, .. } =
            self.subscription;
        // The visits of a stop change with time, and so do the journeys within a preview interval.
        let depends_on_time = subject == QuerySubject::Visits || query.preview.is_some();
        let seen = (snapshot.network_revisions(), depends_on_time.then_some(snapshot.at));
        if self.delivered_revisions.as_ref() == Some(&seen) {
            return UpdateOutcome::Unchanged;
        }
        // If too many replies are being built, this delivery waits for the next check.
        let Some(reply_permit) = self.siri.admission().acquire_large_reply_permit() else {
            return UpdateOutcome::Unchanged;
        };
        let (query, encoding, known) = (query.clone(), consumer.encoding, self.state.clone());
        let name = self.permit.name.clone();
        let answer = run_blocking(move || {
            let _maker = reply_permit;
            // The subscribed stop or line may have been removed meanwhile; then there are no updates.
            let PendingUpdate { delivery, state, has_more } =
                find_updates(&snapshot, subject, &query, update_policy, &known)?;
            let body = delivery.map(|delivery| {
                let named = add_subscription_refs(delivery, &name.subscriber, &name.subscription);
                encoding.encode_notification(&wrap_delivery_in_message(
                    &snapshot,
                    query.message_ref.as_deref(),
                    named,
                ))
            });
            Some((body, state, has_more))
        });
        let Ok(Some((body, known, has_more))) = answer.await else {
            return UpdateOutcome::Unchanged;
        };
        let outcome = match body {
            Some(body) => self.send_message(body).await,
            None => UpdateOutcome::Unchanged,
        };
        if outcome == UpdateOutcome::Failed {
            return outcome;
        }
        self.state = known;
        if has_more {
            return if outcome == UpdateOutcome::Delivered {
                UpdateOutcome::More
            } else {
                UpdateOutcome::PartUnchanged
            };
        }
        self.delivered_revisions = Some(seen);
        if outcome == UpdateOutcome::Delivered {
            self.not_before = now + update_policy.pause_after_delivery();
        }
        outcome
    }

    async fn send_message(&self, body: Bytes) -> UpdateOutcome {
        let clients = &self.siri.subscriptions().clients;
        match clients.send_message(&self.siri, &self.subscription.consumer, body).await {
            true => UpdateOutcome::Delivered,
            false => UpdateOutcome::Failed,
        }
    }
}

fn add_subscription_refs(
    mut delivery: ServiceDelivery,
    subscriber: &str,
    subscription: &str,
) -> ServiceDelivery {
    let journeys = delivery.estimated_timetables.iter_mut().map(|it| &mut it.head);
    let vehicles = delivery.vehicle_monitorings.iter_mut().map(|it| &mut it.head);
    let situations = delivery.situation_exchanges.iter_mut().map(|it| &mut it.head);
    let visits = delivery.stop_monitorings.iter_mut().map(|it| &mut it.head);
    for head in journeys.chain(vehicles).chain(situations).chain(visits) {
        head.subscriber_ref = Some(subscriber.into());
        head.subscription_ref = Some(subscription.into());
    }
    delivery
}
