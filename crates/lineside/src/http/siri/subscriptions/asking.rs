//! Who asks for subscriptions, and who takes them back.

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::Response;
use http::HeaderMap;
use lineside_formats::siri::{
    EstimatedTimetableSubscriptionRequest, Message, Payload, ResponseStatus, Seconds,
    SituationExchangeSubscriptionRequest, StopMonitoringSubscriptionRequest, SubscriptionRequest,
    SubscriptionResponse, TerminateSubscriptionRequest, TerminateSubscriptionResponse, Time,
    VehicleMonitoringSubscriptionRequest,
};
use lineside_ingest::PublicOnly;
use lineside_ingest::siri::Service;
use lineside_sync::UnixMillis;
use url::Url;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::consumer::Consumer;
use super::manner::Manner;
use super::owner::{Asker, Owner};
use super::running::{Subscription, run};
use super::{Name, NotEntered, Place};
use crate::admin::By;
use crate::app::App;
use crate::http::errors::{Problem, Refusal};
use crate::http::limits::{
    SIRI_CYCLE, SIRI_DELIVERY_ELEMENTS, SIRI_QUESTIONS_MAX, SIRI_REF_BYTES_MAX,
    SIRI_REQUEST_BYTES_MAX, SIRI_SUBSCRIPTION_LIFE_MAX, SIRI_SUBSCRIPTION_LIFE_OF_STRANGERS,
};
use crate::http::proxies::Peer;
use crate::http::siri::answer::{self, wrap};
use crate::http::siri::asked::{Asked, Question, Subject};
use crate::http::siri::fault::Fault;
use crate::http::siri::form::Form;
use crate::http::siri::scene::Scene;
use crate::http::siri::services::Posted;

/// A consumer is told that we are there this often if it does not say how often, and never more often or more rarely.
const HEARTBEAT_LEAST: Duration = Duration::from_secs(30);
/// See [`HEARTBEAT_LEAST`].
const HEARTBEAT_MOST: Duration = Duration::from_secs(60);

pub(in super::super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(subscribe))
        .layer(DefaultBodyLimit::max(SIRI_REQUEST_BYTES_MAX))
}

/// Subscribe to SIRI, or take subscriptions back
///
/// `SubscriptionRequest` with `ConsumerAddress` and, in each subscription, `InitialTerminationTime`; `TerminateSubscriptionRequest`
/// ends them. Deliveries and heartbeats are posted to the consumer, in the envelope in which it subscribed.
#[utoipa::path(
    post, path = "/siri/subscribe", tag = "formats",
    request_body(content = String, content_type = "application/xml", description = "A message of SIRI"),
    responses(
        (status = 200, description = "How each subscription went", content_type = "application/xml"),
        (status = 400, description = "An `ErrorCondition`: the request cannot be read", content_type = "application/xml"),
        (status = 500, description = "A fault of SOAP: the request cannot be read, or is not for subscriptions", content_type = "text/xml"),
        (status = 503, description = "`busy` or `shutting_down`", body = Problem)
    )
)]
async fn subscribe(
    State(app): State<App>,
    by: Option<By>,
    peer: Peer,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    if app.shutdown().is_draining() {
        return Err(Refusal::ShuttingDown);
    }
    let scene = Scene::of(&app);
    let posted = match Posted::take(&app, &scene, request).await? {
        Ok(posted) => posted,
        Err(response) => return Ok(response),
    };
    let form = posted.form;
    let asker = Asker::of(app.proxies().client_of(peer, &headers), by.is_some());
    let made = match &posted.payload {
        Payload::SubscriptionRequest(request) => {
            let is_trusted = asker.is_admin || app.config().server.private_consumers;
            let asking = Asking { app: &app, scene: &scene, request, form, asker, is_trusted };
            Ok(asking.accepted())
        }
        Payload::TerminateSubscriptionRequest(request) => Ok(ended(&app, &scene, request, asker)),
        _ => Err(Fault::not_offered("only subscriptions are taken at this address")),
    };
    Ok(posted.reply(&scene, made))
}

/// A subscription as it is asked for, whatever it is to.
struct Wish<'r> {
    subject: Subject,
    subscriber: Option<&'r str>,
    subscription: Option<&'r str>,
    ends: Option<Time>,
    manner: Manner,
    asked: Result<Asked, Fault>,
}

macro_rules! wishes {
    ($($Request:ty => $subject:expr, $change:expr, $interval:expr);+ $(;)?) => { $(
        impl<'r> From<&'r $Request> for Wish<'r> {
            fn from(request: &'r $Request) -> Self {
                let inner = request.request.as_deref();
                Self {
                    subject: $subject,
                    subscriber: request.subscriber_ref.as_deref(),
                    subscription: request.subscription_identifier.as_deref(),
                    ends: request.initial_termination_time,
                    manner: Manner::of(
                        request.incremental_updates,
                        $change(request),
                        $interval(request),
                    ),
                    asked: inner.map_or_else(|| Ok(Asked::default()), Question::asked),
                }
            }
        }
    )+ };
}

/// What a request has no element for.
fn unsaid<R>(_: &R) -> Option<Seconds> {
    None
}

wishes!(
    EstimatedTimetableSubscriptionRequest => Subject::Records(Service::EstimatedTimetable),
        |it: &EstimatedTimetableSubscriptionRequest| it.change_before_updates, unsaid;
    // Where a vehicle is has changed each time that it reports.
    VehicleMonitoringSubscriptionRequest => Subject::Records(Service::VehicleMonitoring),
        unsaid, |it: &VehicleMonitoringSubscriptionRequest| it.update_interval;
    SituationExchangeSubscriptionRequest => Subject::Records(Service::SituationExchange),
        unsaid, unsaid;
    StopMonitoringSubscriptionRequest => Subject::Visits,
        |it: &StopMonitoringSubscriptionRequest| it.change_before_updates, unsaid;
);

/// A subscription that has begun.
struct Begun {
    ends: UnixMillis,
    /// Why nothing may ever be told of it.
    doubt: Option<Fault>,
}

/// One request for subscriptions, and who brings it.
struct Asking<'r> {
    app: &'r App,
    scene: &'r Scene,
    request: &'r SubscriptionRequest,
    form: Form,
    asker: Asker,
    /// Whether the consumer may be anywhere.
    is_trusted: bool,
}

impl Asking<'_> {
    /// Begins what is asked for, and says how each went.
    fn accepted(&self) -> Message {
        let Self { scene, request, .. } = self;
        let wishes = request.estimated_timetables.iter().map(Wish::from);
        let wishes = wishes
            .chain(request.vehicle_monitorings.iter().map(Wish::from))
            .chain(request.situation_exchanges.iter().map(Wish::from))
            .chain(request.stop_monitorings.iter().map(Wish::from));
        let begun = wishes.enumerate().map(|(at, mut wish)| {
            wish.subscriber = wish.subscriber.or(request.requestor_ref.as_deref());
            let begun = if at < SIRI_QUESTIONS_MAX { self.begin(&wish) } else { Err(too_many()) };
            status(scene, wish.subscriber, wish.subscription, begun)
        });
        let mut statuses: Vec<ResponseStatus> = begun.collect();
        if statuses.is_empty() {
            let fault = Fault::bad("the request is for no service that is offered");
            statuses.push(status(scene, request.requestor_ref.as_deref(), None, Err(fault)));
        }
        wrap(Payload::SubscriptionResponse(SubscriptionResponse {
            response_timestamp: scene.time(),
            responder_ref: Some(answer::PRODUCER.into()),
            request_message_ref: request.message_identifier.clone(),
            response_statuses: statuses,
            service_started_time: Time::from_millis(scene.started.0),
            ..SubscriptionResponse::default()
        }))
    }

    fn begin(&self, wish: &Wish<'_>) -> Result<Begun, Fault> {
        let Self { app, scene, request, form, asker, is_trusted } = *self;
        let name = Name {
            client: asker.client,
            subscriber: named("SubscriberRef or RequestorRef", wish.subscriber)?,
            subscription: named("SubscriptionIdentifier", wish.subscription)?,
        };
        let ends = self.end_of(wish)?;
        let address = request.consumer_address.as_ref().or(request.address.as_ref());
        let url = consumer_address(address.map(|it| it.as_str()), is_trusted)?;
        let asked = wish.asked.clone()?;
        asked.wanted(scene)?;
        let doubt = asked.doubt(scene);
        let asked = match wish.subject {
            Subject::Visits => {
                asked.stop(scene)?;
                // They are told from now on, always.
                Asked { start: None, ..asked }
            }
            _ => Asked { most: Some(SIRI_DELIVERY_ELEMENTS), ..asked },
        };
        let place = app.subscriptions().enter(&name, &Owner::of(&url, asker), asker);
        let (number, stop) = place.map_err(|why| match why {
            NotEntered::Full => Fault::too_much("there are too many subscriptions"),
            NotEntered::Taken => Fault::not_allowed(format!(
                "this client has a subscription {:?} for another consumer",
                name.subscription
            )),
        })?;
        let heartbeat = request.subscription_context.as_ref().and_then(|it| it.heartbeat_interval);
        let subscription = Subscription {
            subject: wish.subject,
            asked,
            manner: wish.manner,
            consumer: Consumer { url, is_trusted, form },
            heartbeat: heartbeat_of(heartbeat),
            ends,
        };
        let place = Place { app: app.clone(), name, number, stop };
        tokio::spawn(run(app.clone(), place, subscription));
        Ok(Begun { ends, doubt })
    }

    /// When a subscription ends: as it says, but not too late.
    fn end_of(&self, wish: &Wish<'_>) -> Result<UnixMillis, Fault> {
        let ends = wish.ends.ok_or_else(|| {
            Fault::bad("InitialTerminationTime is missing: it says when the subscription ends")
        })?;
        if ends.as_millis() <= self.scene.at.0 {
            return Err(Fault::bad("InitialTerminationTime is over"));
        }
        let longest = match self.is_trusted {
            true => SIRI_SUBSCRIPTION_LIFE_MAX,
            false => SIRI_SUBSCRIPTION_LIFE_OF_STRANGERS,
        };
        Ok(UnixMillis(ends.as_millis()).min(self.scene.at + longest))
    }
}

/// What is beyond the first wishes of a request.
fn too_many() -> Fault {
    Fault::too_much(format!("one request is for {SIRI_QUESTIONS_MAX} subscriptions at most"))
}

fn heartbeat_of(asked: Option<Seconds>) -> Duration {
    let asked = asked.and_then(|asked| u64::try_from(asked.0).ok()).map(Duration::from_secs);
    asked.unwrap_or(HEARTBEAT_MOST).clamp(HEARTBEAT_LEAST, HEARTBEAT_MOST)
}

fn named(what: &str, text: Option<&str>) -> Result<String, Fault> {
    match text {
        Some(text) if text.len() <= SIRI_REF_BYTES_MAX => Ok(text.to_owned()),
        Some(_) => Err(Fault::bad(format!("{what} is longer than {SIRI_REF_BYTES_MAX} bytes"))),
        None => Err(Fault::bad(format!("{what} is missing"))),
    }
}

/// Where deliveries go. A stranger names it, so it is on the internet, unless the operator or an admin trusts it.
fn consumer_address(text: Option<&str>, is_trusted: bool) -> Result<Url, Fault> {
    let missing = || Fault::bad("ConsumerAddress is missing: it says where deliveries are sent");
    let text = text.ok_or_else(missing)?;
    let url: Url = text
        .parse()
        .map_err(|error| Fault::bad(format!("ConsumerAddress is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Fault::bad("ConsumerAddress begins with neither http: nor https:"));
    }
    if !is_trusted {
        PublicOnly::check(&url)
            .map_err(|why| Fault::not_allowed(format!("ConsumerAddress: {why}")))?;
    }
    Ok(url)
}

fn status(
    scene: &Scene,
    subscriber: Option<&str>,
    subscription: Option<&str>,
    begun: Result<Begun, Fault>,
) -> ResponseStatus {
    // The schema's one place for errors and warnings.
    let said = begun.as_ref().map_or_else(Some, |begun| begun.doubt.as_ref());
    let cycle = i32::try_from(SIRI_CYCLE.as_secs()).ok().map(Seconds);
    ResponseStatus {
        response_timestamp: scene.time(),
        // The schema has it beside the name of a subscription only.
        subscriber_ref: subscriber.filter(|_| subscription.is_some()).map(Into::into),
        subscription_ref: subscription.map(Into::into),
        status: Some(begun.is_ok()),
        error_condition: said.map(Fault::condition),
        valid_until: begun.as_ref().ok().and_then(|begun| Time::from_millis(begun.ends.0)),
        shortest_possible_cycle: cycle.filter(|_| begun.is_ok()),
        ..ResponseStatus::default()
    }
}

/// Ends subscriptions of the asker, and says how each went.
fn ended(
    app: &App,
    scene: &Scene,
    request: &TerminateSubscriptionRequest,
    asker: Asker,
) -> Message {
    let subscriber = request.subscriber_ref.as_deref().or(request.requestor_ref.as_deref());
    let subscriber = subscriber.unwrap_or_default();
    let named: Vec<String> = match request.all.0 {
        true => app.subscriptions().of(subscriber, asker),
        false => request.subscription_refs.iter().map(ToString::to_string).collect(),
    };
    let may_be = |at: usize| request.all.0 || at < SIRI_QUESTIONS_MAX;
    let statuses = named.into_iter().enumerate().map(|(at, subscription)| {
        let name = Name { client: asker.client, subscriber: subscriber.to_owned(), subscription };
        let fault = if !may_be(at) {
            // The schema has no other error for the end of subscriptions.
            Some(Fault::bad(too_many().text()))
        } else if app.subscriptions().end(&name, asker) {
            None
        } else {
            Some(Fault::unknown_subscription(format!(
                "{subscriber:?} has no subscription {:?} of this client",
                name.subscription
            )))
        };
        ResponseStatus {
            response_timestamp: scene.time(),
            subscriber_ref: Some(subscriber.into()),
            subscription_ref: Some(name.subscription.as_str().into()),
            status: Some(fault.is_none()),
            error_condition: fault.as_ref().map(Fault::condition),
            ..ResponseStatus::default()
        }
    });
    wrap(Payload::TerminateSubscriptionResponse(TerminateSubscriptionResponse {
        response_timestamp: scene.time(),
        responder_ref: Some(answer::PRODUCER.into()),
        request_message_ref: request.message_identifier.clone(),
        termination_response_statuses: statuses.collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_names_public_addresses_and_the_operator_any() {
        for (address, is_public) in [
            ("https://consumer.example/siri", true),
            ("http://192.168.1.1/siri", false),
            ("http://127.0.0.1:8080/", false),
            ("http://[::1]/", false),
            ("https://user:word@consumer.example/", false),
        ] {
            assert_eq!(consumer_address(Some(address), false).is_ok(), is_public, "{address}");
            assert!(consumer_address(Some(address), true).is_ok(), "{address}");
        }
        for bad in [None, Some("here"), Some("ftp://consumer.example/"), Some("file:///etc/passwd")]
        {
            assert!(consumer_address(bad, true).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn heartbeats_come_between_every_half_and_every_whole_minute() {
        let beats = |seconds: Option<i32>| heartbeat_of(seconds.map(Seconds)).as_secs();
        assert_eq!([None, Some(1), Some(45), Some(600), Some(-5)].map(beats), [60, 30, 45, 60, 60]);
    }
}
