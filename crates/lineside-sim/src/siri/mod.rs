//! The city's SIRI endpoint: answers to requests, and deliveries to subscribers.
//!
//! Requests and deliveries are plain values here; transport is up to the caller. The only state is the subscriptions
//! and the records that each was sent; everything else is a function of the city and the time.

mod items;
mod subscriptions;

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    self, CheckStatusResponse, ErrorCondition, MessageLimits, MessagePayload, ServiceDelivery,
    ServiceRequest, SiriMessage, SoapFault, SoapMessageKind,
};
use lineside_sync::UnixMillis;

pub use items::SiriFeedKind;
pub(crate) use items::SiriServiceRecords;
pub use subscriptions::SiriDelivery;
pub(crate) use subscriptions::SiriSubscriptionStore;

use crate::city::City;
use crate::city::realtime::journeys::{SOURCE, siri_time};
use crate::origin_reply::{OriginReply, ReplyBody};

/// The SIRI version of all messages.
const VERSION: &str = "2.0";
/// The content type of XML bodies.
pub(crate) const XML: &str = "text/xml; charset=utf-8";

/// The city as it is, or with a fault, for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CityAtTimeWithFault<'a> {
    pub(crate) city: &'a City,
    /// The instant of the data; a fault may put it in the past.
    pub(crate) at: UnixMillis,
    /// True if the ids are unknown to the schedule.
    pub(crate) foreign: bool,
}

/// Encodes all records of a service, as the answer to a plain GET.
pub(crate) fn encode_service_as_xml(
    scene: CityAtTimeWithFault<'_>,
    service: SiriFeedKind,
) -> Bytes {
    let mut delivery = new_delivery_with_header(scene.at);
    SiriServiceRecords::records_of_scene(scene, service)
        .add_to_service_delivery(&mut delivery, scene.at);
    siri::encode_xml(&wrap_payload_in_message(MessagePayload::ServiceDelivery(delivery))).into()
}

/// Answers a posted message. `posted_to` is the feed to whose path it was posted; subscriptions remember it.
pub(crate) fn answer_siri_message(
    scene: CityAtTimeWithFault<'_>,
    subscriptions: &SiriSubscriptionStore,
    posted_to: SiriFeedKind,
    body: &[u8],
) -> OriginReply {
    let enveloped = siri::is_soap_envelope(body);
    let decoded = siri::decode_xml_message(body, &TimeZone::UTC, &MessageLimits::default());
    let payload = match decoded.map(|(message, _)| message.payloads.into_iter().next()) {
        Ok(payload) => payload.and_then(|received| {
            answer_siri_payload(scene, subscriptions, posted_to, received, enveloped)
        }),
        Err(_) => None,
    };
    match payload {
        Some(payload) => encode_siri_reply(200, &wrap_payload_in_message(payload), enveloped),
        None => refusal_reply(scene.at, enveloped),
    }
}

fn answer_siri_payload(
    scene: CityAtTimeWithFault<'_>,
    subscriptions: &SiriSubscriptionStore,
    posted_to: SiriFeedKind,
    received: MessagePayload,
    enveloped: bool,
) -> Option<MessagePayload> {
    Some(match received {
        MessagePayload::ServiceRequest(request) => {
            MessagePayload::ServiceDelivery(build_requested_delivery(scene, &request))
        }
        MessagePayload::CheckStatusRequest(request) => {
            MessagePayload::CheckStatusResponse(CheckStatusResponse {
                response_timestamp: siri_time(scene.at.unix_seconds()),
                producer_ref: Some(SOURCE.into()),
                request_message_ref: request.message_identifier,
                status: Some(true),
                service_started_time: siri_time(scene.city.start_instant().unix_seconds()),
                ..CheckStatusResponse::default()
            })
        }
        MessagePayload::SubscriptionRequest(request) => {
            MessagePayload::SubscriptionResponse(subscriptions.open_requested_subscriptions(
                request,
                posted_to,
                enveloped,
                scene.at,
                scene.city.start_instant(),
            ))
        }
        MessagePayload::TerminateSubscriptionRequest(request) => {
            MessagePayload::TerminateSubscriptionResponse(
                subscriptions.terminate_subscriptions(request, scene.at),
            )
        }
        _ => return None,
    })
}

fn build_requested_delivery(
    scene: CityAtTimeWithFault<'_>,
    request: &ServiceRequest,
) -> ServiceDelivery {
    let mut delivery = new_delivery_with_header(scene.at);
    delivery.request_message_ref.clone_from(&request.message_identifier);
    let requested_services = [
        (SiriFeedKind::Timetables, !request.estimated_timetables.is_empty()),
        (SiriFeedKind::Vehicles, !request.vehicle_monitorings.is_empty()),
        (SiriFeedKind::Situations, !request.situation_exchanges.is_empty()),
    ];
    for (service, _) in requested_services.into_iter().filter(|(_, is_requested)| *is_requested) {
        SiriServiceRecords::records_of_scene(scene, service)
            .add_to_service_delivery(&mut delivery, scene.at);
    }
    if !requested_services.iter().any(|(_, is_requested)| *is_requested) {
        delivery.status = Some(false);
        delivery.error_condition = Some(other_error_condition(
            "only estimated timetables, vehicle monitoring and situation \
                exchange are available",
        ));
    }
    delivery
}

fn new_delivery_with_header(at: UnixMillis) -> ServiceDelivery {
    ServiceDelivery {
        response_timestamp: siri_time(at.unix_seconds()),
        producer_ref: Some(SOURCE.into()),
        status: Some(true),
        ..ServiceDelivery::default()
    }
}

fn wrap_payload_in_message(payload: MessagePayload) -> SiriMessage {
    SiriMessage { version: Some(VERSION.into()), payloads: vec![payload] }
}

fn other_error_condition(text: &str) -> ErrorCondition {
    ErrorCondition {
        kind: Some("OtherError".into()),
        text: Some(text.into()),
        ..ErrorCondition::default()
    }
}

/// Returns the answer to an unreadable or unsupported message; for SOAP, a fault with status 500.
fn refusal_reply(at: UnixMillis, enveloped: bool) -> OriginReply {
    let text = "expected a SIRI service request, subscription request or status request";
    if enveloped {
        let fault = SoapFault {
            code: Some("S:Client".into()),
            reason: Some(text.into()),
            ..SoapFault::default()
        };
        return encode_siri_reply(
            500,
            &wrap_payload_in_message(MessagePayload::Fault(fault)),
            true,
        );
    }
    let refused = ServiceDelivery {
        status: Some(false),
        error_condition: Some(other_error_condition(text)),
        ..new_delivery_with_header(at)
    };
    encode_siri_reply(
        400,
        &wrap_payload_in_message(MessagePayload::ServiceDelivery(refused)),
        false,
    )
}

fn encode_siri_reply(status: u16, message: &SiriMessage, enveloped: bool) -> OriginReply {
    let text = encode_xml_or_soap(message, enveloped, SoapMessageKind::Answer);
    OriginReply {
        status,
        headers: vec![("content-type", XML.to_owned())],
        body: ReplyBody::Bytes(text.into()),
    }
}

fn encode_xml_or_soap(message: &SiriMessage, enveloped: bool, exchange: SoapMessageKind) -> String {
    match enveloped {
        true => siri::encode_soap(message, exchange),
        false => siri::encode_xml(message),
    }
}
