//! Round trips of records through XML and JSON. The records are random and made from their own tables, so they cover
//! every field.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::{
    Problem,
    siri::{
        CallStatus, DepartureBoardingActivity, LanguageText, MessageLimits, SiriCall, SiriTime,
        SoapMessageKind, VehicleJourney, decode_siri_message, encode_soap, record::SiriRecord,
        values::JsonValueForm,
    },
};

fn random(seed: u64) -> SiriMessage {
    let rng = &mut fastrand::Rng::with_seed(seed);
    let fill = rng.u8(5..60);
    let payload = match rng.u8(..18) {
        0 => MessagePayload::CheckStatusResponse(SiriRecord::random(rng, fill)),
        1 => MessagePayload::HeartbeatNotification(SiriRecord::random(rng, fill)),
        2 => MessagePayload::SubscriptionResponse(SiriRecord::random(rng, fill)),
        3 => MessagePayload::TerminateSubscriptionResponse(SiriRecord::random(rng, fill)),
        4 => MessagePayload::SubscriptionTerminatedNotification(SiriRecord::random(rng, fill)),
        5 => MessagePayload::DataReadyNotification(SiriRecord::random(rng, fill)),
        6 => MessagePayload::CheckStatusRequest(SiriRecord::random(rng, fill)),
        7 => MessagePayload::ServiceRequest(SiriRecord::random(rng, fill)),
        8 => MessagePayload::SubscriptionRequest(SiriRecord::random(rng, fill)),
        9 => MessagePayload::TerminateSubscriptionRequest(SiriRecord::random(rng, fill)),
        10 => MessagePayload::LinesDelivery(SiriRecord::random(rng, fill)),
        11 => MessagePayload::StopPointsDelivery(SiriRecord::random(rng, fill)),
        12 => MessagePayload::LinesRequest(SiriRecord::random(rng, fill)),
        13 => MessagePayload::StopPointsRequest(SiriRecord::random(rng, fill)),
        14 => MessagePayload::DataSupplyRequest(SiriRecord::random(rng, fill)),
        15 => MessagePayload::DataReadyAcknowledgement(SiriRecord::random(rng, fill)),
        _ => MessagePayload::ServiceDelivery(SiriRecord::random(rng, fill)),
    };
    SiriMessage { version: Some("2.1".into()), payloads: vec![payload] }
}

/// Decodes a message and checks its problems: random records may only lack required fields.
fn read(text: &str) -> SiriMessage {
    let (message, problems) =
        decode_siri_message(text.as_bytes(), &TimeZone::UTC, &MessageLimits::default()).unwrap();
    let others: Vec<&Problem> = problems
        .retained_problems()
        .iter()
        .filter(|it| it.code != "missing_required_field")
        .collect();
    assert!(others.is_empty(), "{others:?}");
    message
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn messages_round_trip_as_xml(seed: u64) {
        let message = random(seed);
        prop_assert_eq!(read(&encode_xml(&message)), message);
    }

    #[test]
    fn messages_round_trip_in_a_soap_envelope(seed: u64) {
        // An envelope does not state the version of its content.
        let message = SiriMessage { version: None, ..random(seed) };
        for exchange in [SoapMessageKind::Answer, SoapMessageKind::SiriServiceAnswer, SoapMessageKind::Notification] {
            prop_assert_eq!(read(&encode_soap(&message, exchange)), message.clone());
        }
    }

    #[test]
    fn messages_round_trip_as_json(seed: u64) {
        let message = random(seed);
        let text = encode_json(&message);
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
        prop_assert_eq!(read(&text), message);
    }

    #[test]
    fn a_truncated_message_is_refused(seed: u64, cut: prop::sample::Index) {
        let message = random(seed);
        for text in [encode_xml(&message), encode_json(&message)] {
            let cut = text.floor_char_boundary(cut.index(text.len()));
            let error = decode_siri_message(&text.as_bytes()[..cut], &TimeZone::UTC, &MessageLimits::default());
            prop_assert!(error.is_err(), "{}", &text[..cut]);
        }
    }
}

#[test]
fn a_fault_round_trips_in_a_soap_envelope() {
    let rng = &mut fastrand::Rng::with_seed(7);
    let message = SiriMessage {
        version: None,
        payloads: vec![MessagePayload::Fault(SiriRecord::random(rng, 50))],
    };
    assert_eq!(read(&encode_soap(&message, SoapMessageKind::Answer)), message);
}

#[test]
fn characters_that_xml_cannot_represent_are_omitted() {
    let mut sink = XmlSink::default();
    sink.write_leaf("a", "x\u{0}\u{B}y\r\n<&>\"'", JsonValueForm::Quoted);
    assert_eq!(sink.text, "<a>xy&#13;\n&lt;&amp;&gt;&quot;'</a>");
    let mut sink = JsonSink::default();
    sink.write_leaf("a", "x\u{0}\u{1F}\"\\\r\n\t", JsonValueForm::Quoted);
    assert_eq!(sink.text, r#""a":"x\u0000\u001f\"\\\r\n\t""#);
}

#[test]
fn times_always_have_milliseconds_in_json_and_in_xml_only_if_nonzero() {
    let millis = [0, 1_500, 1_792_000_000_000, 1_792_000_000_120, 253_402_300_799_999];
    for millis in millis {
        let time = SiriTime::from_millis(millis).unwrap();
        let call = SiriCall { expected_arrival_time: Some(time), ..SiriCall::default() };
        let mut json = JsonSink::default();
        json.write_record("Call", &call);
        let moment = json.text.split('"').nth(5).unwrap();
        let digits: String =
            moment.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(digits, "0000-00-00T00:00:00.000Z", "{}", json.text);
        assert_eq!(SiriTime::parse_with_offset(moment), Some(time));
        let mut xml = XmlSink::default();
        xml.write_record("Call", &call);
        assert!(xml.text.contains(&format!(">{time}<")), "{}", xml.text);
    }
}

#[test]
fn the_platform_precedes_the_actual_departure_only_in_recorded_calls() {
    let text = |value: &str| vec![LanguageText { lang: None, value: value.into() }];
    let call = SiriCall {
        aimed_departure_time: SiriTime::from_millis(0),
        expected_departure_time: SiriTime::from_millis(0),
        actual_departure_time: SiriTime::from_millis(0),
        departure_status: CallStatus::parse("departed"),
        departure_proximity_texts: text("gone"),
        departure_platform_names: text("7"),
        departure_boarding_activity: DepartureBoardingActivity::parse("boarding"),
        ..SiriCall::default()
    };
    let journey = VehicleJourney {
        recorded_calls: vec![call.clone()],
        estimated_calls: vec![call],
        ..VehicleJourney::default()
    };
    let mut sink = XmlSink::default();
    sink.write_record("EstimatedVehicleJourney", &journey);
    let order = |list: &str| {
        let (_, inside) = sink.text.split_once(list).unwrap();
        let inside = inside.split("</").map(|it| it.rsplit('<').next().unwrap());
        let names = inside.filter_map(|it| it.split('>').next());
        names.filter(|it| it.contains("Departure")).take(7).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        order("<RecordedCall>"),
        "AimedDepartureTime ExpectedDepartureTime DeparturePlatformName ActualDepartureTime \
         DepartureStatus DepartureProximityText DepartureBoardingActivity"
    );
    assert_eq!(
        order("<EstimatedCall>"),
        "AimedDepartureTime ExpectedDepartureTime ActualDepartureTime DepartureStatus \
         DepartureProximityText DeparturePlatformName DepartureBoardingActivity"
    );
}
