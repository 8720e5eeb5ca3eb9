//! The city's desk for SIRI: what it answers to requests, and to whom it brings news by itself.
//!
//! Requests and deliveries are plain values here; who asks and how news get to a consumer is the caller's. What is
//! remembered is who subscribed and what each was told; everything else is a function of the city and the time.

mod items;
mod subscriptions;

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    self, CheckStatusResponse, ErrorCondition, Exchange, Fault as SoapFault, Limits, Message,
    Payload, ServiceDelivery, ServiceRequest,
};
use lineside_sync::UnixMillis;

pub(crate) use items::Items;
pub use items::Service;
pub use subscriptions::Delivery;
pub(crate) use subscriptions::Subscriptions;

use crate::city::City;
use crate::origin::{Body, Reply};
use crate::realtime::journeys::{SOURCE, moment};

/// The version of SIRI that it speaks.
const VERSION: &str = "2.0";
/// XML as it is posted.
pub(crate) const XML: &str = "text/xml; charset=utf-8";

/// What a desk answers with: the city as it is, or as a fault has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) city: &'a City,
    /// The instant of the data, which a fault may have in the past.
    pub(crate) at: UnixMillis,
    /// Whether ids are such as the schedule does not have.
    pub(crate) foreign: bool,
}

/// The whole of a service, as an answer to a plain GET.
pub(crate) fn document(scene: Scene<'_>, service: Service) -> Bytes {
    let mut delivery = head(scene.at);
    Items::of(scene, service).put(&mut delivery, scene.at);
    siri::encode_xml(&message(Payload::ServiceDelivery(delivery))).into()
}

/// Answers a message that was posted; `door` is where, which subscriptions remember.
pub(crate) fn answer(
    scene: Scene<'_>,
    subscriptions: &Subscriptions,
    door: Service,
    body: &[u8],
) -> Reply {
    let enveloped = siri::is_enveloped(body);
    let decoded = siri::decode_xml(body, &TimeZone::UTC, &Limits::default());
    let payload = match decoded.map(|(message, _)| message.payloads.into_iter().next()) {
        Ok(payload) => {
            payload.and_then(|asked| answer_to(scene, subscriptions, door, asked, enveloped))
        }
        Err(_) => None,
    };
    match payload {
        Some(payload) => reply(200, &message(payload), enveloped),
        None => refuse(scene.at, enveloped),
    }
}

fn answer_to(
    scene: Scene<'_>,
    subscriptions: &Subscriptions,
    door: Service,
    asked: Payload,
    enveloped: bool,
) -> Option<Payload> {
    Some(match asked {
        Payload::ServiceRequest(request) => Payload::ServiceDelivery(deliver(scene, &request)),
        Payload::CheckStatusRequest(request) => Payload::CheckStatusResponse(CheckStatusResponse {
            response_timestamp: moment(scene.at.seconds()),
            producer_ref: Some(SOURCE.into()),
            request_message_ref: request.message_identifier,
            status: Some(true),
            service_started_time: moment(scene.city.start().seconds()),
            ..CheckStatusResponse::default()
        }),
        Payload::SubscriptionRequest(request) => Payload::SubscriptionResponse(
            subscriptions.begin(request, door, enveloped, scene.at, scene.city.start()),
        ),
        Payload::TerminateSubscriptionRequest(request) => {
            Payload::TerminateSubscriptionResponse(subscriptions.end(request, scene.at))
        }
        _ => return None,
    })
}

/// A delivery for each service that is asked for.
fn deliver(scene: Scene<'_>, request: &ServiceRequest) -> ServiceDelivery {
    let mut delivery = head(scene.at);
    delivery.request_message_ref.clone_from(&request.message_identifier);
    let asked = [
        (Service::Timetables, !request.estimated_timetables.is_empty()),
        (Service::Vehicles, !request.vehicle_monitorings.is_empty()),
        (Service::Situations, !request.situation_exchanges.is_empty()),
    ];
    for (service, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
        Items::of(scene, service).put(&mut delivery, scene.at);
    }
    if !asked.iter().any(|(_, is_asked)| *is_asked) {
        delivery.status = Some(false);
        delivery.error_condition =
            Some(error("estimated timetables, vehicles and situations only"));
    }
    delivery
}

fn head(at: UnixMillis) -> ServiceDelivery {
    ServiceDelivery {
        response_timestamp: moment(at.seconds()),
        producer_ref: Some(SOURCE.into()),
        status: Some(true),
        ..ServiceDelivery::default()
    }
}

fn message(payload: Payload) -> Message {
    Message { version: Some(VERSION.into()), payloads: vec![payload] }
}

fn error(text: &str) -> ErrorCondition {
    ErrorCondition {
        kind: Some("OtherError".into()),
        text: Some(text.into()),
        ..ErrorCondition::default()
    }
}

/// What cannot be read or is not offered: as SOAP has it, a fault with status 500.
fn refuse(at: UnixMillis, enveloped: bool) -> Reply {
    let text = "expected a request of SIRI for a service, a subscription or the status";
    if enveloped {
        let fault = SoapFault {
            code: Some("S:Client".into()),
            reason: Some(text.into()),
            ..SoapFault::default()
        };
        return reply(500, &message(Payload::Fault(fault)), true);
    }
    let refused =
        ServiceDelivery { status: Some(false), error_condition: Some(error(text)), ..head(at) };
    reply(400, &message(Payload::ServiceDelivery(refused)), false)
}

fn reply(status: u16, message: &Message, enveloped: bool) -> Reply {
    let text = encode(message, enveloped, Exchange::Answer);
    Reply {
        status,
        headers: vec![("content-type", XML.to_owned())],
        body: Body::Bytes(text.into()),
    }
}

fn encode(message: &Message, enveloped: bool, exchange: Exchange) -> String {
    match enveloped {
        true => siri::encode_soap(message, exchange),
        false => siri::encode_xml(message),
    }
}
