//! Encodes messages as plain XML, or as the JSON of SIRI Lite. [`encode_soap`](super::encode_soap) writes envelopes.

use super::{
    MessagePayload, SiriMessage,
    sink::{JsonSink, MessageSink, XmlSink},
};

pub(super) const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
pub(super) const SIRI: &str = "http://www.siri.org.uk/siri";
/// The version of a message that states none.
const VERSION: &str = "2.0";

/// Encodes a message as plain XML. Faults, which only an envelope has, and payloads that are known only by name are
/// omitted.
pub fn encode_xml(message: &SiriMessage) -> String {
    let mut sink = XmlSink::default();
    sink.text.push_str(DECLARATION);
    write_siri_root(message, &mut sink, true);
    sink.text
}

/// Encodes a message as JSON, as in SIRI Lite. Faults, which only an envelope has, and payloads that are known only by
/// name are omitted.
pub fn encode_json(message: &SiriMessage) -> String {
    let mut sink = JsonSink::default();
    sink.text.push('{');
    write_siri_root(message, &mut sink, false);
    sink.text.push('}');
    sink.text
}

fn write_siri_root<W: MessageSink>(message: &SiriMessage, sink: &mut W, has_namespace: bool) {
    sink.begin_element("Siri");
    if has_namespace {
        sink.write_attribute("xmlns", SIRI);
    }
    sink.write_attribute("version", message.version.as_deref().unwrap_or(VERSION));
    for payload in &message.payloads {
        write_payload(payload, sink);
    }
    sink.end_element("Siri");
}

pub(super) fn write_payload<W: MessageSink>(payload: &MessagePayload, sink: &mut W) {
    match payload {
        MessagePayload::ServiceDelivery(record) => sink.write_record("ServiceDelivery", record),
        MessagePayload::CheckStatusResponse(record) => {
            sink.write_record("CheckStatusResponse", record)
        }
        MessagePayload::HeartbeatNotification(record) => {
            sink.write_record("HeartbeatNotification", record)
        }
        MessagePayload::SubscriptionResponse(record) => {
            sink.write_record("SubscriptionResponse", record)
        }
        MessagePayload::TerminateSubscriptionResponse(record) => {
            sink.write_record("TerminateSubscriptionResponse", record);
        }
        MessagePayload::SubscriptionTerminatedNotification(record) => {
            sink.write_record("SubscriptionTerminatedNotification", record);
        }
        MessagePayload::DataReadyNotification(record) => {
            sink.write_record("DataReadyNotification", record)
        }
        MessagePayload::DataSupplyRequest(record) => sink.write_record("DataSupplyRequest", record),
        MessagePayload::DataReadyAcknowledgement(record) => {
            sink.write_record("DataReadyAcknowledgement", record);
        }
        MessagePayload::CheckStatusRequest(record) => {
            sink.write_record("CheckStatusRequest", record)
        }
        MessagePayload::ServiceRequest(record) => sink.write_record("ServiceRequest", record),
        MessagePayload::SubscriptionRequest(record) => {
            sink.write_record("SubscriptionRequest", record)
        }
        MessagePayload::TerminateSubscriptionRequest(record) => {
            sink.write_record("TerminateSubscriptionRequest", record);
        }
        MessagePayload::LinesDelivery(record) => sink.write_record("LinesDelivery", record),
        MessagePayload::StopPointsDelivery(record) => {
            sink.write_record("StopPointsDelivery", record)
        }
        MessagePayload::LinesRequest(record) => sink.write_record("LinesRequest", record),
        MessagePayload::StopPointsRequest(record) => sink.write_record("StopPointsRequest", record),
        MessagePayload::Fault(_) | MessagePayload::Other(_) => {}
    }
}

#[cfg(test)]
mod tests;
