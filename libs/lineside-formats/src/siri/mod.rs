//! SIRI 2.0 and 2.1: estimated timetables, vehicle monitoring, situation exchange and stop monitoring, with the messages
//! around them and the discovery of lines and stops, in XML, in SOAP envelopes, and in the JSON of SIRI Lite.
//!
//! [`decode`] goes once over a message and makes records in SIRI's own terms. No tree is built; a message costs about
//! what its records take. XML and JSON are one stream of named elements to the records, and one table per record says
//! which element belongs to which field, so the two cannot come apart.
//!
//! What is wrong inside a record is a [`Problem`](crate::Problem) that names the path and the record's id; a message
//! that is cut off is refused as a whole, because what is missing would count as gone. A SOAP fault and a delivery that
//! reports an error are answers, not refusals.

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
    MessagePayload, SiriMessage, decode_json, decode_message, decode_with_report, decode_xml,
    looks_like_siri,
};
pub use deliveries::*;
pub use discovery::*;
pub use element_visitor::{ElementVisitor, sample_delivery_xml, visit_message};
pub use encode::{encode_json, encode_xml};
pub use journeys::*;
pub use limits::MessageLimits;
pub use record::PresenceFlag;
pub use requests::*;
pub use situations::*;
pub use soap::{SoapExchange, encode_soap, is_soap_envelope, soap_operation};
pub use time::{DurationSeconds, SiriTime};
pub use unread_elements::UnreadElements;
pub use values::{
    ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, LanguageText, Occupancy,
    Progress, Severity,
};
