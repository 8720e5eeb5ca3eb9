//! Decodes a message: the envelope and the payloads in it.

use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::{
    CheckStatusRequest, CheckStatusResponse, DataReadyAcknowledgement, DataReadyNotification,
    DataSupplyRequest, HeartbeatNotification, LinesDelivery, LinesRequest, MessageLimits,
    ServiceDelivery, ServiceRequest, SoapFault, StopPointsDelivery, StopPointsRequest,
    SubscriptionRequest, SubscriptionResponse, SubscriptionTerminatedNotification,
    TerminateSubscriptionRequest, TerminateSubscriptionResponse,
    ignored_elements::NAME_BYTES_MAX,
    json::JsonSource,
    reader::MessageReader,
    record::{RecordElement as _, SiriRecord},
    source::MessageSource,
};
use crate::{
    ConversionReport, Error, ErrorKind, Problems,
    body_prefix::{looks_like_gzip, looks_like_html},
    xml::{self, XmlReader},
};

/// A message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiriMessage {
    /// The version of SIRI that the message states.
    pub version: Option<SmolStr>,
    /// The payloads, nearly always one.
    pub payloads: Vec<MessagePayload>,
}

impl SiriMessage {
    /// Returns the deliveries of the message.
    pub fn service_deliveries(&self) -> impl Iterator<Item = &ServiceDelivery> {
        self.payloads.iter().filter_map(|payload| match payload {
            MessagePayload::ServiceDelivery(delivery) => Some(delivery),
            _ => None,
        })
    }

    /// Returns true if the producer states that more data can be requested.
    pub fn has_more_data(&self) -> bool {
        self.service_deliveries().any(|delivery| {
            let heads = delivery
                .estimated_timetables
                .iter()
                .map(|it| &it.head)
                .chain(delivery.vehicle_monitorings.iter().map(|it| &it.head))
                .chain(delivery.stop_monitorings.iter().map(|it| &it.head))
                .chain(delivery.situation_exchanges.iter().map(|it| &it.head));
            delivery.more_data == Some(true)
                || heads.into_iter().any(|head| head.more_data == Some(true))
        })
    }
}

/// The payload of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MessagePayload {
    /// Data, as an answer or for a subscriber.
    ServiceDelivery(ServiceDelivery),
    /// The answer to a status request.
    CheckStatusResponse(CheckStatusResponse),
    /// A heartbeat of a producer.
    HeartbeatNotification(HeartbeatNotification),
    /// The results of subscription requests.
    SubscriptionResponse(SubscriptionResponse),
    /// The results of the termination of subscriptions.
    TerminateSubscriptionResponse(TerminateSubscriptionResponse),
    /// The producer terminated a subscription.
    SubscriptionTerminatedNotification(SubscriptionTerminatedNotification),
    /// Data are ready to be fetched.
    DataReadyNotification(DataReadyNotification),
    /// Fetches announced data.
    DataSupplyRequest(DataSupplyRequest),
    /// Acknowledges an announcement.
    DataReadyAcknowledgement(DataReadyAcknowledgement),
    /// Requests the status of a producer.
    CheckStatusRequest(CheckStatusRequest),
    /// Requests data.
    ServiceRequest(ServiceRequest),
    /// Subscribes to data.
    SubscriptionRequest(SubscriptionRequest),
    /// Terminates subscriptions.
    TerminateSubscriptionRequest(TerminateSubscriptionRequest),
    /// The available lines.
    LinesDelivery(LinesDelivery),
    /// The available stops.
    StopPointsDelivery(StopPointsDelivery),
    /// Requests the available lines.
    LinesRequest(LinesRequest),
    /// Requests the available stops.
    StopPointsRequest(StopPointsRequest),
    /// A fault of the envelope.
    Fault(SoapFault),
    /// Any other SIRI element, such as an unsupported service, by its name. A message contains the first one of each
    /// name, and few names; the others are only counted as skipped.
    Other(SmolStr),
}

/// Decodes a message, in XML or JSON according to its first byte. Times without an offset from UTC are interpreted in
/// `zone`, each with a problem.
///
/// # Errors
/// Returns the errors of [`decode_xml_message`] and [`decode_json_message`].
pub fn decode_siri_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), Error> {
    decode_message_with_report(body, zone, limits).map(|(message, problems, _)| (message, problems))
}

/// Decodes a message like [`decode_siri_message`], and reports the data that are in no record: unsupported elements by
/// name, each counted once with its content, and values that a later element of the same name replaced.
///
/// # Errors
/// Returns the errors of [`decode_xml_message`] and [`decode_json_message`].
pub fn decode_message_with_report(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    match start.first() {
        Some(b'{' | b'[') => decode_json_with_report(body, zone, limits),
        _ => decode_xml_with_report(body, zone, limits),
    }
}

/// Decodes a message in XML: plain, or in a SOAP envelope. A fault inside a record is a problem with the path of the
/// element and the record's id; only that element is dropped.
///
/// # Errors
/// Returns an error if the body is empty, larger than the limits, a web page, truncated, in an unknown or wrong
/// encoding, not well-formed, nested too deeply or without SIRI, or if it has a document type or custom entities.
pub fn decode_xml_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), Error> {
    decode_xml_with_report(body, zone, limits).map(|(message, problems, _)| (message, problems))
}

fn decode_xml_with_report(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    reject_unusable_body(body, limits)?;
    let text = xml::decode_document(body)?;
    let bounds = xml::XmlLimits { depth: MessageLimits::DEPTH, ..xml::XmlLimits::default() };
    read_envelope_and_payloads(
        MessageReader::new(XmlReader::new(&text, bounds), zone, limits),
        "XML",
    )
}

/// Decodes a message in JSON, as in SIRI Lite: element names as keys, lists for repeated elements, texts as strings or
/// as `{"value": …, "lang": …}`.
///
/// # Errors
/// Returns an error if the body is empty, larger than the limits, a web page, truncated, not JSON in UTF-8, nested too
/// deeply or without SIRI.
pub fn decode_json_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), Error> {
    decode_json_with_report(body, zone, limits).map(|(message, problems, _)| (message, problems))
}

fn decode_json_with_report(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    reject_unusable_body(body, limits)?;
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let text = std::str::from_utf8(text).map_err(|error| match error.error_len() {
        None => Error::new(ErrorKind::Truncated, "the JSON is truncated"),
        Some(_) => Error::new(ErrorKind::Encoding, format!("the JSON is not UTF-8: {error}")),
    })?;
    read_envelope_and_payloads(MessageReader::new(JsonSource::new(text), zone, limits), "JSON")
}

/// Number of leading bytes that are searched for marks of SIRI.
const PREFIX_BYTES: usize = 4_096;

/// Returns true if the beginning of a body shows SIRI: its namespace, or its names as JSON keys.
pub fn looks_like_siri(body: &[u8]) -> bool {
    let prefix = xml::decode_document_start(body.get(..PREFIX_BYTES).unwrap_or(body));
    let marks: &[&str] = match prefix.trim_ascii_start().bytes().next() {
        Some(b'<') => &["http://www.siri.org.uk", "http://wsdl.siri.org.uk", "<Siri"],
        Some(b'{') => &["\"Siri\"", "\"ServiceDelivery\""],
        _ => &[],
    };
    marks.iter().any(|mark| prefix.contains(mark))
}

fn reject_unusable_body(body: &[u8], limits: &MessageLimits) -> Result<(), Error> {
    let (kind, detail) = if body.is_empty() {
        (ErrorKind::Empty, "the body is empty".to_owned())
    } else if body.len() > limits.body_bytes {
        let (found, max) = (body.len(), limits.body_bytes);
        (ErrorKind::TooLarge, format!("the message has {found} bytes; the limit is {max}"))
    } else if looks_like_html(body) {
        (ErrorKind::Html, "expected SIRI, but got a web page".to_owned())
    } else if looks_like_gzip(body) {
        let detail = "expected SIRI, but the bytes are compressed with gzip; decompress them first";
        (ErrorKind::Decode, detail.to_owned())
    } else {
        return Ok(());
    };
    Err(Error::new(kind, detail))
}

fn read_envelope_and_payloads<'a, S: MessageSource<'a>>(
    mut reader: MessageReader<'a, S>,
    form: &str,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    let mut message = SiriMessage::default();
    let mut unread_payloads = UndecodedPayloads::default();
    read_envelope_level(&mut reader, &mut message, EnvelopeLevel::Root, &mut unread_payloads)?;
    if message.payloads.is_empty() && unread_payloads.n_foreign > 0 {
        return Err(Error::new(ErrorKind::Decode, format!("the {form} contains no SIRI")));
    }
    let (problems, losses) = reader.into_problems_and_report();
    Ok((message, problems, losses))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EnvelopeLevel {
    Root,
    Inside,
}

/// Elements of a message that are not decoded.
#[derive(Default)]
struct UndecodedPayloads {
    /// Number of root elements that are not SIRI; 1 if there is no root.
    n_foreign: u32,
    /// The names of the [others](MessagePayload::Other) in the message, at most [`OTHERS_MAX`].
    others: Vec<SmolStr>,
}

impl UndecodedPayloads {
    /// Returns true if an unsupported payload is added to the message by its name.
    fn retain_payload_name(&mut self, name: &str) -> bool {
        let is_retained = self.others.len() < OTHERS_MAX
            && name.len() <= NAME_BYTES_MAX
            && self.others.iter().all(|other| other != name);
        if is_retained {
            self.others.push(SmolStr::new(name));
        }
        is_retained
    }
}

/// Maximum number of unsupported payloads of a message that are retained by name.
const OTHERS_MAX: usize = 20;

/// Reads the elements at one level of the envelope.
fn read_envelope_level<'a, S: MessageSource<'a>>(
    reader: &mut MessageReader<'a, S>,
    message: &mut SiriMessage,
    level: EnvelopeLevel,
    unread_payloads: &mut UndecodedPayloads,
) -> Result<(), Error> {
    let mut n_children = 0;
    while let Some(name) = reader.source.open_next_child()? {
        n_children += 1;
        match name {
            "Siri" => {
                message.version = reader.read_attribute("version");
                reader.report_foreign_namespace("Siri");
                read_envelope_level(reader, message, EnvelopeLevel::Inside, unread_payloads)?;
            }
            "Envelope" | "Body" => {
                read_envelope_level(reader, message, EnvelopeLevel::Inside, unread_payloads)?
            }
            "version" | "Version" if level == EnvelopeLevel::Inside => {
                reader.read_value("version", &mut message.version)?;
            }
            "Header" => reader.source.skip_element()?,
            _ => match read_payload_element(reader, name)? {
                Some(payload) => {
                    reader.count_record_bytes(size_of::<MessagePayload>())?;
                    message.payloads.push(payload);
                }
                None if level == EnvelopeLevel::Inside || reader.is_siri_namespace() => {
                    if unread_payloads.retain_payload_name(name) {
                        reader.count_record_bytes(size_of::<MessagePayload>() + name.len())?;
                        message.payloads.push(MessagePayload::Other(SmolStr::new(name)));
                        reader.source.skip_element()?;
                    } else {
                        reader.skip_and_count_element(name)?;
                    }
                }
                None => {
                    unread_payloads.n_foreign += 1;
                    reader.source.skip_element()?;
                }
            },
        }
    }
    unread_payloads.n_foreign += u32::from(level == EnvelopeLevel::Root && n_children == 0);
    Ok(())
}

/// Reads the most recently opened element. An unsupported element remains open, and the function returns `None`.
fn read_payload_element<'a, S: MessageSource<'a>>(
    reader: &mut MessageReader<'a, S>,
    name: &str,
) -> Result<Option<MessagePayload>, Error> {
    Ok(Some(match name {
        "ServiceDelivery" => {
            MessagePayload::ServiceDelivery(read_new_record(reader, "ServiceDelivery")?)
        }
        "CheckStatusResponse" => {
            MessagePayload::CheckStatusResponse(read_new_record(reader, "CheckStatusResponse")?)
        }
        "HeartbeatNotification" | "NotifyHeartbeat" => {
            MessagePayload::HeartbeatNotification(read_new_record(reader, "HeartbeatNotification")?)
        }
        "SubscriptionResponse" | "SubscribeResponse" => {
            MessagePayload::SubscriptionResponse(read_new_record(reader, "SubscriptionResponse")?)
        }
        "TerminateSubscriptionResponse" | "DeleteSubscriptionResponse" => {
            let name = "TerminateSubscriptionResponse";
            MessagePayload::TerminateSubscriptionResponse(read_new_record(reader, name)?)
        }
        "SubscriptionTerminatedNotification" | "NotifySubscriptionTerminated" => {
            let name = "SubscriptionTerminatedNotification";
            MessagePayload::SubscriptionTerminatedNotification(read_new_record(reader, name)?)
        }
        "DataReadyNotification" | "NotifyDataReady" => {
            MessagePayload::DataReadyNotification(read_new_record(reader, "DataReadyNotification")?)
        }
        "DataSupplyRequest" | "DataSupply" => {
            MessagePayload::DataSupplyRequest(read_new_record(reader, "DataSupplyRequest")?)
        }
        "DataReadyAcknowledgement" => MessagePayload::DataReadyAcknowledgement(read_new_record(
            reader,
            "DataReadyAcknowledgement",
        )?),
        // Fetched data are an ordinary delivery.
        "DataSupplyResponse" => {
            MessagePayload::ServiceDelivery(read_new_record(reader, "ServiceDelivery")?)
        }
        "Fault" => MessagePayload::Fault(read_new_record(reader, "Fault")?),
        "LinesDelivery" | "LinesDiscoveryResponse" => {
            MessagePayload::LinesDelivery(read_new_record(reader, "LinesDelivery")?)
        }
        "StopPointsDelivery" | "StopPointsDiscoveryResponse" => {
            MessagePayload::StopPointsDelivery(read_new_record(reader, "StopPointsDelivery")?)
        }
        _ if is_french_delivery_element(name) => {
            MessagePayload::ServiceDelivery(read_new_record(reader, "ServiceDelivery")?)
        }
        _ => return read_request_payload(reader, name),
    }))
}

/// Reads the most recently opened element if it is a request.
fn read_request_payload<'a, S: MessageSource<'a>>(
    reader: &mut MessageReader<'a, S>,
    name: &str,
) -> Result<Option<MessagePayload>, Error> {
    Ok(Some(match name {
        "CheckStatusRequest" | "CheckStatus" => {
            MessagePayload::CheckStatusRequest(read_new_record(reader, "CheckStatusRequest")?)
        }
        "SubscriptionRequest" | "Subscribe" => {
            MessagePayload::SubscriptionRequest(read_new_record(reader, "SubscriptionRequest")?)
        }
        "TerminateSubscriptionRequest" | "DeleteSubscription" => {
            MessagePayload::TerminateSubscriptionRequest(read_new_record(
                reader,
                "TerminateSubscriptionRequest",
            )?)
        }
        "ServiceRequest" | "GetSiriService" => {
            MessagePayload::ServiceRequest(read_new_record(reader, "ServiceRequest")?)
        }
        "GetEstimatedTimetable"
        | "GetVehicleMonitoring"
        | "GetStopMonitoring"
        | "GetSituationExchange" => {
            MessagePayload::ServiceRequest(read_french_service_request(reader, name)?)
        }
        "LinesRequest" | "LinesDiscovery" => {
            MessagePayload::LinesRequest(read_new_record(reader, "LinesRequest")?)
        }
        "StopPointsRequest" | "StopPointsDiscovery" => {
            MessagePayload::StopPointsRequest(read_new_record(reader, "StopPointsRequest")?)
        }
        _ => return Ok(None),
    }))
}

/// Reads a request for one service in the French envelope, which has the service's fields in an element of their own.
fn read_french_service_request<'a, S: MessageSource<'a>>(
    reader: &mut MessageReader<'a, S>,
    name: &str,
) -> Result<ServiceRequest, Error> {
    let mut request = ServiceRequest::default();
    while let Some(child) = reader.source.open_next_child()? {
        match (child, name) {
            ("ServiceRequestInfo", _) => reader.read_record("ServiceRequest", &mut request)?,
            ("Request", "GetEstimatedTimetable") => {
                request.estimated_timetables.read_element("EstimatedTimetableRequest", reader)?;
            }
            ("Request", "GetVehicleMonitoring") => {
                request.vehicle_monitorings.read_element("VehicleMonitoringRequest", reader)?;
            }
            ("Request", "GetStopMonitoring") => {
                request.stop_monitorings.read_element("StopMonitoringRequest", reader)?;
            }
            ("Request", "GetSituationExchange") => {
                request.situation_exchanges.read_element("SituationExchangeRequest", reader)?;
            }
            _ => reader.skip_and_count_element(child)?,
        }
    }
    Ok(request)
}

fn read_new_record<'a, S: MessageSource<'a>, T: SiriRecord>(
    reader: &mut MessageReader<'a, S>,
    name: &'static str,
) -> Result<T, Error> {
    let mut record = T::default();
    reader.read_record(name, &mut record)?;
    Ok(record)
}

/// Returns true for elements of the French envelope that contain a delivery: `GetStopMonitoringResponse`,
/// `NotifyStopMonitoring`, and Israel's variant `getStopMonitoringServiceResponse`.
fn is_french_delivery_element(name: &str) -> bool {
    let service = match name.strip_prefix("Get").or(name.strip_prefix("get")) {
        Some(rest) => rest.strip_suffix("ServiceResponse").or(rest.strip_suffix("Response")),
        None => name.strip_prefix("Notify"),
    };
    let services = [
        "EstimatedTimetable",
        "VehicleMonitoring",
        "StopMonitoring",
        "MultipleStopMonitoring",
        "SituationExchange",
        "Siri",
        "SiriService",
    ];
    service.is_some_and(|service| services.contains(&service))
}
