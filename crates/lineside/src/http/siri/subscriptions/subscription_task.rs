//! The task of one subscription.

use std::time::Duration;

use bytes::Bytes;
use lineside_formats::siri::{HeartbeatNotification, MessagePayload, ServiceDelivery, SiriTime};
use lineside_hub::Epoch;
use lineside_sync::UnixMillis;

use super::super::deliveries::{self, wrap_delivery, wrap_payload};
use super::super::query::{QuerySubject, SiriQuery};
use super::super::snapshot::SiriSnapshot;
use super::SubscriptionPermit;
use super::consumer::ConsumerTarget;
use super::consumer_failures::{ConsumerFailures, MessageKind, RETRY};
use super::update_policy::UpdatePolicy;
use super::updates::{PendingUpdate, SubscriberState, find_updates};
use crate::app::App;
use crate::http::blocking::run_blocking;
use crate::http::limits::SIRI_CYCLE;

/// An accepted subscription.
#[derive(Debug)]
pub(super) struct ServedSubscription {
    pub(super) subject: QuerySubject,
    /// The query; for records limited to one delivery.
    pub(super) asked: SiriQuery,
    pub(super) manner: UpdatePolicy,
    pub(super) consumer: ConsumerTarget,
    pub(super) heartbeat: Duration,
    pub(super) ends: UnixMillis,
}

/// The result of one check for updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpdateOutcome {
    /// There were no updates.
    Nothing,
    /// There were no updates in this part; the next part may have some.
    Passed,
    /// The consumer accepted everything.
    Told,
    /// The consumer accepted a part, and there is more.
    More,
    /// The consumer did not accept the delivery.
    Failed,
}

/// The revision of each network, and the time if the result depends on it.
type Sight = (Vec<(Epoch, u64)>, Option<UnixMillis>);

struct SubscriptionTask {
    app: App,
    place: SubscriptionPermit,
    subscription: ServedSubscription,
    known: SubscriberState,
    /// The state of the networks at the last complete delivery.
    seen: Option<Sight>,
    /// End of the minimum interval between deliveries, in monotonic time.
    rests_until: Duration,
}

/// Serves a subscription until it ends.
pub(super) async fn run_subscription(
    app: App,
    place: SubscriptionPermit,
    subscription: ServedSubscription,
) {
    let (clock, stop) = (app.clock().clone(), place.stop.clone());
    let shutdown = app.shutdown().clone();
    let mut run = SubscriptionTask {
        app,
        place,
        subscription,
        known: SubscriberState::default(),
        seen: None,
        rests_until: Duration::ZERO,
    };
    let (mut patience, mut beat_at) = (ConsumerFailures::default(), Duration::ZERO);
    // A host that does not expect SIRI is sent only heartbeats.
    let mut is_met = false;
    while clock.wall_time() < run.subscription.ends {
        let (sent, looked) = if clock.monotonic() >= beat_at || !is_met {
            beat_at = clock.monotonic() + run.subscription.heartbeat;
            (MessageKind::Heartbeat, run.send_heartbeat().await)
        } else {
            (MessageKind::Delivery, run.send_updates().await)
        };
        let pause = match looked {
            UpdateOutcome::Failed if patience.record_failure(sent, clock.monotonic()) => {
                let SubscriptionPermit { name, .. } = &run.place;
                tracing::info!(?name, "a SIRI consumer keeps failing, so its subscription ends");
                return;
            }
            UpdateOutcome::Failed => RETRY,
            UpdateOutcome::Told | UpdateOutcome::More => {
                patience.record_success(sent);
                // Continues without a pause after the first heartbeat, and while there is more.
                let goes_on =
                    looked == UpdateOutcome::More || !std::mem::replace(&mut is_met, true);
                if goes_on { Duration::ZERO } else { SIRI_CYCLE }
            }
            UpdateOutcome::Passed => Duration::ZERO,
            UpdateOutcome::Nothing => SIRI_CYCLE,
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
        let scene = SiriSnapshot::capture_networks(&self.app);
        let beat = wrap_payload(MessagePayload::HeartbeatNotification(HeartbeatNotification {
            request_timestamp: scene.response_time(),
            producer_ref: Some(deliveries::PRODUCER.into()),
            status: Some(true),
            service_started_time: SiriTime::from_millis(scene.started.0),
            ..HeartbeatNotification::default()
        }));
        let body = self.subscription.consumer.form.encode_notification(&beat);
        self.send_message(body).await
    }

    /// Sends the updates, if there are any.
    async fn send_updates(&mut self) -> UpdateOutcome {
        let now = self.app.clock().monotonic();
        if now < self.rests_until {
            return UpdateOutcome::Nothing;
        }
        let scene = SiriSnapshot::capture_networks(&self.app);
        let ServedSubscription { subject, ref asked, manner, ref consumer, .. } = self.subscription;
        // The visits of a stop change with time, and so do the journeys within a preview interval.
        let is_of_moment = subject == QuerySubject::Visits || asked.preview.is_some();
        let seen = (scene.revisions(), is_of_moment.then_some(scene.at));
        if self.seen.as_ref() == Some(&seen) {
            return UpdateOutcome::Nothing;
        }
        // If too many replies are being built, this delivery waits for the next check.
        let Some(maker) = self.app.admission().permit_large_reply() else {
            return UpdateOutcome::Nothing;
        };
        let (asked, form, known) = (asked.clone(), consumer.form, self.known.clone());
        let name = self.place.name.clone();
        let made = run_blocking(move || {
            let _maker = maker;
            // The subscribed stop or line may have been removed meanwhile; then there are no updates.
            let PendingUpdate { delivery, memory, has_more } =
                find_updates(&scene, subject, &asked, manner, &known)?;
            let body = delivery.map(|delivery| {
                let named = add_names(delivery, &name.subscriber, &name.subscription);
                form.encode_notification(&wrap_delivery(
                    &scene,
                    asked.message_ref.as_deref(),
                    named,
                ))
            });
            Some((body, memory, has_more))
        });
        let Ok(Some((body, known, has_more))) = made.await else { return UpdateOutcome::Nothing };
        let looked = match body {
            Some(body) => self.send_message(body).await,
            None => UpdateOutcome::Nothing,
        };
        if looked == UpdateOutcome::Failed {
            return looked;
        }
        self.known = known;
        if has_more {
            return if looked == UpdateOutcome::Told {
                UpdateOutcome::More
            } else {
                UpdateOutcome::Passed
            };
        }
        self.seen = Some(seen);
        if looked == UpdateOutcome::Told {
            self.rests_until = now + manner.min_interval();
        }
        looked
    }

    async fn send_message(&self, body: Bytes) -> UpdateOutcome {
        let clients = &self.app.siri_subscriptions().clients;
        match clients.send_message(&self.app, &self.subscription.consumer, body).await {
            true => UpdateOutcome::Told,
            false => UpdateOutcome::Failed,
        }
    }
}

/// Adds the names of the subscription to a delivery.
fn add_names(
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
