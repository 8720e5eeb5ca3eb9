//! Messages in the SOAP envelope of the French profile: what is said about the message and what it says stand apart, each
//! in an element of its own.

use smol_str::SmolStr;

use super::{
    DataReadyAcknowledgement, Message, Payload, ServiceDelivery, ServiceRequest,
    TerminateSubscriptionResponse,
    encode::{DECLARATION, SIRI},
    record::Record,
    sink::{Sink, XmlSink},
    values::TextForm,
};
use crate::xml::{self, Xml};

const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const WSDL: &str = "http://wsdl.siri.org.uk";

/// What is said about a message; all else is what it says.
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

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// As an answer to a request.
    Answer,
    /// As the answer to `GetSiriService`, whichever services that asks for. It is all that the envelope has for a delivery of
    /// several services.
    SiriServiceAnswer,
    /// As news for a subscriber.
    Notification,
}

/// The elements that stand around a payload.
struct Frame {
    name: &'static str,
    info: &'static str,
    body: &'static str,
    extension: &'static str,
}

/// Whether a message came in an envelope: whether that is its first element.
pub fn is_enveloped(body: &[u8]) -> bool {
    let Ok(text) = xml::to_text(body) else { return false };
    let mut xml = Xml::new(&text, xml::Limits::default());
    matches!(xml.next_child(), Ok(Some("Envelope")))
}

/// What a message in an envelope is for: the name of the first element of its body. None of any other message.
pub fn operation(body: &[u8]) -> Option<SmolStr> {
    let text = xml::to_text(body).ok()?;
    let mut xml = Xml::new(&text, xml::Limits::default());
    xml.next_child().ok()?.filter(|name| *name == "Envelope")?;
    while xml.next_child().ok()?? != "Body" {
        xml.skip().ok()?;
    }
    xml.next_child().ok()?.map(SmolStr::new)
}

/// Encodes a message in a SOAP envelope. What is known by its name alone is left out.
pub fn encode_soap(message: &Message, exchange: Exchange) -> String {
    let mut sink = XmlSink::default();
    sink.text.push_str(DECLARATION);
    sink.set_prefix("S:");
    sink.begin("Envelope");
    sink.attribute("xmlns:S", SOAP);
    sink.begin("Body");
    for payload in &message.payloads {
        write_payload(payload, exchange, &mut sink);
    }
    sink.set_prefix("S:");
    sink.end("Body");
    sink.end("Envelope");
    sink.text
}

fn write_payload(payload: &Payload, exchange: Exchange, sink: &mut XmlSink) {
    match payload {
        Payload::ServiceDelivery(record) => {
            write_delivery(record, exchange, sink);
        }
        Payload::CheckStatusResponse(record) => {
            write_frame(&answer("CheckStatusResponse", "CheckStatusAnswerInfo"), record, sink);
        }
        Payload::SubscriptionResponse(record) => {
            write_frame(&answer("SubscribeResponse", "SubscriptionAnswerInfo"), record, sink);
        }
        Payload::TerminateSubscriptionResponse(record) => {
            write_end(record, sink);
        }
        Payload::HeartbeatNotification(record) => {
            write_frame(&notification("NotifyHeartbeat", "HeartbeatNotifyInfo"), record, sink);
        }
        Payload::SubscriptionTerminatedNotification(record) => {
            write_notification("NotifySubscriptionTerminated", None, record, sink);
        }
        Payload::DataReadyNotification(record) => {
            write_notification("NotifyDataReady", Some("SiriExtension"), record, sink);
        }
        Payload::ServiceRequest(record) => write_service_request(record, sink),
        Payload::SubscriptionRequest(record) => {
            write_frame(&request("Subscribe", "SubscriptionRequestInfo"), record, sink);
        }
        Payload::TerminateSubscriptionRequest(record) => {
            write_frame(&request("DeleteSubscription", "DeleteSubscriptionInfo"), record, sink);
        }
        Payload::DataSupplyRequest(record) => {
            write_frame(&request("DataSupply", "DataSupplyRequestInfo"), record, sink);
        }
        Payload::DataReadyAcknowledgement(record) => write_acknowledgement(record, sink),
        Payload::CheckStatusRequest(record) => write_single("CheckStatus", None, record, sink),
        Payload::LinesRequest(record) => write_single("LinesDiscovery", None, record, sink),
        Payload::StopPointsRequest(record) => {
            write_single("StopPointsDiscovery", None, record, sink);
        }
        Payload::LinesDelivery(record) => write_answer("LinesDiscoveryResponse", record, sink),
        Payload::StopPointsDelivery(record) => {
            write_answer("StopPointsDiscoveryResponse", record, sink);
        }
        Payload::Fault(record) => {
            sink.set_prefix("S:");
            sink.begin("Fault");
            sink.set_prefix("");
            record.write_children(sink);
            sink.set_prefix("S:");
            sink.end("Fault");
        }
        Payload::Other(_) => {}
    }
}

fn answer(name: &'static str, info: &'static str) -> Frame {
    Frame { name, info, body: "Answer", extension: "AnswerExtension" }
}

fn notification(name: &'static str, info: &'static str) -> Frame {
    Frame { name, info, body: "Notification", extension: "SiriExtension" }
}

fn request(name: &'static str, info: &'static str) -> Frame {
    Frame { name, info, body: "Request", extension: "RequestExtension" }
}

/// A request for one service has its fields in the body; one for several has them in elements of their own.
fn write_service_request(record: &ServiceRequest, sink: &mut XmlSink) {
    let about = Some(record);
    let services = (
        &record.estimated_timetables[..],
        &record.vehicle_monitorings[..],
        &record.stop_monitorings[..],
        &record.situation_exchanges[..],
    );
    match services {
        ([one], [], [], []) => write_single("GetEstimatedTimetable", about, one, sink),
        ([], [one], [], []) => write_single("GetVehicleMonitoring", about, one, sink),
        ([], [], [one], []) => write_single("GetStopMonitoring", about, one, sink),
        ([], [], [], [one]) => write_single("GetSituationExchange", about, one, sink),
        _ => write_siri_service("GetSiriService", "Request", record, sink),
    }
}

fn write_single<T: Record>(
    name: &str,
    about: Option<&ServiceRequest>,
    inner: &T,
    sink: &mut XmlSink,
) {
    begin_frame(name, sink);
    if let Some(about) = about {
        write_part("ServiceRequestInfo", is_info, about, sink);
    }
    write_whole("Request", inner, sink);
    end_frame(name, Some("RequestExtension"), sink);
}

/// How subscriptions ended: the schema has all of it in the answer, and what is said about it before that once more.
fn write_end(record: &TerminateSubscriptionResponse, sink: &mut XmlSink) {
    let name = "DeleteSubscriptionResponse";
    begin_frame(name, sink);
    write_part("DeleteSubscriptionAnswerInfo", is_info, record, sink);
    write_whole("Answer", record, sink);
    end_frame(name, Some("AnswerExtension"), sink);
}

/// The envelope has no answer to announcements; who wants one is told as in plain XML.
fn write_acknowledgement(record: &DataReadyAcknowledgement, sink: &mut XmlSink) {
    let name = "DataReadyAcknowledgement";
    sink.set_prefix("siri:");
    sink.begin(name);
    sink.attribute("xmlns:siri", SIRI);
    record.write_children(sink);
    sink.end(name);
    sink.set_prefix("");
}

/// A delivery of one service stands by itself in the answer: what the schema has no place for beside it is in the extension.
fn write_delivery(record: &ServiceDelivery, exchange: Exchange, sink: &mut XmlSink) {
    let (name, is_of_one) = delivery_name(record, exchange);
    let (body, extension) = match exchange {
        Exchange::Answer if is_of_one => ("Answer", "AnswerExtension"),
        Exchange::Answer | Exchange::SiriServiceAnswer => {
            return write_siri_service("GetSiriServiceResponse", "Answer", record, sink);
        }
        Exchange::Notification => ("Notification", "SiriExtension"),
    };
    let info = "ServiceDeliveryInfo";
    if !is_of_one {
        return write_frame(&Frame { name, info, body, extension }, record, sink);
    }
    begin_frame(name, sink);
    write_part(info, is_info, record, sink);
    write_part(body, is_delivery, record, sink);
    write_part(extension, |name| !is_info(name) && !is_delivery(name), record, sink);
    close_frame(name, sink);
}

/// What is asked of any services, or answered to it: one element has all of it, as in plain XML, and nothing is beside it.
fn write_siri_service<T: Record>(name: &str, body: &str, record: &T, sink: &mut XmlSink) {
    begin_frame(name, sink);
    write_whole(body, record, sink);
    close_frame(name, sink);
}

/// A notification all of which stands in one element.
fn write_notification<T: Record>(
    name: &str,
    extension: Option<&str>,
    record: &T,
    sink: &mut XmlSink,
) {
    begin_frame(name, sink);
    write_whole("Notification", record, sink);
    end_frame(name, extension, sink);
}

/// An answer all of which stands in one element.
fn write_answer<T: Record>(name: &str, record: &T, sink: &mut XmlSink) {
    begin_frame(name, sink);
    write_whole("Answer", record, sink);
    end_frame(name, Some("AnswerExtension"), sink);
}

fn write_whole<T: Record>(name: &str, record: &T, sink: &mut XmlSink) {
    sink.begin(name);
    sink.set_prefix("siri:");
    record.write_children(sink);
    sink.set_prefix("");
    sink.end(name);
}

/// The name of a delivery, and whether it is of one service.
fn delivery_name(delivery: &ServiceDelivery, exchange: Exchange) -> (&'static str, bool) {
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
    (names[usize::from(exchange == Exchange::Notification)], is_of_one)
}

fn write_frame<T: Record>(frame: &Frame, record: &T, sink: &mut XmlSink) {
    begin_frame(frame.name, sink);
    write_part(frame.info, is_info, record, sink);
    write_part(frame.body, |name| !is_info(name), record, sink);
    end_frame(frame.name, Some(frame.extension), sink);
}

/// Opens the element of an exchange; what it holds has no prefix.
fn begin_frame(name: &str, sink: &mut XmlSink) {
    sink.set_prefix("sw:");
    sink.begin(name);
    sink.attribute("xmlns:sw", WSDL);
    sink.attribute("xmlns:siri", SIRI);
    sink.set_prefix("");
}

/// Whether a field is said about the message.
fn is_info(name: &str) -> bool {
    INFO.contains(&name)
}

/// Whether a field is the delivery of a service.
fn is_delivery(name: &str) -> bool {
    name.ends_with("Delivery")
}

/// Writes an element with the fields of a record that belong into it.
fn write_part<T: Record>(name: &str, belongs: fn(&str) -> bool, record: &T, sink: &mut XmlSink) {
    sink.begin(name);
    sink.set_prefix("siri:");
    record.write_children(&mut Part { sink, belongs, depth: 0, is_left_out: false });
    sink.set_prefix("");
    sink.end(name);
}

/// Closes the element of an exchange after its empty extension, if it has one.
fn end_frame(name: &str, extension: Option<&str>, sink: &mut XmlSink) {
    if let Some(extension) = extension {
        sink.begin(extension);
        sink.end(extension);
    }
    close_frame(name, sink);
}

fn close_frame(name: &str, sink: &mut XmlSink) {
    sink.set_prefix("sw:");
    sink.end(name);
}

/// Writes a part of a record's fields.
struct Part<'s> {
    sink: &'s mut XmlSink,
    belongs: fn(&str) -> bool,
    depth: usize,
    /// Whether the open field is of another part.
    is_left_out: bool,
}

impl Part<'_> {
    /// Whether something of that name is to be written here.
    fn takes(&self, name: &str) -> bool {
        if self.depth > 0 { !self.is_left_out } else { (self.belongs)(name) }
    }
}

impl Sink for Part<'_> {
    fn begin(&mut self, name: &str) {
        self.is_left_out = !self.takes(name);
        self.depth += 1;
        if !self.is_left_out {
            self.sink.begin(name);
        }
    }

    fn end(&mut self, name: &str) {
        self.depth -= 1;
        if !self.is_left_out {
            self.sink.end(name);
        }
    }

    fn attribute(&mut self, name: &str, value: &str) {
        if !self.is_left_out {
            self.sink.attribute(name, value);
        }
    }

    fn leaf(&mut self, name: &str, text: &str, form: TextForm) {
        if self.takes(name) {
            self.sink.leaf(name, text, form);
        }
    }

    fn text_in_language(&mut self, name: &str, lang: Option<&str>, text: &str) {
        if self.takes(name) {
            self.sink.text_in_language(name, lang, text);
        }
    }

    fn flag(&mut self, name: &str) {
        if self.takes(name) {
            self.sink.flag(name);
        }
    }

    fn list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if self.takes(name) {
            for item in items {
                write(self, item);
            }
        }
    }
}
