//! SIRI 2.0 and 2.1: estimated timetables, vehicle monitoring, situation exchange and stop monitoring, with their
//! requests and subscriptions, and the discovery of lines and stops, in XML, SOAP envelopes, and the JSON of SIRI Lite.
//!
//! [`decode_siri_message`] reads a message once and returns records in SIRI's terms. No tree is built; a message costs
//! about as much memory as its records. XML and JSON are both a stream of named elements, and one table per record maps
//! elements to fields, so the two formats cannot diverge.
//!
//! A fault inside a record is a [`Problem`](crate::Problem) with the path and the record's id. A truncated message is
//! refused as a whole, because missing records would count as removed. A SOAP fault and a delivery with an error are
//! answers, not decoding errors.

mod decode;
mod deliveries;
mod discovery;
mod encode;
mod journeys;
mod json;
mod limits;
mod ignored_elements;
mod reader;
mod record;
mod requests;
mod sink;
mod soap;
mod situations;
mod source;
mod time;
mod unread_elements;
mod values;
mod element_visitor;

pub use decode::{
    MessagePayload, SiriMessage, decode_json_message, decode_message_with_report,
    decode_siri_message, decode_xml_message, looks_like_siri,
};
pub use deliveries::*;
pub use discovery::*;
pub use element_visitor::{ElementVisitor, sample_delivery_xml, visit_message_elements};
pub use encode::{encode_json, encode_xml};
pub use journeys::*;
pub use limits::MessageLimits;
pub use record::PresenceFlag;
pub use requests::*;
pub use situations::*;
pub use soap::{SoapMessageKind, encode_soap, is_soap_envelope, soap_operation};
pub use time::{DurationSeconds, SiriTime};
pub use unread_elements::UnreadableElements;
pub use values::{
    ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, LanguageText, Occupancy,
    Severity, SituationProgress,
};
