//! Messages in the SOAP envelope of the French profile: the fields about a message and its content are in two separate
//! elements.

use smol_str::SmolStr;

use super::{
    DataReadyAcknowledgement, MessagePayload, ServiceDelivery, ServiceRequest, SiriMessage,
    TerminateSubscriptionResponse,
    encode::{DECLARATION, SIRI},
    record::SiriRecord,
    sink::{MessageSink, XmlSink},
    values::JsonValueForm,
};
use crate::xml::{self, XmlReader};

const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const WSDL: &str = "http://wsdl.siri.org.uk";

/// The fields about a message; all others are its content.
const INFO: [&str; 11] = [
    "ConsumerRef",
    "RequestorRef",
    "ConsumerAddress",
    "ResponseTimestamp",
    "RequestTimestamp",
    "ProducerRef",
    "ResponderRef",
    "Address",
    "ResponseMessageIdentifier",
    "MessageIdentifier",
    "RequestMessageRef",
];

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoapMessageKind {
    /// The answer to a request.
    Answer,
    /// The answer to `GetSiriService`, for any services. It is the only form of the envelope for a delivery of several
    /// services.
    SiriServiceAnswer,
    /// Data for a subscriber.
    Notification,
}

/// The elements around a payload.
struct SoapElementNames {
    name: &'static str,
    info: &'static str,
    body: &'static str,
    extension: &'static str,
}

/// Returns true if the first element of a message is an envelope.
pub fn is_soap_envelope(body: &[u8]) -> bool {
    let Ok(text) = xml::decode_document(body) else { return false };
    let mut xml = XmlReader::new(&text, xml::XmlLimits::default());
    matches!(xml.open_next_child(), Ok(Some("Envelope")))
}

/// Returns the operation of a message in an envelope: the name of the first element of its body. Returns `None` for
/// other messages.
pub fn soap_operation(body: &[u8]) -> Option<SmolStr> {
    let text = xml::decode_document(body).ok()?;
    let mut xml = XmlReader::new(&text, xml::XmlLimits::default());
    xml.open_next_child().ok()?.filter(|name| *name == "Envelope")?;
    while xml.open_next_child().ok()?? != "Body" {
        xml.skip_element().ok()?;
    }
    xml.open_next_child().ok()?.map(SmolStr::new)
}

/// Encodes a message in a SOAP envelope. Payloads that are known only by name are omitted.
pub fn encode_soap(message: &SiriMessage, exchange: SoapMessageKind) -> String {
    let mut sink = XmlSink::default();
    sink.text.push_str(DECLARATION);
    sink.set_namespace_prefix("S:");
    sink.begin_element("Envelope");
    sink.write_attribute("xmlns:S", SOAP);
    sink.begin_element("Body");
    for payload in &message.payloads {
        write_soap_payload(payload, exchange, &mut sink);
    }
    sink.set_namespace_prefix("S:");
    sink.end_element("Body");
    sink.end_element("Envelope");
    sink.text
}

fn write_soap_payload(payload: &MessagePayload, exchange: SoapMessageKind, sink: &mut XmlSink) {
    match payload {
        MessagePayload::ServiceDelivery(record) => {
            write_service_delivery(record, exchange, sink);
        }
        MessagePayload::CheckStatusResponse(record) => {
            write_info_and_body(
                &answer_element_names("CheckStatusResponse", "CheckStatusAnswerInfo"),
                record,
                sink,
            );
        }
        MessagePayload::SubscriptionResponse(record) => {
            write_info_and_body(
                &answer_element_names("SubscribeResponse", "SubscriptionAnswerInfo"),
                record,
                sink,
            );
        }
        MessagePayload::TerminateSubscriptionResponse(record) => {
            write_termination_answer(record, sink);
        }
        MessagePayload::HeartbeatNotification(record) => {
            write_info_and_body(
                &notification_element_names("NotifyHeartbeat", "HeartbeatNotifyInfo"),
                record,
                sink,
            );
        }
        MessagePayload::SubscriptionTerminatedNotification(record) => {
            write_notification_element("NotifySubscriptionTerminated", None, record, sink);
        }
        MessagePayload::DataReadyNotification(record) => {
            write_notification_element("NotifyDataReady", Some("SiriExtension"), record, sink);
        }
        MessagePayload::ServiceRequest(record) => write_service_request(record, sink),
        MessagePayload::SubscriptionRequest(record) => {
            write_info_and_body(
                &request_element_names("Subscribe", "SubscriptionRequestInfo"),
                record,
                sink,
            );
        }
        MessagePayload::TerminateSubscriptionRequest(record) => {
            write_info_and_body(
                &request_element_names("DeleteSubscription", "DeleteSubscriptionInfo"),
                record,
                sink,
            );
        }
        MessagePayload::DataSupplyRequest(record) => {
            write_info_and_body(
                &request_element_names("DataSupply", "DataSupplyRequestInfo"),
                record,
                sink,
            );
        }
        MessagePayload::DataReadyAcknowledgement(record) => {
            write_data_ready_acknowledgement(record, sink)
        }
        MessagePayload::CheckStatusRequest(record) => {
            write_single_service_request("CheckStatus", None, record, sink)
        }
        MessagePayload::LinesRequest(record) => {
            write_single_service_request("LinesDiscovery", None, record, sink)
        }
        MessagePayload::StopPointsRequest(record) => {
            write_single_service_request("StopPointsDiscovery", None, record, sink);
        }
        MessagePayload::LinesDelivery(record) => {
            write_answer_element("LinesDiscoveryResponse", record, sink)
        }
        MessagePayload::StopPointsDelivery(record) => {
            write_answer_element("StopPointsDiscoveryResponse", record, sink);
        }
        MessagePayload::Fault(record) => {
            sink.set_namespace_prefix("S:");
            sink.begin_element("Fault");
            sink.set_namespace_prefix("");
            record.write_children(sink);
            sink.set_namespace_prefix("S:");
            sink.end_element("Fault");
        }
        MessagePayload::Other(_) => {}
    }
}

fn answer_element_names(name: &'static str, info: &'static str) -> SoapElementNames {
    SoapElementNames { name, info, body: "Answer", extension: "AnswerExtension" }
}

fn notification_element_names(name: &'static str, info: &'static str) -> SoapElementNames {
    SoapElementNames { name, info, body: "Notification", extension: "SiriExtension" }
}

fn request_element_names(name: &'static str, info: &'static str) -> SoapElementNames {
    SoapElementNames { name, info, body: "Request", extension: "RequestExtension" }
}

/// Writes a request. For one service the fields are in the body; for several they are in elements of their own.
fn write_service_request(record: &ServiceRequest, sink: &mut XmlSink) {
    let about = Some(record);
    let services = (
        &record.estimated_timetables[..],
        &record.vehicle_monitorings[..],
        &record.stop_monitorings[..],
        &record.situation_exchanges[..],
    );
    match services {
        ([one], [], [], []) => {
            write_single_service_request("GetEstimatedTimetable", about, one, sink)
        }
        ([], [one], [], []) => {
            write_single_service_request("GetVehicleMonitoring", about, one, sink)
        }
        ([], [], [one], []) => write_single_service_request("GetStopMonitoring", about, one, sink),
        ([], [], [], [one]) => {
            write_single_service_request("GetSituationExchange", about, one, sink)
        }
        _ => write_siri_service("GetSiriService", "Request", record, sink),
    }
}

fn write_single_service_request<T: SiriRecord>(
    name: &str,
    about: Option<&ServiceRequest>,
    inner: &T,
    sink: &mut XmlSink,
) {
    open_soap_operation_element(name, sink);
    if let Some(about) = about {
        write_selected_fields("ServiceRequestInfo", is_message_info_field, about, sink);
    }
    write_whole_record("Request", inner, sink);
    close_operation_after_extension(name, Some("RequestExtension"), sink);
}

/// Writes the results of a termination. The schema requires all fields in the answer, and repeats the fields about the
/// message before it.
fn write_termination_answer(record: &TerminateSubscriptionResponse, sink: &mut XmlSink) {
    let name = "DeleteSubscriptionResponse";
    open_soap_operation_element(name, sink);
    write_selected_fields("DeleteSubscriptionAnswerInfo", is_message_info_field, record, sink);
    write_whole_record("Answer", record, sink);
    close_operation_after_extension(name, Some("AnswerExtension"), sink);
}

/// Writes an acknowledgement as in plain XML, because the envelope has no form for it.
fn write_data_ready_acknowledgement(record: &DataReadyAcknowledgement, sink: &mut XmlSink) {
    let name = "DataReadyAcknowledgement";
    sink.set_namespace_prefix("siri:");
    sink.begin_element(name);
    sink.write_attribute("xmlns:siri", SIRI);
    record.write_children(sink);
    sink.end_element(name);
    sink.set_namespace_prefix("");
}

/// Writes a delivery. That of one service is directly in the answer; fields without a place in the schema are in the
/// extension.
fn write_service_delivery(record: &ServiceDelivery, exchange: SoapMessageKind, sink: &mut XmlSink) {
    let (name, is_of_one) = soap_delivery_name(record, exchange);
    let (body, extension) = match exchange {
        SoapMessageKind::Answer if is_of_one => ("Answer", "AnswerExtension"),
        SoapMessageKind::Answer | SoapMessageKind::SiriServiceAnswer => {
            return write_siri_service("GetSiriServiceResponse", "Answer", record, sink);
        }
        SoapMessageKind::Notification => ("Notification", "SiriExtension"),
    };
    let info = "ServiceDeliveryInfo";
    if !is_of_one {
        return write_info_and_body(
            &SoapElementNames { name, info, body, extension },
            record,
            sink,
        );
    }
    open_soap_operation_element(name, sink);
    write_selected_fields(info, is_message_info_field, record, sink);
    write_selected_fields(body, is_delivery_field, record, sink);
    write_selected_fields(
        extension,
        |name| !is_message_info_field(name) && !is_delivery_field(name),
        record,
        sink,
    );
    close_soap_operation_element(name, sink);
}

/// Writes a request for any services, or its answer: a single element contains all fields, as in plain XML.
fn write_siri_service<T: SiriRecord>(name: &str, body: &str, record: &T, sink: &mut XmlSink) {
    open_soap_operation_element(name, sink);
    write_whole_record(body, record, sink);
    close_soap_operation_element(name, sink);
}

/// Writes a notification whose fields are all in one element.
fn write_notification_element<T: SiriRecord>(
    name: &str,
    extension: Option<&str>,
    record: &T,
    sink: &mut XmlSink,
) {
    open_soap_operation_element(name, sink);
    write_whole_record("Notification", record, sink);
    close_operation_after_extension(name, extension, sink);
}

/// Writes an answer whose fields are all in one element.
fn write_answer_element<T: SiriRecord>(name: &str, record: &T, sink: &mut XmlSink) {
    open_soap_operation_element(name, sink);
    write_whole_record("Answer", record, sink);
    close_operation_after_extension(name, Some("AnswerExtension"), sink);
}

fn write_whole_record<T: SiriRecord>(name: &str, record: &T, sink: &mut XmlSink) {
    sink.begin_element(name);
    sink.set_namespace_prefix("siri:");
    record.write_children(sink);
    sink.set_namespace_prefix("");
    sink.end_element(name);
}

/// Returns the name of a delivery, and true if it is of one service.
fn soap_delivery_name(
    delivery: &ServiceDelivery,
    exchange: SoapMessageKind,
) -> (&'static str, bool) {
    let services = [
        (
            delivery.estimated_timetables.len(),
            ["GetEstimatedTimetableResponse", "NotifyEstimatedTimetable"],
        ),
        (
            delivery.vehicle_monitorings.len(),
            ["GetVehicleMonitoringResponse", "NotifyVehicleMonitoring"],
        ),
        (delivery.stop_monitorings.len(), ["GetStopMonitoringResponse", "NotifyStopMonitoring"]),
        (
            delivery.situation_exchanges.len(),
            ["GetSituationExchangeResponse", "NotifySituationExchange"],
        ),
    ];
    let mut present = services.iter().filter(|(n, _)| *n > 0);
    let (names, is_of_one) = match (present.next(), present.next()) {
        (Some((_, names)), None) => (*names, true),
        _ => (["GetSiriServiceResponse", "NotifySiriService"], false),
    };
    (names[usize::from(exchange == SoapMessageKind::Notification)], is_of_one)
}

fn write_info_and_body<T: SiriRecord>(frame: &SoapElementNames, record: &T, sink: &mut XmlSink) {
    open_soap_operation_element(frame.name, sink);
    write_selected_fields(frame.info, is_message_info_field, record, sink);
    write_selected_fields(frame.body, |name| !is_message_info_field(name), record, sink);
    close_operation_after_extension(frame.name, Some(frame.extension), sink);
}

/// Opens the element of an exchange; its content has no prefix.
fn open_soap_operation_element(name: &str, sink: &mut XmlSink) {
    sink.set_namespace_prefix("sw:");
    sink.begin_element(name);
    sink.write_attribute("xmlns:sw", WSDL);
    sink.write_attribute("xmlns:siri", SIRI);
    sink.set_namespace_prefix("");
}

/// Returns true for a field about the message.
fn is_message_info_field(name: &str) -> bool {
    INFO.contains(&name)
}

/// Returns true for the delivery of a service.
fn is_delivery_field(name: &str) -> bool {
    name.ends_with("Delivery")
}

/// Writes an element with the fields of a record for which `belongs` returns true.
fn write_selected_fields<T: SiriRecord>(
    name: &str,
    belongs: fn(&str) -> bool,
    record: &T,
    sink: &mut XmlSink,
) {
    sink.begin_element(name);
    sink.set_namespace_prefix("siri:");
    record.write_children(&mut FieldFilterSink { sink, belongs, depth: 0, is_left_out: false });
    sink.set_namespace_prefix("");
    sink.end_element(name);
}

/// Closes the element of an exchange after its empty extension, if it has one.
fn close_operation_after_extension(name: &str, extension: Option<&str>, sink: &mut XmlSink) {
    if let Some(extension) = extension {
        sink.begin_element(extension);
        sink.end_element(extension);
    }
    close_soap_operation_element(name, sink);
}

fn close_soap_operation_element(name: &str, sink: &mut XmlSink) {
    sink.set_namespace_prefix("sw:");
    sink.end_element(name);
}

/// A sink that writes a part of a record's fields.
struct FieldFilterSink<'s> {
    sink: &'s mut XmlSink,
    belongs: fn(&str) -> bool,
    depth: usize,
    /// True if the open field is in another part.
    is_left_out: bool,
}

impl FieldFilterSink<'_> {
    /// Returns true if a field with that name is written.
    fn includes_field(&self, name: &str) -> bool {
        if self.depth > 0 { !self.is_left_out } else { (self.belongs)(name) }
    }
}

impl MessageSink for FieldFilterSink<'_> {
    fn begin_element(&mut self, name: &str) {
        self.is_left_out = !self.includes_field(name);
        self.depth += 1;
        if !self.is_left_out {
            self.sink.begin_element(name);
        }
    }

    fn end_element(&mut self, name: &str) {
        self.depth -= 1;
        if !self.is_left_out {
            self.sink.end_element(name);
        }
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        if !self.is_left_out {
            self.sink.write_attribute(name, value);
        }
    }

    fn write_leaf(&mut self, name: &str, text: &str, form: JsonValueForm) {
        if self.includes_field(name) {
            self.sink.write_leaf(name, text, form);
        }
    }

    fn write_localized_text(&mut self, name: &str, lang: Option<&str>, text: &str) {
        if self.includes_field(name) {
            self.sink.write_localized_text(name, lang, text);
        }
    }

    fn write_presence_element(&mut self, name: &str) {
        if self.includes_field(name) {
            self.sink.write_presence_element(name);
        }
    }

    fn write_list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if self.includes_field(name) {
            for item in items {
                write(self, item);
            }
        }
    }
}
