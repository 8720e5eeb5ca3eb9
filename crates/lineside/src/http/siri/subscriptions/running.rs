//! One subscription, from its first message to its last.

use std::time::Duration;

use bytes::Bytes;
use lineside_formats::siri::{HeartbeatNotification, Payload, ServiceDelivery, Time};
use lineside_hub::Epoch;
use lineside_sync::UnixMillis;

use super::super::answer::{self, whole, wrap};
use super::super::asked::{Asked, Subject};
use super::super::scene::Scene;
use super::Place;
use super::consumer::Consumer;
use super::manner::Manner;
use super::news::{Memory, News, news};
use super::patience::{Patience, RETRY, Sent};
use crate::app::App;
use crate::http::aside::aside;
use crate::http::limits::SIRI_CYCLE;

/// What a subscription is to.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) subject: Subject,
    /// Of records as many as one delivery may hold.
    pub(super) asked: Asked,
    pub(super) manner: Manner,
    pub(super) consumer: Consumer,
    pub(super) heartbeat: Duration,
    pub(super) ends: UnixMillis,
}

/// How a look at the networks ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// There was nothing to tell.
    Nothing,
    /// There was nothing to tell so far, and there may be in what is left.
    Passed,
    /// All was taken.
    Told,
    /// Something was taken, and there is more.
    More,
    /// It was not taken.
    Failed,
}

/// Where each network is, and when that is where visits pass.
type Sight = (Vec<(Epoch, u64)>, Option<UnixMillis>);

struct Run {
    app: App,
    place: Place,
    subscription: Subscription,
    known: Memory,
    /// What the networks were when all of them was told.
    seen: Option<Sight>,
    /// Until when nothing is told, on the monotonic clock.
    rests_until: Duration,
}

/// Serves a subscription until it ends.
pub(super) async fn run(app: App, place: Place, subscription: Subscription) {
    let (clock, stop) = (app.clock().clone(), place.stop.clone());
    let shutdown = app.shutdown().clone();
    let mut run = Run {
        app,
        place,
        subscription,
        known: Memory::default(),
        seen: None,
        rests_until: Duration::ZERO,
    };
    let (mut patience, mut beat_at) = (Patience::default(), Duration::ZERO);
    // A host that does not know of SIRI is sent a heartbeat and nothing else.
    let mut is_met = false;
    while clock.wall() < run.subscription.ends {
        let (sent, looked) = if clock.monotonic() >= beat_at || !is_met {
            beat_at = clock.monotonic() + run.subscription.heartbeat;
            (Sent::Heartbeat, run.beat().await)
        } else {
            (Sent::Delivery, run.look().await)
        };
        let pause = match looked {
            Looked::Failed if patience.fail(sent, clock.monotonic()) => {
                let Place { name, .. } = &run.place;
                tracing::info!(?name, "a SIRI consumer fails, and its subscription ends");
                return;
            }
            Looked::Failed => RETRY,
            Looked::Told | Looked::More => {
                patience.succeed(sent);
                // After the first word, and while there is more, without a pause.
                let goes_on = looked == Looked::More || !std::mem::replace(&mut is_met, true);
                if goes_on { Duration::ZERO } else { SIRI_CYCLE }
            }
            Looked::Passed => Duration::ZERO,
            Looked::Nothing => SIRI_CYCLE,
        };
        tokio::select! {
            () = clock.sleep(pause) => {}
            () = stop.cancelled() => return,
            () = shutdown.draining() => return,
        }
    }
}

impl Run {
    /// Says that we are there.
    async fn beat(&self) -> Looked {
        let scene = Scene::of(&self.app);
        let beat = wrap(Payload::HeartbeatNotification(HeartbeatNotification {
            request_timestamp: scene.time(),
            producer_ref: Some(answer::PRODUCER.into()),
            status: Some(true),
            service_started_time: Time::from_millis(scene.started.0),
            ..HeartbeatNotification::default()
        }));
        let body = self.subscription.consumer.form.encode_notification(&beat);
        self.send(body).await
    }

    /// Tells what is new, if something is.
    async fn look(&mut self) -> Looked {
        let now = self.app.clock().monotonic();
        if now < self.rests_until {
            return Looked::Nothing;
        }
        let scene = Scene::of(&self.app);
        let Subscription { subject, ref asked, manner, ref consumer, .. } = self.subscription;
        // What passes at a stop becomes another with time, and so does what is near enough.
        let is_of_moment = subject == Subject::Visits || asked.preview.is_some();
        let seen = (scene.revisions(), is_of_moment.then_some(scene.at));
        if self.seen.as_ref() == Some(&seen) {
            return Looked::Nothing;
        }
        // While many answers are made this one waits for the next look.
        let Some(maker) = self.app.admission().admit_maker() else { return Looked::Nothing };
        let (asked, form, known) = (asked.clone(), consumer.form, self.known.clone());
        let name = self.place.name.clone();
        let made = aside(move || {
            let _maker = maker;
            // What was known at the beginning may be gone since; then there is nothing to tell of it.
            let News { delivery, memory, has_more } =
                news(&scene, subject, &asked, manner, &known)?;
            let body = delivery.map(|delivery| {
                let named = with_names(delivery, &name.subscriber, &name.subscription);
                form.encode_notification(&whole(&scene, asked.message_ref.as_deref(), named))
            });
            Some((body, memory, has_more))
        });
        let Ok(Some((body, known, has_more))) = made.await else { return Looked::Nothing };
        let looked = match body {
            Some(body) => self.send(body).await,
            None => Looked::Nothing,
        };
        if looked == Looked::Failed {
            return looked;
        }
        self.known = known;
        if has_more {
            return if looked == Looked::Told { Looked::More } else { Looked::Passed };
        }
        self.seen = Some(seen);
        if looked == Looked::Told {
            self.rests_until = now + manner.rest();
        }
        looked
    }

    async fn send(&self, body: Bytes) -> Looked {
        let clients = &self.app.subscriptions().clients;
        match clients.send(&self.app, &self.subscription.consumer, body).await {
            true => Looked::Told,
            false => Looked::Failed,
        }
    }
}

/// A delivery that says whose subscription it is for.
fn with_names(
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
