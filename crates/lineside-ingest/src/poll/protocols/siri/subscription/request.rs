//! The subscription request.

use lineside_formats::siri::{
    DurationSeconds, EstimatedTimetableRequest, EstimatedTimetableSubscriptionRequest, SiriTime,
    SituationExchangeRequest, SituationExchangeSubscriptionRequest, StopMonitoringRequest,
    StopMonitoringSubscriptionRequest, SubscriptionContext, SubscriptionRequest,
    VehicleMonitoringRequest, VehicleMonitoringSubscriptionRequest,
};
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};

use super::{super::requests::VERSION, lifecycle::LIFETIME};
use crate::{
    feed_config::FeedConfig,
    source::{SiriService, SiriSourceSettings},
};

/// The requested heartbeat interval.
const HEARTBEAT_SECONDS: i32 = 60;

/// Returns the requestor reference: the one that the producer has assigned, else the subscriber. Producers echo the
/// subscriber in each delivery, which is published, so it is never the secret requestor reference.
pub(super) fn requestor_ref(source: &SiriSourceSettings, subscriber: &str) -> SmolStr {
    let own = source.requestor_ref.as_ref().map(|it| it.reveal().to_smolstr());
    own.unwrap_or_else(|| subscriber.into())
}

/// Returns the id of a feed's subscription to a service: stable, so that a new subscription replaces the old one.
fn service_subscription_id(config: &FeedConfig, service: SiriService) -> SmolStr {
    format_smolstr!("lineside-{}-{service}", config.id)
}

/// Returns the id of the feed's subscription to a stop.
fn stop_subscription_id(config: &FeedConfig, stop: &str) -> SmolStr {
    format_smolstr!("{}-{stop}", service_subscription_id(config, SiriService::Stops))
}

/// Returns the ids of all subscriptions of the feed.
pub(in crate::poll::protocols::siri) fn all_subscription_ids(
    config: &FeedConfig,
    source: &SiriSourceSettings,
) -> Vec<SmolStr> {
    let short_name = |service: &SiriService| match service {
        SiriService::Stops => {
            source.stops.iter().map(|stop| stop_subscription_id(config, stop)).collect()
        }
        service => vec![service_subscription_id(config, *service)],
    };
    source.services.iter().flat_map(short_name).collect()
}

/// Builds the common parts of subscriptions to all services.
macro_rules! subscription {
    ($by:expr, $name:expr, $Request:ident { $($field:ident: $value:expr)? }, $Subscription:ident $(.. $rest:expr)?) => {
        $Subscription {
            subscriber_ref: Some($by.0.into()),
            subscription_identifier: Some($name),
            initial_termination_time: SiriTime::from_millis(($by.1 + LIFETIME).0),
            request: Some(Box::new($Request {
                version: Some(SmolStr::new_static(VERSION)),
                request_timestamp: SiriTime::from_millis($by.1.0),
                $($field: $value,)?
                ..$Request::default()
            })),
            incremental_updates: Some(true),
            $(..$rest)?
        }
    };
}

/// Builds the request for all services of a feed, under a subscriber's name, to be delivered to an address.
pub(super) fn build_subscription_request(
    config: &FeedConfig,
    source: &SiriSourceSettings,
    (subscriber, address): (&str, &str),
    now: UnixMillis,
) -> SubscriptionRequest {
    let at = SiriTime::from_millis(now.0);
    let mut request = SubscriptionRequest {
        request_timestamp: at,
        requestor_ref: Some(requestor_ref(source, subscriber)),
        message_identifier: Some(format_smolstr!("lineside-{}-{}", config.id, now.0)),
        consumer_address: Some(address.into()),
        subscription_context: Some(SubscriptionContext {
            heartbeat_interval: Some(DurationSeconds(HEARTBEAT_SECONDS)),
        }),
        ..SubscriptionRequest::default()
    };
    let subscriber_and_time = (subscriber, now);
    for &service in &source.services {
        let name = service_subscription_id(config, service);
        match service {
            SiriService::Timetables => request.estimated_timetables.push(subscription!(
                subscriber_and_time,
                name,
                EstimatedTimetableRequest {},
                EstimatedTimetableSubscriptionRequest..Default::default()
            )),
            SiriService::Vehicles => request.vehicle_monitorings.push(subscription!(
                subscriber_and_time,
                name,
                VehicleMonitoringRequest {},
                VehicleMonitoringSubscriptionRequest..Default::default()
            )),
            SiriService::Situations => request.situation_exchanges.push(subscription!(
                subscriber_and_time,
                name,
                SituationExchangeRequest {},
                SituationExchangeSubscriptionRequest
            )),
            SiriService::Stops => {
                let stops = source.stops.iter().map(|stop| {
                    subscription!(
                        subscriber_and_time,
                        stop_subscription_id(config, stop),
                        StopMonitoringRequest { monitoring_ref: Some(stop.to_smolstr()) },
                        StopMonitoringSubscriptionRequest..Default::default()
                    )
                });
                request.stop_monitorings.extend(stops);
            }
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{
        self, MessageLimits, MessagePayload, SiriMessage, SoapMessageKind,
    };

    use super::*;
    use crate::feed_id::FeedId;
    use crate::{poll::protocols::siri::requests::tests::golden, source::SourceLocation};

    #[test]
    fn a_subscription_request_follows_the_schema() {
        for service in SiriService::ALL {
            let url = SourceLocation::parse("https://a.example/siri").unwrap();
            let config = FeedConfig::new(FeedId::new("a").unwrap(), url);
            let services = vec![*service];
            let source = SiriSourceSettings {
                services,
                stops: vec!["S".to_owned()],
                ..SiriSourceSettings::default()
            };
            let address = ("lineside-7f", "https://me.example/siri/inbox/a?key=k");
            let request = build_subscription_request(
                &config,
                &source,
                address,
                UnixMillis(1_795_262_400_000),
            );
            let payloads = vec![MessagePayload::SubscriptionRequest(request)];
            let text = siri::encode_xml(&SiriMessage { version: None, payloads });
            golden(&format!("siri-subscribe-{service}.xml"), &text);
        }
    }

    #[test]
    fn the_requestor_is_the_configured_one_or_the_server() {
        let source = SiriSourceSettings {
            requestor_ref: Some(crate::source::Secret::new("hunter2")),
            ..SiriSourceSettings::default()
        };
        assert_eq!(requestor_ref(&source, "lineside-7f"), "hunter2");
        assert_eq!(requestor_ref(&SiriSourceSettings::default(), "lineside-7f"), "lineside-7f");
    }

    #[test]
    fn one_request_subscribes_to_all_services() {
        let url = SourceLocation::parse("https://a.example/siri").unwrap();
        let config = FeedConfig::new(FeedId::new("a").unwrap(), url);
        let source = SiriSourceSettings {
            services: SiriService::ALL.to_vec(),
            stops: vec!["S".to_owned()],
            ..SiriSourceSettings::default()
        };
        let now = UnixMillis(1_795_262_400_000);
        let address = ("lineside-7f", "https://me.example/siri/inbox/a?key=k");
        let request = build_subscription_request(&config, &source, address, now);
        let message = SiriMessage {
            version: None,
            payloads: vec![MessagePayload::SubscriptionRequest(request.clone())],
        };
        let xml = siri::encode_xml(&message);
        let (read, _) =
            siri::decode_siri_message(xml.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
                .unwrap();
        assert_eq!(read.payloads, [MessagePayload::SubscriptionRequest(request.clone())]);
        let soap = siri::encode_soap(&message, SoapMessageKind::Answer);
        assert!(soap.contains("https://me.example/siri/inbox/a?key=k"), "{soap}");
        let first = &request.estimated_timetables[0];
        assert_eq!(first.subscriber_ref.as_deref(), Some("lineside-7f"));
        assert_eq!(first.subscription_identifier.as_deref(), Some("lineside-a-et"));
        let ends = first.initial_termination_time.unwrap().as_millis();
        assert_eq!(ends - now.0, 24 * 60 * 60 * 1_000);
        let stop = &request.stop_monitorings[0];
        assert_eq!(stop.request.as_ref().unwrap().monitoring_ref.as_deref(), Some("S"));
    }
}
