//! Faulty SIRI messages and their problems and errors.

use jiff::tz::TimeZone;
use lineside_formats::{
    ErrorKind,
    siri::{
        MessageLimits, MessagePayload, decode_message_with_report, decode_siri_message, encode_xml,
    },
};

use super::{delivery, journeys, read, read_sound, sentences};

const GOOD: &str = "<EstimatedVehicleJourney><LineRef>good</LineRef></EstimatedVehicleJourney>";

fn check_refused(body: impl AsRef<[u8]>, kind: ErrorKind, words: &str) {
    let error =
        decode_siri_message(body.as_ref(), &TimeZone::UTC, &MessageLimits::default()).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

/// Places a faulty journey between two valid ones, and checks its problem and that the others are unaffected.
fn check_problem(inside: &str, sentence: &str) {
    let faulty = format!(
        "<EstimatedVehicleJourney><LineRef>bad</LineRef>{inside}\
         <DatedVehicleJourneyRef>J 1</DatedVehicleJourneyRef></EstimatedVehicleJourney>"
    );
    let (message, problems) = read(journeys(&format!("{GOOD}{faulty}{GOOD}")).as_bytes());
    let delivery = message.service_deliveries().next().unwrap();
    let lines: Vec<_> = delivery.estimated_timetables[0]
        .estimated_journeys()
        .map(|it| it.line_ref.as_deref())
        .collect();
    assert_eq!(lines, [Some("good"), Some("bad"), Some("good")]);
    assert_eq!(sentences(&problems), [sentence]);
}

#[test]
fn a_body_that_is_not_a_message_is_refused_with_the_reason() {
    check_refused("", ErrorKind::Empty, "the body is empty");
    check_refused("<!DOCTYPE html><html></html>", ErrorKind::Html, "a web page");
    check_refused(b"\x1F\x8B\x08\0\0", ErrorKind::Decode, "compressed with gzip");
    check_refused("Service unavailable", ErrorKind::Decode, "the XML contains no SIRI");
    check_refused("<rss><channel/></rss>", ErrorKind::Decode, "the XML contains no SIRI");
    check_refused(r#"{"message": "no route"}"#, ErrorKind::Decode, "the JSON contains no SIRI");
    check_refused("[1, 2]", ErrorKind::Decode, "the JSON contains no SIRI");
    check_refused(" \n", ErrorKind::Decode, "contains no SIRI");
}

#[test]
fn custom_entities_are_refused_before_expansion() {
    let laughs = format!(
        "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY a '{}'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
         <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]>{}",
        "ha".repeat(1_000),
        delivery("<ProducerRef>&c;</ProducerRef>")
    );
    check_refused(laughs, ErrorKind::Decode, "document type declaration");
    let external = "<!DOCTYPE Siri [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><Siri>&e;</Siri>";
    check_refused(external, ErrorKind::Decode, "document type declaration");
    check_refused(delivery("<ProducerRef>&e;</ProducerRef>"), ErrorKind::Decode, "entity &e;");
}

#[test]
fn nesting_is_bounded() {
    let deep = "<a>".repeat(10_000) + &"</a>".repeat(10_000);
    check_refused(delivery(&deep), ErrorKind::TooLarge, "more than 100 levels");
    let json = format!(r#"{{"Siri": {}1{}}}"#, r#"{"Siri":"#.repeat(10_000), "}".repeat(10_000));
    check_refused(json, ErrorKind::TooLarge, "more than 100 levels");
    let lists = format!(r#"{{"Siri": {{"x": {}{}}}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    // Unread elements may be nested to any depth, because skipping needs no stack.
    assert_eq!(read_sound(&lists).payloads, [MessagePayload::Other("x".into())]);
    let envelopes = "<Answer>".repeat(90) + &"</Answer>".repeat(90);
    assert_eq!(read_sound(&delivery(&envelopes)).payloads.len(), 1);
}

#[test]
fn sizes_are_bounded() {
    let limits = MessageLimits { body_bytes: 10_000, text_bytes: 100, record_bytes: 10_000 };
    let read = |body: &str| decode_siri_message(body.as_bytes(), &TimeZone::UTC, &limits);
    let error = read(&" ".repeat(10_001)).unwrap_err();
    assert_eq!(error.to_string(), "the message has 10001 bytes; the limit is 10000");
    assert!(read(&journeys(GOOD)).is_ok());
    let calls = format!("<RecordedCalls>{}</RecordedCalls>", "<RecordedCall/>".repeat(100));
    let texts = "<JourneyNote>a</JourneyNote>".repeat(300);
    for many in [calls, texts] {
        let text = journeys(&format!("<EstimatedVehicleJourney>{many}</EstimatedVehicleJourney>"));
        let error = read(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("more than 10000 bytes of memory"), "{error}");
    }
    let error = read(&journeys(&"<EstimatedVehicleJourney/>".repeat(100))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);

    let long = journeys(&format!(
        "<EstimatedVehicleJourney><LineRef>{}</LineRef><OperatorRef>o</OperatorRef></EstimatedVehicleJourney>",
        "x".repeat(101)
    ));
    let (message, problems) = read(&long).unwrap();
    let journey = message.service_deliveries().next().unwrap().estimated_timetables[0].frames[0]
        .estimated_vehicle_journeys[0]
        .clone();
    assert_eq!((journey.line_ref, journey.operator_ref.as_deref()), (None, Some("o")));
    let codes: Vec<_> = problems.problem_counts().map(|(_, code, n)| (code, n)).collect();
    assert_eq!(codes, [("text_too_long", 1)]);
}

fn siri(inside: &str) -> String {
    format!("<Siri xmlns='http://www.siri.org.uk/siri'>{inside}</Siri>")
}

#[test]
fn payloads_count_towards_the_memory_limit() {
    let limits = MessageLimits { record_bytes: 10_000, ..MessageLimits::default() };
    let read = |body: &str| decode_siri_message(body.as_bytes(), &TimeZone::UTC, &limits);
    let names = ["ServiceDelivery", "Fault", "CheckStatusRequest", "GetStopMonitoring"];
    for name in names {
        let one = format!("<{name}/>");
        assert_eq!(read(&siri(&one)).unwrap().0.payloads.len(), 1, "{name}");
        let lists = format!(r#"{{"Siri": {{"{name}": [{}{{}}]}}}}"#, "{}, ".repeat(1_000));
        for many in [siri(&one.repeat(1_000)), lists] {
            let error = read(&many).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{name}");
            assert!(error.to_string().contains("more than 10000 bytes of memory"), "{error}");
        }
    }
}

#[test]
fn all_unread_elements_are_counted_and_a_few_names_are_stored() {
    let read = |inside: &str| {
        let (zone, limits) = (&TimeZone::UTC, MessageLimits::default());
        let (message, _, losses) =
            decode_message_with_report(siri(inside).as_bytes(), zone, &limits).unwrap();
        (message.payloads, losses)
    };
    let (payloads, losses) = read(&"<a/>".repeat(100_000));
    assert_eq!(payloads, [MessagePayload::Other("a".into())]);
    let dropped: Vec<_> = losses.iter().map(|loss| (loss.kind, loss.count)).collect();
    assert_eq!(dropped, [("a", 99_999)]);

    let names: String = (0..10_000).map(|n| format!("<a{n}/>")).collect();
    let (payloads, losses) = read(&names);
    assert_eq!(payloads.first(), Some(&MessagePayload::Other("a0".into())));
    assert!(payloads.len() <= 20, "{}", payloads.len());
    assert_eq!(payloads.len() as u64 + losses.dropped_object_count(), 10_000);
    assert!(losses.iter().len() <= 101, "{}", losses.iter().len());

    let long = "x".repeat(1_000);
    let (payloads, losses) = read(&format!("<CapabilitiesRequest/><{long}/><{long}/>"));
    assert_eq!(payloads, [MessagePayload::Other("CapabilitiesRequest".into())]);
    let dropped: Vec<_> = losses.iter().map(|loss| (loss.kind, loss.count)).collect();
    assert_eq!(dropped, [("element", 2)]);
}

#[test]
fn a_faulty_element_is_dropped_alone() {
    check_problem(
        "<EstimatedCalls><EstimatedCall><AimedArrivalTime>soon</AimedArrivalTime></EstimatedCall></EstimatedCalls>",
        "EstimatedVehicleJourney line 2, EstimatedCalls/EstimatedCall/AimedArrivalTime: not a time of the form 2026-11-21T20:25:00+01:00 (J 1): \"soon\"",
    );
    check_problem(
        "<Cancellation>perhaps</Cancellation>",
        "EstimatedVehicleJourney line 2, Cancellation: neither true nor false (J 1): \"perhaps\"",
    );
    check_problem(
        "<Delay>late</Delay>",
        "EstimatedVehicleJourney line 2, Delay: not a duration of the form PT1M30S (J 1): \"late\"",
    );
    check_problem(
        "<Bearing>NaN</Bearing>",
        "EstimatedVehicleJourney line 2, Bearing: not a number (J 1): \"NaN\"",
    );
    check_problem(
        "<Occupancy>crowded</Occupancy>",
        "EstimatedVehicleJourney line 2, Occupancy: not a value of the SIRI specification (J 1): \"crowded\"",
    );
    check_problem(
        "<RecordedCalls><RecordedCall><Order>-1</Order></RecordedCall></RecordedCalls>",
        "EstimatedVehicleJourney line 2, RecordedCalls/RecordedCall/Order: not an integer of the field's range (J 1): \"-1\"",
    );
}

#[test]
fn a_time_without_zone_is_read_in_the_zone_of_the_feed_with_a_problem() {
    let call = "<RecordedCalls><RecordedCall><AimedArrivalTime>2026-07-01T12:00:00</AimedArrivalTime>\
                </RecordedCall></RecordedCalls>";
    check_problem(
        call,
        "EstimatedVehicleJourney line 2, RecordedCalls/RecordedCall/AimedArrivalTime: has no UTC offset; the feed's time zone is used (J 1): \"2026-07-01T12:00:00\"",
    );
    let (message, _) = read(
        journeys(&format!("<EstimatedVehicleJourney>{call}</EstimatedVehicleJourney>")).as_bytes(),
    );
    assert!(encode_xml(&message).contains("<AimedArrivalTime>2026-07-01T10:00:00Z<"));
}

#[test]
fn a_situation_without_a_number_is_read_with_a_problem() {
    let (message, problems) = read(
        delivery(
            "<SituationExchangeDelivery><Situations><PtSituationElement><Severity>mild</Severity>\
             </PtSituationElement></Situations></SituationExchangeDelivery>",
        )
        .as_bytes(),
    );
    assert_eq!(
        message.service_deliveries().next().unwrap().situation_exchanges[0].situations.len(),
        1
    );
    assert_eq!(
        sentences(&problems),
        [
            "PtSituationElement line 1, Severity: not a value of the SIRI specification: \"mild\"",
            "PtSituationElement line 1, SituationNumber: a required field is missing",
        ]
    );
}

#[test]
fn problems_are_bounded_and_counted() {
    let call = "<EstimatedCall><Order>x</Order></EstimatedCall>";
    let text = journeys(&format!(
        "<EstimatedVehicleJourney><LineRef>1</LineRef><EstimatedCalls>{}</EstimatedCalls></EstimatedVehicleJourney>",
        call.repeat(5_000)
    ));
    let (message, problems) = read(text.as_bytes());
    assert_eq!(problems.total_count(), 5_000);
    assert!(problems.retained_problems().len() <= 50);
    let delivery = message.service_deliveries().next().unwrap();
    let journey = delivery.estimated_timetables[0].estimated_journeys().next().unwrap();
    assert_eq!(journey.estimated_calls.len(), 5_000);
}

#[test]
fn problems_outside_records_name_the_payload() {
    let text = delivery(
        "<ResponseTimestamp>now</ResponseTimestamp><SituationExchangeDelivery><Status>well</Status>\
         </SituationExchangeDelivery><GeneralMessageDelivery><x/></GeneralMessageDelivery>",
    );
    assert_eq!(
        sentences(&read(text.as_bytes()).1),
        [
            "ServiceDelivery, ResponseTimestamp: not a time of the form 2026-11-21T20:25:00+01:00: \"now\"",
            "ServiceDelivery, SituationExchangeDelivery/Status: neither true nor false: \"well\"",
            "ServiceDelivery: the delivery is of an unsupported service: \"GeneralMessageDelivery\"",
        ]
    );
}

#[test]
fn a_wrong_namespace_is_read_with_a_problem() {
    let text = "<Siri xmlns='urn:other'><ServiceDelivery><ProducerRef>p</ProducerRef></ServiceDelivery></Siri>";
    let (message, problems) = read(text.as_bytes());
    let producer = message.service_deliveries().next().unwrap().producer_ref.as_deref();
    assert_eq!(producer, Some("p"));
    assert_eq!(sentences(&problems), ["Siri: is not in the SIRI namespace: \"urn:other\""]);
    let (_, problems) = read(b"<Siri><ServiceDelivery/></Siri>");
    assert_eq!(sentences(&problems), ["Siri: is not in the SIRI namespace: \"\""]);
}

#[test]
fn lone_ampersands_are_read_with_a_problem() {
    let (message, problems) =
        read(delivery("<ProducerRef>A & B</ProducerRef><Address>a?b&c</Address>").as_bytes());
    let delivery = message.service_deliveries().next().unwrap();
    assert_eq!(delivery.producer_ref.as_deref(), Some("A & B"));
    assert_eq!(delivery.address.as_deref(), Some("a?b&c"));
    assert_eq!(sentences(&problems), ["Siri: 2 ampersands are not escaped as &amp;"]);
}

#[test]
fn encodings_other_than_utf_8_are_read_or_refused() {
    let text = |encoding: &str| {
        let message = delivery("<ProducerRef>Zürich</ProducerRef>");
        format!("<?xml version='1.0' encoding='{encoding}'?>{message}")
    };
    let producer = |body: &[u8]| {
        let (message, _) = read(body);
        message.service_deliveries().next().unwrap().producer_ref.clone().unwrap()
    };
    let latin_1: Vec<u8> = text("ISO-8859-1").chars().map(|it| it as u8).collect();
    assert_eq!(producer(&latin_1), "Zürich");
    let wide: Vec<u8> = ("\u{feff}".to_owned() + &text("UTF-16"))
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    assert_eq!(producer(&wide), "Zürich");
    let lie: Vec<u8> = text("UTF-8").chars().map(|it| it as u8).collect();
    check_refused(lie, ErrorKind::Encoding, "declared encoding UTF-8");
    check_refused(text("martian"), ErrorKind::Encoding, "encoding martian is unknown");
    check_refused(b"{\"Siri\": \"Z\xFCrich\"}", ErrorKind::Encoding, "not UTF-8");
}

#[test]
fn a_truncated_message_is_refused() {
    let whole = journeys(GOOD);
    for cut in 1..whole.len() {
        let error = decode_siri_message(
            &whole.as_bytes()[..cut],
            &TimeZone::UTC,
            &MessageLimits::default(),
        );
        assert!(error.is_err(), "{}", &whole[..cut]);
    }
    let half = &whole[..whole.len() - 20];
    check_refused(half, ErrorKind::Truncated, "truncated");
    check_refused(r#"{"Siri": {"ServiceDelivery": {"#, ErrorKind::Truncated, "truncated");
    check_refused(
        r#"{"Siri": {"ServiceDelivery": {"Status": tru"#,
        ErrorKind::Truncated,
        "truncated",
    );
}

#[test]
fn malformed_json_is_refused_with_its_line() {
    let words = "malformed after line 2";
    check_refused("{\"Siri\":\n{\"a\" 1}}", ErrorKind::Decode, words);
    check_refused("{\"Siri\":\n{\"a\": 1 \"b\": 2}}", ErrorKind::Decode, words);
    check_refused("{\"Siri\":\n{a: 1}}", ErrorKind::Decode, words);
    check_refused("{\"Siri\":\n{\"a\": [1 2]}}", ErrorKind::Decode, words);
}

#[test]
fn json_values_of_unexpected_types_are_ignored() {
    for value in ["1", "true", "\"x\"", "null", "[]", "[null]", "[[1], 2]", "{}", "{\"a\": [{}]}"] {
        let text = format!(
            r#"{{"Siri": {{"ServiceDelivery": {{"EstimatedTimetableDelivery": {value}, "ProducerRef": "p"}}}}}}"#
        );
        let (message, _) = read(text.as_bytes());
        let delivery = message.service_deliveries().next().unwrap();
        assert_eq!(delivery.producer_ref.as_deref(), Some("p"), "{value}");
    }
    let text =
        r#"{"Siri": {"ServiceDelivery": {"ProducerRef": {"lang": "en", "x": [1], "value": "p"}}}}"#;
    let message = read_sound(text);
    assert!(
        matches!(&message.payloads[..], [MessagePayload::ServiceDelivery(it)] if it.producer_ref.as_deref() == Some("p"))
    );
}
