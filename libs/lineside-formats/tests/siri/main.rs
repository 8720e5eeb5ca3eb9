//! Tests of SIRI: decoding and encoding, problems, and refusals.
#![cfg(feature = "siri")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod messages;

use jiff::tz::TimeZone;
use lineside_formats::{
    Problems,
    siri::{MessageLimits, SiriMessage, decode_siri_message},
};

fn read(body: &[u8]) -> (SiriMessage, Problems) {
    decode_siri_message(body, &TimeZone::get("Europe/Oslo").unwrap(), &MessageLimits::default())
        .unwrap()
}

fn read_sound(body: &str) -> SiriMessage {
    let (message, problems) = read(body.as_bytes());
    assert_eq!(sentences(&problems), [""; 0]);
    message
}

fn sentences(problems: &Problems) -> Vec<String> {
    problems.retained_problems().iter().map(ToString::to_string).collect()
}

/// Returns a message with one delivery.
fn delivery(inside: &str) -> String {
    format!(
        r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0"><ServiceDelivery>{inside}</ServiceDelivery></Siri>"#
    )
}

/// Returns a message with estimated journeys.
fn journeys(inside: &str) -> String {
    delivery(&format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame>{inside}\
         </EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>"
    ))
}
