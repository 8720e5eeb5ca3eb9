//! Reads SIRI and SOAP faults from replies with an error status.

use jiff::tz::TimeZone;
use lineside_formats::{
    Format,
    siri::{MessageLimits, SiriMessage, decode_siri_message, looks_like_siri},
};

use crate::{feed_config::FeedConfig, fetch::ErrorBodyReader, normalize::siri_refusal};

/// Most bytes of a reply that are decoded in search of a fault.
const FAULT_BYTES_MAX: usize = 64 << 10;

/// Returns the reader of error replies for a SIRI feed.
pub(crate) fn siri_error_body_reader(config: &FeedConfig) -> Option<ErrorBodyReader> {
    let reader = ErrorBodyReader {
        is_answer: is_siri_or_soap_fault,
        find_reason: |body| siri_refusal(&decode_error_body(body)?),
        reason_bytes_max: FAULT_BYTES_MAX,
    };
    (config.configured_format() == Some(Format::Siri)).then_some(reader)
}

/// Returns true if a body is a SIRI message or a SOAP fault. A long body is judged by its first bytes.
fn is_siri_or_soap_fault(body: &[u8]) -> bool {
    if body.len() > FAULT_BYTES_MAX {
        return looks_like_siri(body);
    }
    decode_error_body(body).is_some_and(|message| !message.payloads.is_empty())
}

fn decode_error_body(body: &[u8]) -> Option<SiriMessage> {
    let decoded = decode_siri_message(body, &TimeZone::UTC, &MessageLimits::default());
    decoded.ok().map(|(message, _)| message)
}
