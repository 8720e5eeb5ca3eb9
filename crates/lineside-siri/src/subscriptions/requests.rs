//! Requests to subscribe and to terminate subscriptions.

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::Response;
use http::HeaderMap;
use lineside_fetch::PublicOnlyHttpClient;
use lineside_formats::siri::{
    DurationSeconds, EstimatedTimetableSubscriptionRequest, MessagePayload, ResponseStatus,
    SiriMessage, SiriTime, SituationExchangeSubscriptionRequest, StopMonitoringSubscriptionRequest,
    SubscriptionRequest, SubscriptionResponse, TerminateSubscriptionRequest,
    TerminateSubscriptionResponse, VehicleMonitoringSubscriptionRequest,
};
use lineside_http::admin_auth::AdminCredential;
use lineside_http::errors::{Problem, Refusal};
use lineside_http::limits::{
    SIRI_CYCLE, SIRI_DELIVERY_ELEMENTS, SIRI_QUERIES_MAX, SIRI_REF_BYTES_MAX,
    SIRI_REQUEST_BYTES_MAX, SIRI_SUBSCRIPTION_LIFETIME_MAX,
    SIRI_UNTRUSTED_SUBSCRIPTION_LIFETIME_MAX,
};
use lineside_http::proxies::PeerAddress;
use lineside_model::siri_output::SiriOutput;
use lineside_sync::UnixMillis;
use url::Url;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::consumer::ConsumerTarget;
use super::owner::{RequestSender, SubscriptionOwner};
use super::subscription_task::{ServedSubscription, run_subscription};
use super::update_policy::UpdatePolicy;
use super::{SubscriptionName, SubscriptionPermit, SubscriptionRejection};
use crate::SiriService;
use crate::deliveries::{self, wrap_payload_in_message};
use crate::encoding::SiriEncoding;
use crate::fault::SiriFault;
use crate::query::{QueryElement, QuerySubject, SiriQuery};
use crate::services::ParsedPostRequest;
use crate::snapshot::SiriSnapshot;

/// Shortest interval of heartbeats.
const HEARTBEAT_MIN: Duration = Duration::from_secs(30);
/// Longest interval of heartbeats, and the default.
const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

pub(crate) fn routes() -> OpenApiRouter<SiriService> {
    OpenApiRouter::new()
        .routes(routes!(post_subscription_request))
        .layer(DefaultBodyLimit::max(SIRI_REQUEST_BYTES_MAX))
}

/// Subscribes to SIRI, or terminates subscriptions
///
/// A `SubscriptionRequest` needs `ConsumerAddress` and, in each subscription, `InitialTerminationTime`; a
/// `TerminateSubscriptionRequest` ends subscriptions. Deliveries and heartbeats are posted to the consumer, in the
/// envelope of the request.
#[utoipa::path(
    post, path = "/siri/subscribe", tag = "formats",
    request_body(content = String, content_type = "application/xml", description = "A SIRI message"),
    responses(
        (status = 200, description = "The result of each subscription", content_type = "application/xml"),
        (status = 400, description = "An `ErrorCondition`: the request is invalid", content_type = "application/xml"),
        (status = 500, description = "A SOAP fault: the request is invalid or not about subscriptions", content_type = "text/xml"),
        (status = 503, description = "`busy` or `shutting_down`", body = Problem)
    )
)]
async fn post_subscription_request(
    State(siri): State<SiriService>,
    credential: Option<AdminCredential>,
    peer: PeerAddress,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    if siri.shutdown().is_draining() {
        return Err(Refusal::ShuttingDown);
    }
    let snapshot = SiriSnapshot::capture_networks(&siri);
    let posted = match ParsedPostRequest::parse_request(&siri, &snapshot, request).await? {
        Ok(posted) => posted,
        Err(response) => return Ok(response),
    };
    let encoding = posted.encoding;
    let sender = RequestSender::new(
        siri.trusted_proxies().client_address(peer, &headers),
        credential.is_some(),
    );
    let answer = match &posted.payload {
        MessagePayload::SubscriptionRequest(request) => {
            let is_trusted = sender.is_admin || siri.config().server.allow_private_subscribers;
            let asking = SubscriptionBatch {
                siri: &siri,
                snapshot: &snapshot,
                request,
                encoding,
                sender,
                is_trusted,
            };
            Ok(asking.start_subscriptions())
        }
        MessagePayload::TerminateSubscriptionRequest(request) => {
            Ok(terminate_subscriptions(&siri, &snapshot, request, sender))
        }
        _ => Err(SiriFault::not_offered("this address only supports subscriptions")),
    };
    Ok(posted.build_reply(&snapshot, answer))
}

/// The requested terms of a subscription to any service.
struct SubscriptionTerms<'r> {
    subject: QuerySubject,
    subscriber: Option<&'r str>,
    subscription: Option<&'r str>,
    ends_at: Option<SiriTime>,
    update_policy: UpdatePolicy,
    query: Result<SiriQuery, SiriFault>,
}

macro_rules! subscription_terms {
    ($($Request:ty => $subject:expr, $change:expr, $interval:expr);+ $(;)?) => { $(
        impl<'r> From<&'r $Request> for SubscriptionTerms<'r> {
            fn from(request: &'r $Request) -> Self {
                let inner = request.request.as_deref();
                Self {
                    subject: $subject,
                    subscriber: request.subscriber_ref.as_deref(),
                    subscription: request.subscription_identifier.as_deref(),
                    ends_at: request.initial_termination_time,
                    update_policy: UpdatePolicy::from_request(
                        request.incremental_updates,
                        $change(request),
                        $interval(request),
                    ),
                    query: inner.map_or_else(|| Ok(SiriQuery::default()), QueryElement::to_query),
                }
            }
        }
    )+ };
}

/// Stands for an element that a service's request does not have.
fn no_such_element<R>(_: &R) -> Option<DurationSeconds> {
    None
}

subscription_terms!(
    EstimatedTimetableSubscriptionRequest => QuerySubject::Records(SiriOutput::EstimatedTimetable),
        |it: &EstimatedTimetableSubscriptionRequest| it.change_before_updates, no_such_element;
    // `ChangeBeforeUpdates` does not apply: a vehicle's position changes with every report.
    VehicleMonitoringSubscriptionRequest => QuerySubject::Records(SiriOutput::VehicleMonitoring),
        no_such_element, |it: &VehicleMonitoringSubscriptionRequest| it.update_interval;
    SituationExchangeSubscriptionRequest => QuerySubject::Records(SiriOutput::SituationExchange),
        no_such_element, no_such_element;
    StopMonitoringSubscriptionRequest => QuerySubject::Visits,
        |it: &StopMonitoringSubscriptionRequest| it.change_before_updates, no_such_element;
);

struct StartedSubscription {
    ends_at: UnixMillis,
    /// Reason why the subscription may never have updates.
    warning: Option<SiriFault>,
}

/// A request for subscriptions, and its sender.
struct SubscriptionBatch<'r> {
    siri: &'r SiriService,
    snapshot: &'r SiriSnapshot,
    request: &'r SubscriptionRequest,
    encoding: SiriEncoding,
    sender: RequestSender,
    /// True if the consumer may have a private address.
    is_trusted: bool,
}

impl SubscriptionBatch<'_> {
    /// Starts the requested subscriptions, and reports the result of each.
    fn start_subscriptions(&self) -> SiriMessage {
        let Self { snapshot, request, .. } = self;
        let all_terms = request.estimated_timetables.iter().map(SubscriptionTerms::from);
        let all_terms = all_terms
            .chain(request.vehicle_monitorings.iter().map(SubscriptionTerms::from))
            .chain(request.situation_exchanges.iter().map(SubscriptionTerms::from))
            .chain(request.stop_monitorings.iter().map(SubscriptionTerms::from));
        let subscribed = all_terms.enumerate().map(|(at, mut terms)| {
            terms.subscriber = terms.subscriber.or(request.requestor_ref.as_deref());
            let subscribed = if at < SIRI_QUERIES_MAX {
                self.start_subscription(&terms)
            } else {
                Err(too_many_subscriptions_fault())
            };
            response_status(snapshot, terms.subscriber, terms.subscription, subscribed)
        });
        let mut statuses: Vec<ResponseStatus> = subscribed.collect();
        if statuses.is_empty() {
            let fault = SiriFault::invalid_value("the request has no supported service");
            statuses.push(response_status(
                snapshot,
                request.requestor_ref.as_deref(),
                None,
                Err(fault),
            ));
        }
        wrap_payload_in_message(MessagePayload::SubscriptionResponse(SubscriptionResponse {
            response_timestamp: snapshot.response_time(),
            responder_ref: Some(deliveries::PRODUCER.into()),
            request_message_ref: request.message_identifier.clone(),
            response_statuses: statuses,
            service_started_time: SiriTime::from_millis(snapshot.started.0),
            ..SubscriptionResponse::default()
        }))
    }

    fn start_subscription(
        &self,
        terms: &SubscriptionTerms<'_>,
    ) -> Result<StartedSubscription, SiriFault> {
        let Self { siri, snapshot, request, encoding, sender, is_trusted } = *self;
        let name = SubscriptionName {
            client: sender.client,
            subscriber: check_reference_text("SubscriberRef or RequestorRef", terms.subscriber)?,
            subscription: check_reference_text("SubscriptionIdentifier", terms.subscription)?,
        };
        let ends = self.subscription_end_time(terms)?;
        let address = request.consumer_address.as_ref().or(request.address.as_ref());
        let url = parse_consumer_url(address.map(|it| it.as_str()), is_trusted)?;
        let query = terms.query.clone()?;
        query.resolve_references(snapshot)?;
        let doubt = query.find_unresolved_reference_fault(snapshot);
        let query = match terms.subject {
            QuerySubject::Visits => {
                query.resolve_monitored_stop(snapshot)?;
                // Updates always start at the present.
                SiriQuery { start: None, ..query }
            }
            _ => SiriQuery { visits_max: Some(SIRI_DELIVERY_ELEMENTS), ..query },
        };
        let permit = siri.subscriptions().add_subscription(
            &name,
            &SubscriptionOwner::for_consumer(&url, sender),
            sender,
        );
        let (number, stop) = permit.map_err(|why| match why {
            SubscriptionRejection::Full => SiriFault::too_many_records("too many subscriptions"),
            SubscriptionRejection::NameInUse => SiriFault::not_allowed(format!(
                "this client already has a subscription {:?} for another consumer",
                name.subscription
            )),
        })?;
        let heartbeat = request.subscription_context.as_ref().and_then(|it| it.heartbeat_interval);
        let subscription = ServedSubscription {
            subject: terms.subject,
            query,
            update_policy: terms.update_policy,
            consumer: ConsumerTarget { url, is_trusted, encoding },
            heartbeat: heartbeat_interval(heartbeat),
            ends_at: ends,
        };
        let permit = SubscriptionPermit { siri: siri.clone(), name, number, stop };
        tokio::spawn(run_subscription(siri.clone(), permit, subscription));
        Ok(StartedSubscription { ends_at: ends, warning: doubt })
    }

    /// Returns the end of a subscription: its termination time, up to the longest lifetime.
    fn subscription_end_time(
        &self,
        terms: &SubscriptionTerms<'_>,
    ) -> Result<UnixMillis, SiriFault> {
        let ends = terms.ends_at.ok_or_else(|| {
            SiriFault::invalid_value(
                "InitialTerminationTime, the end of the subscription, is missing",
            )
        })?;
        if ends.as_millis() <= self.snapshot.at.0 {
            return Err(SiriFault::invalid_value("InitialTerminationTime is in the past"));
        }
        let longest = match self.is_trusted {
            true => SIRI_SUBSCRIPTION_LIFETIME_MAX,
            false => SIRI_UNTRUSTED_SUBSCRIPTION_LIFETIME_MAX,
        };
        Ok(UnixMillis(ends.as_millis()).min(self.snapshot.at + longest))
    }
}

/// Returns the fault for subscriptions beyond the limit of one request.
fn too_many_subscriptions_fault() -> SiriFault {
    SiriFault::too_many_records(format!(
        "one request can have at most {SIRI_QUERIES_MAX} subscriptions"
    ))
}

fn heartbeat_interval(requested: Option<DurationSeconds>) -> Duration {
    let requested =
        requested.and_then(|requested| u64::try_from(requested.0).ok()).map(Duration::from_secs);
    requested.unwrap_or(HEARTBEAT_MAX).clamp(HEARTBEAT_MIN, HEARTBEAT_MAX)
}

fn check_reference_text(what: &str, text: Option<&str>) -> Result<String, SiriFault> {
    match text {
        Some(text) if text.len() <= SIRI_REF_BYTES_MAX => Ok(text.to_owned()),
        Some(_) => Err(SiriFault::invalid_value(format!(
            "{what} is longer than {SIRI_REF_BYTES_MAX} bytes"
        ))),
        None => Err(SiriFault::invalid_value(format!("{what} is missing"))),
    }
}

/// Parses the consumer's address. A client chooses it, so it must be public unless the operator or an admin trusts it.
fn parse_consumer_url(text: Option<&str>, is_trusted: bool) -> Result<Url, SiriFault> {
    let missing =
        || SiriFault::invalid_value("ConsumerAddress, the URL for deliveries, is missing");
    let text = text.ok_or_else(missing)?;
    let url: Url = text.parse().map_err(|error| {
        SiriFault::invalid_value(format!("ConsumerAddress is not a URL: {error}"))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(SiriFault::invalid_value("ConsumerAddress must begin with http: or https:"));
    }
    if !is_trusted {
        PublicOnlyHttpClient::check_public_url(&url)
            .map_err(|why| SiriFault::not_allowed(format!("ConsumerAddress: {why}")))?;
    }
    Ok(url)
}

fn response_status(
    snapshot: &SiriSnapshot,
    subscriber: Option<&str>,
    subscription: Option<&str>,
    subscribed: Result<StartedSubscription, SiriFault>,
) -> ResponseStatus {
    // The schema has one element for errors and warnings.
    let fault = subscribed.as_ref().map_or_else(Some, |subscribed| subscribed.warning.as_ref());
    let cycle = i32::try_from(SIRI_CYCLE.as_secs()).ok().map(DurationSeconds);
    ResponseStatus {
        response_timestamp: snapshot.response_time(),
        // The schema allows this element only together with a subscription's name.
        subscriber_ref: subscriber.filter(|_| subscription.is_some()).map(Into::into),
        subscription_ref: subscription.map(Into::into),
        status: Some(subscribed.is_ok()),
        error_condition: fault.map(SiriFault::error_condition),
        valid_until: subscribed
            .as_ref()
            .ok()
            .and_then(|subscribed| SiriTime::from_millis(subscribed.ends_at.0)),
        shortest_possible_cycle: cycle.filter(|_| subscribed.is_ok()),
        ..ResponseStatus::default()
    }
}

/// Ends subscriptions of the sender, and reports the result of each.
fn terminate_subscriptions(
    siri: &SiriService,
    snapshot: &SiriSnapshot,
    request: &TerminateSubscriptionRequest,
    sender: RequestSender,
) -> SiriMessage {
    let subscriber = request.subscriber_ref.as_deref().or(request.requestor_ref.as_deref());
    let subscriber = subscriber.unwrap_or_default();
    let named: Vec<String> = match request.all.0 {
        true => siri.subscriptions().list_subscription_names(subscriber, sender),
        false => request.subscription_refs.iter().map(ToString::to_string).collect(),
    };
    let may_be = |at: usize| request.all.0 || at < SIRI_QUERIES_MAX;
    let statuses = named.into_iter().enumerate().map(|(at, subscription)| {
        let name = SubscriptionName {
            client: sender.client,
            subscriber: subscriber.to_owned(),
            subscription,
        };
        let fault = if !may_be(at) {
            // The schema allows no other error for terminations.
            Some(SiriFault::invalid_value(too_many_subscriptions_fault().fault_text()))
        } else if siri.subscriptions().end_subscription(&name, sender) {
            None
        } else {
            Some(SiriFault::unknown_subscription(format!(
                "this client has no subscription {:?} for {subscriber:?}",
                name.subscription
            )))
        };
        ResponseStatus {
            response_timestamp: snapshot.response_time(),
            subscriber_ref: Some(subscriber.into()),
            subscription_ref: Some(name.subscription.as_str().into()),
            status: Some(fault.is_none()),
            error_condition: fault.as_ref().map(SiriFault::error_condition),
            ..ResponseStatus::default()
        }
    });
    wrap_payload_in_message(MessagePayload::TerminateSubscriptionResponse(
        TerminateSubscriptionResponse {
            response_timestamp: snapshot.response_time(),
            responder_ref: Some(deliveries::PRODUCER.into()),
            request_message_ref: request.message_identifier.clone(),
            termination_response_statuses: statuses.collect(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumer_addresses_must_be_public_unless_private_ones_are_allowed() {
        for (address, is_public) in [
            ("https://consumer.example/siri", true),
            ("http://192.168.1.1/siri", false),
            ("http://127.0.0.1:8080/", false),
            ("http://[::1]/", false),
            ("https://user:word@consumer.example/", false),
        ] {
            assert_eq!(parse_consumer_url(Some(address), false).is_ok(), is_public, "{address}");
            assert!(parse_consumer_url(Some(address), true).is_ok(), "{address}");
        }
        for bad in [None, Some("here"), Some("ftp://consumer.example/"), Some("file:///etc/passwd")]
        {
            assert!(parse_consumer_url(bad, true).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn heartbeat_intervals_are_limited_to_30_to_60_seconds() {
        let beats =
            |seconds: Option<i32>| heartbeat_interval(seconds.map(DurationSeconds)).as_secs();
        assert_eq!([None, Some(1), Some(45), Some(600), Some(-5)].map(beats), [60, 30, 45, 60, 60]);
    }
}
