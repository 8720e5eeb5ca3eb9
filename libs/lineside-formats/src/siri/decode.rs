//! Takes a message apart: the envelope, and in it what the message is sent for.

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
    /// The version of SIRI that it says it is of.
    pub version: Option<SmolStr>,
    /// What it is sent for; nearly always one thing.
    pub payloads: Vec<MessagePayload>,
}

impl SiriMessage {
    /// The deliveries in it.
    pub fn deliveries(&self) -> impl Iterator<Item = &ServiceDelivery> {
        self.payloads.iter().filter_map(|payload| match payload {
            MessagePayload::ServiceDelivery(delivery) => Some(delivery),
            _ => None,
        })
    }

    /// Whether a producer says that there is more to be asked for.
    pub fn has_more_data(&self) -> bool {
        self.deliveries().any(|delivery| {
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

/// What a message is sent for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MessagePayload {
    /// News, as an answer or to a subscriber.
    ServiceDelivery(ServiceDelivery),
    /// Whether a producer is up.
    CheckStatusResponse(CheckStatusResponse),
    /// A producer says that it is up.
    HeartbeatNotification(HeartbeatNotification),
    /// How subscriptions went.
    SubscriptionResponse(SubscriptionResponse),
    /// How the end of subscriptions went.
    TerminateSubscriptionResponse(TerminateSubscriptionResponse),
    /// A producer has ended a subscription.
    SubscriptionTerminatedNotification(SubscriptionTerminatedNotification),
    /// There is something to be fetched.
    DataReadyNotification(DataReadyNotification),
    /// Fetches what was announced.
    DataSupplyRequest(DataSupplyRequest),
    /// Says that an announcement has come.
    DataReadyAcknowledgement(DataReadyAcknowledgement),
    /// Asks whether a producer is up.
    CheckStatusRequest(CheckStatusRequest),
    /// Asks for news.
    ServiceRequest(ServiceRequest),
    /// Subscribes to news.
    SubscriptionRequest(SubscriptionRequest),
    /// Ends subscriptions.
    TerminateSubscriptionRequest(TerminateSubscriptionRequest),
    /// Which lines there are.
    LinesDelivery(LinesDelivery),
    /// Which stops there are.
    StopPointsDelivery(StopPointsDelivery),
    /// Asks which lines there are.
    LinesRequest(LinesRequest),
    /// Asks which stops there are.
    StopPointsRequest(StopPointsRequest),
    /// The envelope says no.
    Fault(SoapFault),
    /// Something else of SIRI, by the name of its element, such as a service that is not read. A message holds the first of
    /// each name, and few names; of the others only their number is known, as what was passed over.
    Other(SmolStr),
}

/// Decodes a message, XML or JSON as its first byte shows. Moments that do not say their offset from UTC are taken in
/// `zone`, each with a problem.
///
/// # Errors
/// As [`decode_xml`] and [`decode_json`].
pub fn decode_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), Error> {
    decode_with_report(body, zone, limits).map(|(message, problems, _)| (message, problems))
}

/// The same, with what of the message is in no record: elements that are not read, by their names, each counted once with
/// all that is in it, and values that another of the same name took the place of.
///
/// # Errors
/// As [`decode_xml`] and [`decode_json`].
pub fn decode_with_report(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    match start.first() {
        Some(b'{' | b'[') => read_json_message(body, zone, limits),
        _ => read_xml_message(body, zone, limits),
    }
}

/// Decodes a message in XML: plain, or in a SOAP envelope. What is wrong inside a record is a problem with the path of
/// the element and the record's id, and costs no more than that element.
///
/// # Errors
/// Refuses a body that is empty, larger than the limits, a web page, cut off, in an unknown or wrong encoding, not
/// well-formed, with a document type or entities of its own, nested too deeply, or without SIRI in it.
pub fn decode_xml(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), Error> {
    read_xml_message(body, zone, limits).map(|(message, problems, _)| (message, problems))
}

fn read_xml_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    check_body_limits(body, limits)?;
    let text = xml::decode_document(body)?;
    let bounds = xml::XmlLimits { depth: MessageLimits::DEPTH, ..xml::XmlLimits::default() };
    read_message(MessageReader::new(XmlReader::new(&text, bounds), zone, limits), "XML")
}

/// Decodes a message in JSON, as SIRI Lite has it: the elements' names as keys, lists where an element is repeated,
/// texts as they are or as `{"value": …, "lang": …}`.
///
/// # Errors
/// Refuses a body that is empty, larger than the limits, a web page, cut off, no JSON in UTF-8, nested too deeply, or
/// without SIRI in it.
pub fn decode_json(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems), Error> {
    read_json_message(body, zone, limits).map(|(message, problems, _)| (message, problems))
}

fn read_json_message(
    body: &[u8],
    zone: &TimeZone,
    limits: &MessageLimits,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    check_body_limits(body, limits)?;
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let text = std::str::from_utf8(text).map_err(|error| match error.error_len() {
        None => Error::new(ErrorKind::Truncated, "the JSON ends too early, so it was cut off"),
        Some(_) => Error::new(ErrorKind::Encoding, format!("the JSON is not UTF-8: {error}")),
    })?;
    read_message(MessageReader::new(JsonSource::new(text), zone, limits), "JSON")
}

/// How much of a body is looked at for marks of SIRI.
const LOOK_BYTES: usize = 4_096;

/// Whether the beginning of a body shows SIRI: its namespace, or its names as keys of JSON.
pub fn looks_like_siri(body: &[u8]) -> bool {
    let look = xml::decode_document_start(body.get(..LOOK_BYTES).unwrap_or(body));
    let marks: &[&str] = match look.trim_ascii_start().bytes().next() {
        Some(b'<') => &["http://www.siri.org.uk", "http://wsdl.siri.org.uk", "<Siri"],
        Some(b'{') => &["\"Siri\"", "\"ServiceDelivery\""],
        _ => &[],
    };
    marks.iter().any(|mark| look.contains(mark))
}

fn check_body_limits(body: &[u8], limits: &MessageLimits) -> Result<(), Error> {
    let (kind, detail) = if body.is_empty() {
        (ErrorKind::Empty, "the body is empty".to_owned())
    } else if body.len() > limits.body_bytes {
        let (found, most) = (body.len(), limits.body_bytes);
        (ErrorKind::TooLarge, format!("the message has {found} bytes, more than {most}"))
    } else if looks_like_html(body) {
        (ErrorKind::Html, "a web page came where SIRI was expected".to_owned())
    } else if looks_like_gzip(body) {
        let detail = "the bytes are compressed with gzip, not SIRI; unpack them first";
        (ErrorKind::Decode, detail.to_owned())
    } else {
        return Ok(());
    };
    Err(Error::new(kind, detail))
}

fn read_message<'a, S: MessageSource<'a>>(
    mut reader: MessageReader<'a, S>,
    form: &str,
) -> Result<(SiriMessage, Problems, ConversionReport), Error> {
    let mut message = SiriMessage::default();
    let mut aside = UnreadPayloads::default();
    read_envelope_level(&mut reader, &mut message, EnvelopeLevel::Root, &mut aside)?;
    if message.payloads.is_empty() && aside.n_strange > 0 {
        return Err(Error::new(ErrorKind::Decode, format!("the {form} has no SIRI in it")));
    }
    let (problems, losses) = reader.into_problems_and_report();
    Ok((message, problems, losses))
}

/// Where in the envelope something stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EnvelopeLevel {
    Root,
    Inside,
}

/// What of a message is read no further.
#[derive(Default)]
struct UnreadPayloads {
    /// How many roots are not SIRI's; 1 where there is none at all.
    n_strange: u32,
    /// The names of the [others](MessagePayload::RareEvent) that the message holds. Bound: [`OTHERS_MAX`].
    others: Vec<SmolStr>,
}

impl UnreadPayloads {
    /// Whether a payload that is not read is held by its name.
    fn retain_name(&mut self, name: &str) -> bool {
        let is_held = self.others.len() < OTHERS_MAX
            && name.len() <= NAME_BYTES_MAX
            && self.others.iter().all(|other| other != name);
        if is_held {
            self.others.push(SmolStr::new(name));
        }
        is_held
    }
}

/// Most payloads of a message that are not read and held by their names.
const OTHERS_MAX: usize = 20;

/// Reads what stands at one level of the envelope.
fn read_envelope_level<'a, S: MessageSource<'a>>(
    reader: &mut MessageReader<'a, S>,
    message: &mut SiriMessage,
    level: EnvelopeLevel,
    aside: &mut UnreadPayloads,
) -> Result<(), Error> {
    let mut n_children = 0;
    while let Some(name) = reader.source.next_child()? {
        n_children += 1;
        match name {
            "Siri" => {
                message.version = reader.read_attribute("version");
                reader.check_namespace("Siri");
                read_envelope_level(reader, message, EnvelopeLevel::Inside, aside)?;
            }
            "Envelope" | "Body" => {
                read_envelope_level(reader, message, EnvelopeLevel::Inside, aside)?
            }
            "version" | "Version" if level == EnvelopeLevel::Inside => {
                reader.read_value("version", &mut message.version)?;
            }
            "Header" => reader.source.skip_element()?,
            _ => match read_payload(reader, name)? {
                Some(payload) => {
                    reader.count_bytes(size_of::<MessagePayload>())?;
                    message.payloads.push(payload);
                }
                None if level == EnvelopeLevel::Inside || reader.is_siri_namespace() => {
                    if aside.retain_name(name) {
                        reader.count_bytes(size_of::<MessagePayload>() + name.len())?;
                        message.payloads.push(MessagePayload::Other(SmolStr::new(name)));
                        reader.source.skip_element()?;
                    } else {
                        reader.skip_and_count(name)?;
                    }
                }
                None => {
                    aside.n_strange += 1;
                    reader.source.skip_element()?;
                }
            },
        }
    }
    aside.n_strange += u32::from(level == EnvelopeLevel::Root && n_children == 0);
    Ok(())
}

/// Reads the element that was opened last; `None` where it is nothing that is read, and stays open.
fn read_payload<'a, S: MessageSource<'a>>(
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
        // What was fetched is a delivery as any other.
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
        _ if is_delivery_element(name) => {
            MessagePayload::ServiceDelivery(read_new_record(reader, "ServiceDelivery")?)
        }
        _ => return read_request_payload(reader, name),
    }))
}

/// The same of what is asked for.
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
            MessagePayload::ServiceRequest(read_single_request(reader, name)?)
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

/// Reads what the French envelope has around the request for one service, whose fields stand in an element by itself.
fn read_single_request<'a, S: MessageSource<'a>>(
    reader: &mut MessageReader<'a, S>,
    name: &str,
) -> Result<ServiceRequest, Error> {
    let mut request = ServiceRequest::default();
    while let Some(child) = reader.source.next_child()? {
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
            _ => reader.skip_and_count(child)?,
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

/// Whether an element of the French envelope holds a delivery: `GetStopMonitoringResponse`, `NotifyStopMonitoring`, and
/// what Israel makes of it, `getStopMonitoringServiceResponse`.
fn is_delivery_element(name: &str) -> bool {
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
