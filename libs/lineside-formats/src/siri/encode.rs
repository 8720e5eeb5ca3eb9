//! Messages back to bytes: plain XML, and the JSON of SIRI Lite. Envelopes are [elsewhere](super::encode_soap).

use super::{
    Message, Payload,
    sink::{JsonSink, Sink, XmlSink},
};

pub(super) const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
pub(super) const SIRI: &str = "http://www.siri.org.uk/siri";
/// The version that a message has if it does not say one.
const VERSION: &str = "2.0";

/// Encodes a message as plain XML. What only an envelope has (a fault), and what is known by its name alone, is left
/// out.
pub fn encode_xml(message: &Message) -> String {
    let mut sink = XmlSink::default();
    sink.text.push_str(DECLARATION);
    write_siri(message, &mut sink, true);
    sink.text
}

/// Encodes a message as SIRI Lite has it in JSON. What only an envelope has (a fault), and what is known by its name
/// alone, is left out.
pub fn encode_json(message: &Message) -> String {
    let mut sink = JsonSink::default();
    sink.text.push('{');
    write_siri(message, &mut sink, false);
    sink.text.push('}');
    sink.text
}

fn write_siri<W: Sink>(message: &Message, sink: &mut W, has_namespace: bool) {
    sink.begin("Siri");
    if has_namespace {
        sink.attribute("xmlns", SIRI);
    }
    sink.attribute("version", message.version.as_deref().unwrap_or(VERSION));
    for payload in &message.payloads {
        write_payload(payload, sink);
    }
    sink.end("Siri");
}

pub(super) fn write_payload<W: Sink>(payload: &Payload, sink: &mut W) {
    match payload {
        Payload::ServiceDelivery(record) => sink.record("ServiceDelivery", record),
        Payload::CheckStatusResponse(record) => sink.record("CheckStatusResponse", record),
        Payload::HeartbeatNotification(record) => sink.record("HeartbeatNotification", record),
        Payload::SubscriptionResponse(record) => sink.record("SubscriptionResponse", record),
        Payload::TerminateSubscriptionResponse(record) => {
            sink.record("TerminateSubscriptionResponse", record);
        }
        Payload::SubscriptionTerminatedNotification(record) => {
            sink.record("SubscriptionTerminatedNotification", record);
        }
        Payload::DataReadyNotification(record) => sink.record("DataReadyNotification", record),
        Payload::DataSupplyRequest(record) => sink.record("DataSupplyRequest", record),
        Payload::DataReadyAcknowledgement(record) => {
            sink.record("DataReadyAcknowledgement", record);
        }
        Payload::CheckStatusRequest(record) => sink.record("CheckStatusRequest", record),
        Payload::ServiceRequest(record) => sink.record("ServiceRequest", record),
        Payload::SubscriptionRequest(record) => sink.record("SubscriptionRequest", record),
        Payload::TerminateSubscriptionRequest(record) => {
            sink.record("TerminateSubscriptionRequest", record);
        }
        Payload::LinesDelivery(record) => sink.record("LinesDelivery", record),
        Payload::StopPointsDelivery(record) => sink.record("StopPointsDelivery", record),
        Payload::LinesRequest(record) => sink.record("LinesRequest", record),
        Payload::StopPointsRequest(record) => sink.record("StopPointsRequest", record),
        Payload::Fault(_) | Payload::Other(_) => {}
    }
}

#[cfg(test)]
mod tests;
