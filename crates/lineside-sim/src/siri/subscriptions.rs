//! The subscriptions and their deliveries: first all records, then those that changed.
//!
//! Deliveries go only to consumers on this machine: the city is a producer for experiments, and must not be usable to
//! send requests elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use lineside_formats::siri::{
    CommonDeliveryFields, HeartbeatNotification, MessagePayload, ResponseStatus, SiriTime,
    SoapMessageKind, SubscriptionRequest, SubscriptionResponse, TerminateSubscriptionRequest,
    TerminateSubscriptionResponse,
};
use lineside_sync::UnixMillis;
use parking_lot::Mutex;

use super::items::{SiriRecord, SiriServiceRecords};
use super::{
    CityAtTimeWithFault, SiriFeedKind, encode_xml_or_soap, new_delivery_with_header,
    other_error_condition, wrap_payload_in_message,
};
use crate::city::realtime::journeys::{SOURCE, siri_time};
use crate::limits::{DELIVERY_RECORDS_MAX, DELIVERY_TRIES_MAX, SUBSCRIPTIONS_MAX};

/// The lifetime of a subscription whose request gives none.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(24);
/// The heartbeat interval of a subscription whose request gives none.
const HEARTBEAT: Duration = Duration::from_mins(1);
const HEARTBEAT_MIN: Duration = Duration::from_secs(10);

/// A delivery to be posted to a consumer.
#[derive(Clone, Debug)]
pub struct SiriDelivery {
    /// The URL of the consumer on this machine.
    pub address: String,
    /// The body to be posted.
    pub body: Bytes,
    /// The number of its subscription.
    number: u64,
}

#[derive(Debug, Default)]
pub(crate) struct SiriSubscriptionStore(Mutex<SubscriptionTable>);

#[derive(Debug, Default)]
struct SubscriptionTable {
    list: Vec<SiriSubscription>,
    count: u64,
}

#[derive(Debug)]
struct SiriSubscription {
    number: u64,
    subscriber: String,
    name: String,
    service: SiriFeedKind,
    /// The feed to whose path the request was posted; its faults apply to the deliveries.
    posted_to: SiriFeedKind,
    address: String,
    enveloped: bool,
    until: UnixMillis,
    heartbeat: Duration,
    last_sent_at: UnixMillis,
    /// The records that the consumer has received.
    delivered: BTreeMap<String, SiriRecord>,
    /// True while a delivery is in progress.
    is_delivering: bool,
    /// The number of failed deliveries in a row.
    failures: u32,
}

/// A requested subscription to any service.
struct RequestedSubscription {
    service: SiriFeedKind,
    name: Option<String>,
    subscriber: Option<String>,
    until: Option<SiriTime>,
}

/// Returns the subscriptions that a request asks for.
fn requested_subscriptions(request: &SubscriptionRequest) -> Vec<RequestedSubscription> {
    macro_rules! of {
        ($list:ident, $service:expr) => {
            request.$list.iter().map(|it| RequestedSubscription {
                service: $service,
                name: it.subscription_identifier.clone().map(String::from),
                subscriber: it.subscriber_ref.clone().map(String::from),
                until: it.initial_termination_time,
            })
        };
    }
    of!(estimated_timetables, SiriFeedKind::Timetables)
        .chain(of!(vehicle_monitorings, SiriFeedKind::Vehicles))
        .chain(of!(situation_exchanges, SiriFeedKind::Situations))
        .collect()
}

impl SiriSubscriptionStore {
    /// Opens the requested subscriptions; the first delivery is due at once.
    pub(super) fn open_requested_subscriptions(
        &self,
        request: SubscriptionRequest,
        posted_to: SiriFeedKind,
        enveloped: bool,
        now: UnixMillis,
        started: UnixMillis,
    ) -> SubscriptionResponse {
        let wanted = requested_subscriptions(&request);
        let address = request.consumer_address.or(request.address).unwrap_or_default();
        let context = request.subscription_context.and_then(|it| it.heartbeat_interval);
        let heartbeat = context.and_then(|it| u64::try_from(it.0).ok()).map(Duration::from_secs);
        let requestor = request.requestor_ref.map(String::from);
        let at = siri_time(now.unix_seconds());
        let mut all = self.0.lock();
        let mut response_statuses = Vec::with_capacity(wanted.len());
        for it in wanted {
            let subscriber = it.subscriber.or(requestor.clone()).unwrap_or_default();
            let name = it.name.unwrap_or_default();
            all.list.retain(|subscription| {
                (&subscription.subscriber, &subscription.name) != (&subscriber, &name)
            });
            let refused = address_refusal_reason(&address, all.list.len());
            let until =
                it.until.map_or(now + DEFAULT_LIFETIME, |until| UnixMillis(until.as_millis()));
            response_statuses.push(ResponseStatus {
                response_timestamp: at,
                subscriber_ref: Some(subscriber.clone().into()),
                subscription_ref: Some(name.clone().into()),
                status: Some(refused.is_none()),
                error_condition: refused.map(other_error_condition),
                valid_until: siri_time(until.unix_seconds()),
                ..ResponseStatus::default()
            });
            if refused.is_none() {
                all.count += 1;
                let number = all.count;
                all.list.push(SiriSubscription {
                    number,
                    subscriber,
                    name,
                    service: it.service,
                    posted_to,
                    address: address.to_string(),
                    enveloped,
                    until,
                    heartbeat: heartbeat.unwrap_or(HEARTBEAT).max(HEARTBEAT_MIN),
                    last_sent_at: now,
                    delivered: BTreeMap::new(),
                    is_delivering: false,
                    failures: 0,
                });
            }
        }
        SubscriptionResponse {
            response_timestamp: at,
            responder_ref: Some(SOURCE.into()),
            request_message_ref: request.message_identifier,
            response_statuses,
            service_started_time: siri_time(started.unix_seconds()),
            ..SubscriptionResponse::default()
        }
    }

    /// Ends the subscriptions that a subscriber terminates.
    pub(super) fn terminate_subscriptions(
        &self,
        request: TerminateSubscriptionRequest,
        now: UnixMillis,
    ) -> TerminateSubscriptionResponse {
        let at = siri_time(now.unix_seconds());
        let subscriber = request.subscriber_ref.or(request.requestor_ref).unwrap_or_default();
        let mut ended = Vec::new();
        self.0.lock().list.retain(|subscription| {
            let named = request.subscription_refs.iter().any(|name| *name == subscription.name);
            let ends = *subscription.subscriber == *subscriber && (request.all.0 || named);
            if ends {
                ended.push(subscription.name.clone());
            }
            !ends
        });
        let status = |name: String| ResponseStatus {
            response_timestamp: at,
            subscriber_ref: Some(subscriber.clone()),
            subscription_ref: Some(name.into()),
            status: Some(true),
            ..ResponseStatus::default()
        };
        TerminateSubscriptionResponse {
            response_timestamp: at,
            responder_ref: Some(SOURCE.into()),
            request_message_ref: request.message_identifier,
            termination_response_statuses: ended.into_iter().map(status).collect(),
        }
    }

    /// Returns the deliveries that are due at an instant. `scene` returns the data for the path of a feed, or `None` if
    /// it is silent.
    pub(crate) fn due_deliveries<'a>(
        &self,
        now: UnixMillis,
        scene: impl Fn(SiriFeedKind) -> Option<CityAtTimeWithFault<'a>>,
    ) -> Vec<SiriDelivery> {
        let mut all = self.0.lock();
        all.list.retain(|it| now < it.until && it.failures < DELIVERY_TRIES_MAX);
        let mut due = Vec::new();
        for subscription in all.list.iter_mut().filter(|it| !it.is_delivering) {
            let Some(scene) = scene(subscription.posted_to) else { continue };
            if let Some(body) = subscription.next_changes_or_heartbeat(scene, now) {
                subscription.is_delivering = true;
                subscription.last_sent_at = now;
                let address = subscription.address.clone();
                due.push(SiriDelivery { address, body: body.into(), number: subscription.number });
            }
        }
        due
    }

    /// Records the outcome of a delivery. After a failure the consumer is sent all records again.
    pub(crate) fn record_delivery_outcome(&self, delivery: &SiriDelivery, is_taken: bool) {
        let mut all = self.0.lock();
        let of = all.list.iter_mut().find(|it| it.number == delivery.number);
        if let Some(subscription) = of {
            subscription.is_delivering = false;
            if is_taken {
                subscription.failures = 0;
            } else {
                subscription.failures += 1;
                subscription.delivered.clear();
            }
        }
    }
}

impl SiriSubscription {
    /// Returns the next message: the changed records, or a heartbeat.
    fn next_changes_or_heartbeat(
        &mut self,
        scene: CityAtTimeWithFault<'_>,
        now: UnixMillis,
    ) -> Option<String> {
        let items = SiriServiceRecords::records_of_scene(scene, self.service);
        let is_news = |name: &String, item: &SiriRecord| self.delivered.get(name) != Some(item);
        let news: BTreeMap<String, SiriRecord> = items
            .all
            .iter()
            .filter(|(name, item)| is_news(name, item))
            .take(DELIVERY_RECORDS_MAX)
            .map(|(name, item)| (name.clone(), item.clone()))
            .collect();
        let gone: Vec<String> =
            self.delivered.keys().filter(|name| !items.all.contains_key(*name)).cloned().collect();
        let tells =
            !news.is_empty() || (self.service == SiriFeedKind::Vehicles && !gone.is_empty());
        for name in &gone {
            self.delivered.remove(name);
        }
        self.delivered.extend(news.clone());
        let payload = if tells {
            let mut delivery = new_delivery_with_header(scene.at);
            let own = CommonDeliveryFields {
                subscriber_ref: Some(self.subscriber.clone().into()),
                subscription_ref: Some(self.name.clone().into()),
                ..CommonDeliveryFields::default()
            };
            items.with_records(news).add_delivery_with_head(&mut delivery, own, scene.at, &gone);
            MessagePayload::ServiceDelivery(delivery)
        } else if now.duration_since(self.last_sent_at) >= self.heartbeat {
            MessagePayload::HeartbeatNotification(HeartbeatNotification {
                request_timestamp: siri_time(now.unix_seconds()),
                producer_ref: Some(SOURCE.into()),
                status: Some(true),
                service_started_time: siri_time(scene.city.start_instant().unix_seconds()),
                ..HeartbeatNotification::default()
            })
        } else {
            return None;
        };
        Some(encode_xml_or_soap(
            &wrap_payload_in_message(payload),
            self.enveloped,
            SoapMessageKind::Notification,
        ))
    }
}

/// Returns the reason why an address cannot be subscribed.
fn address_refusal_reason(address: &str, n_subscriptions: usize) -> Option<&'static str> {
    let rest = address.strip_prefix("http://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    match name {
        "127.0.0.1" | "localhost" | "[::1]" if n_subscriptions < SUBSCRIPTIONS_MAX => None,
        "127.0.0.1" | "localhost" | "[::1]" => Some("the limit of subscriptions is reached"),
        _ => Some("the simulated city sends notifications only to addresses of its own machine"),
    }
}
