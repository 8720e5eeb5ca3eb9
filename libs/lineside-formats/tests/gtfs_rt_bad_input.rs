//! Faulty GTFS-Realtime bodies and their problems and errors.
#![cfg(feature = "gtfs-rt")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use lineside_formats::{
    ErrorKind, Problems,
    gtfs_rt::{
        EntityPayloadKinds, FeedMessageLimits, decode_feed_message, decode_json,
        encode_feed_message, proto, split_feed_message, write_feed_json,
    },
};
use prost::Message as _;

const HEADER: &[u8] = b"\x0A\x05\x0A\x032.0";

fn body(rest: &[u8]) -> Bytes {
    [HEADER, rest].concat().into()
}

fn with_entity(entity: &[u8]) -> Bytes {
    encode_feed_message(&header(), [entity])
}

fn header() -> proto::FeedHeader {
    proto::FeedHeader { gtfs_realtime_version: "2.0".to_owned(), ..Default::default() }
}

fn check_refused(body: impl Into<Bytes>, kind: ErrorKind, sentence: &str) {
    let error = decode_feed_message(body.into(), &FeedMessageLimits::default()).unwrap_err();
    assert_eq!((error.kind(), &*error.to_string()), (kind, sentence));
}

fn check_json_refused(body: &str, kind: ErrorKind, words: &str) {
    let error = decode_json(body.as_bytes(), &FeedMessageLimits::default()).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

/// Places a valid entity before and after the faulty one, to check that only the latter is dropped.
fn check_dropped(entity: &[u8], sentence: &str) {
    let sound: &[u8] = b"\x0A\x05sound";
    let body = encode_feed_message(&header(), [sound, entity, sound]);
    let (message, problems) = decode_feed_message(body, &FeedMessageLimits::default()).unwrap();
    assert_eq!(message.entity.len(), 2);
    assert_eq!(sentences(&problems), [sentence]);
}

fn check_json_dropped(entity: &str, sentence: &str) {
    let body = format!(
        r#"{{"header": {{"gtfs_realtime_version": "2.0"}}, "entity": [{{"id": "a"}}, {entity}, {{"id": "b"}}]}}"#
    );
    let (message, problems) = decode_json(body.as_bytes(), &FeedMessageLimits::default()).unwrap();
    assert_eq!(message.entity.len(), 2);
    assert_eq!(sentences(&problems), [sentence]);
}

fn sentences(problems: &Problems) -> Vec<String> {
    problems.retained_problems().iter().map(ToString::to_string).collect()
}

#[test]
fn a_body_that_is_not_a_message_is_refused_with_the_reason() {
    check_refused("", ErrorKind::Empty, "the body is empty");
    check_refused(
        "<!DOCTYPE html><html><body>Wartungsarbeiten</body></html>",
        ErrorKind::Html,
        "expected GTFS-Realtime, but got a web page",
    );
    check_refused(
        &b"\x12\x03\x0A\x01a"[..],
        ErrorKind::Decode,
        "the message has no feed header, so it is not GTFS-Realtime",
    );
    check_refused(
        "PK\x03\x04 a zip",
        ErrorKind::Decode,
        "the message is not valid protobuf: a field has the number 0",
    );
    check_refused(
        &b"\x1F\x8B\x08\0\0\0\0\0\0\x03"[..],
        ErrorKind::Decode,
        "expected GTFS-Realtime, but the bytes are compressed with gzip; decompress them first",
    );
    check_refused(
        r#"{"header": {}}"#,
        ErrorKind::Decode,
        "expected protobuf, but the message is JSON",
    );
    check_refused(&b"\x08\x01"[..], ErrorKind::Decode, "the feed header is not a message");
    check_refused(
        &b"\x0A\x02\x0A\x05"[..],
        ErrorKind::Decode,
        "the feed header cannot be decoded: failed to decode Protobuf message: \
         FeedHeader.gtfs_realtime_version: buffer underflow",
    );
}

#[test]
fn a_truncated_message_is_refused() {
    let sentence = "the message is truncated in the middle of a field";
    check_refused(body(b"\x12\x7F\x0A\x01a"), ErrorKind::Truncated, sentence);
    check_refused(body(b"\x12"), ErrorKind::Truncated, sentence);
    check_refused(body(b"\x12\x80"), ErrorKind::Truncated, sentence);
}

#[test]
fn implausible_lengths_are_refused() {
    check_refused(
        body(b"\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7Fabc"),
        ErrorKind::Decode,
        "the message is not valid protobuf: a length exceeds 2 GiB",
    );
}

#[test]
fn a_faulty_entity_is_dropped_alone() {
    check_dropped(b"", "entity line 2, id: a required field is missing");
    check_dropped(
        b"\x0A\x01x\x22\x7F",
        "entity line 2: cannot be decoded: it is truncated in the middle of a field",
    );
    check_dropped(b"\x08\x01", "entity line 2: cannot be decoded: field 1 has the wrong wire type");
    check_dropped(
        b"\x0A\x01x\x20\x01",
        "entity line 2: cannot be decoded: field 4 has the wrong wire type",
    );
    check_dropped(b"\x0A\x01\xFF", "entity line 2, id: cannot be decoded: the id is not UTF-8");
    check_dropped(
        b"\x0A\x01x\x22\x07\x12\x05\x0D\0\0\0\0",
        "entity line 2, vehicle.position.longitude: a required field is missing: \"x\"",
    );
    check_dropped(
        b"\x0A\x01x\x1A\x05\x0A\x03\x0A\x01\xFF",
        "entity line 2: cannot be decoded: TripDescriptor.trip_id: TripUpdate.trip: \
         FeedEntity.trip_update: invalid string value: data is not UTF-8 encoded: \"x\"",
    );
}

#[test]
fn a_vehicle_without_a_numeric_position_is_dropped() {
    check_dropped(
        b"\x0A\x01x\x22\x0C\x12\x0A\x0D\0\0\xC0\x7F\x15\0\0\0\0",
        "entity line 2, vehicle.position.latitude: cannot be decoded: not a number: \"x\"",
    );
    check_json_dropped(
        r#"{"id": "x", "vehicle": {"position": {"latitude": 1, "longitude": "Infinity"}}}"#,
        "entity line 2, vehicle.position.longitude: cannot be decoded: not a number: \"x\"",
    );
}

#[test]
fn an_entity_that_is_not_a_message_is_dropped_alone() {
    let (message, problems) =
        decode_feed_message(body(b"\x10\x01\x12\x03\x0A\x01a"), &FeedMessageLimits::default())
            .unwrap();
    assert_eq!(message.entity.len(), 1);
    assert_eq!(
        sentences(&problems),
        ["entity line 1: cannot be decoded: the entity is not a message"]
    );
}

#[test]
fn a_header_without_a_version_is_reported() {
    let (message, problems) =
        decode_feed_message(b"\x0A\x02\x18\x07"[..].into(), &FeedMessageLimits::default()).unwrap();
    assert_eq!(message.header.timestamp, Some(7));
    assert_eq!(
        sentences(&problems),
        ["header, gtfs_realtime_version: a required field is missing"]
    );
}

#[test]
fn a_header_in_several_parts_is_merged() {
    let pieces = body(b"\x0A\x07\x0A\x031.0\x18\x07");
    let (shallow, _) = split_feed_message(pieces, &FeedMessageLimits::default()).unwrap();
    assert_eq!(shallow.header.gtfs_realtime_version, "1.0");
    assert_eq!(shallow.header.timestamp, Some(7));
}

#[test]
fn unknown_fields_groups_and_extensions_are_ignored_but_preserved() {
    // Field 1001 of the entity, a group in field 1002, and the undefined field 99.
    let entity = b"\x0A\x01x\xCA\x3E\x03abc\xD3\x3E\x08\x01\xD4\x3E\x98\x06\x05\x22\x00";
    let (shallow, problems) =
        split_feed_message(with_entity(entity), &FeedMessageLimits::default()).unwrap();
    assert!(problems.is_empty());
    let raw = &shallow.entities[0];
    assert_eq!((raw.entity_id(), raw.payload), ("x", EntityPayloadKinds::VEHICLE));
    assert!(raw.decode_entity().unwrap().vehicle.is_some());
    assert_eq!(encode_feed_message(&shallow.header, [&raw.bytes]), with_entity(entity));
}

#[test]
fn a_deeply_nested_entity_is_dropped_with_a_problem() {
    let mut groups = b"\x0A\x01x".to_vec();
    groups.extend([0xCB_u8, 0x3E].repeat(5_000));
    check_dropped(&groups, "entity line 2: cannot be decoded: groups are nested too deeply");
}

#[test]
fn a_differential_message_is_recognized() {
    let (shallow, problems) = split_feed_message(
        b"\x0A\x07\x0A\x032.0\x10\x01\x12\x05\x0A\x01x\x10\x01"[..].into(),
        &FeedMessageLimits::default(),
    )
    .unwrap();
    assert!(problems.is_empty());
    assert!(shallow.is_differential());
    assert!(shallow.entities[0].is_deleted);
    assert!(shallow.entities[0].payload.is_empty());
}

#[test]
fn unknown_enum_values_are_preserved_as_numbers() {
    // trip.schedule_relationship = 77
    let body = with_entity(b"\x0A\x01x\x1A\x04\x0A\x02\x20\x4D");
    let (message, problems) = decode_feed_message(body, &FeedMessageLimits::default()).unwrap();
    assert!(problems.is_empty());
    let mut text = Vec::new();
    write_feed_json(&mut text, &message.header, &message.entity).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains(r#""schedule_relationship":77"#), "{text}");
    assert_eq!(decode_json(text.as_bytes(), &FeedMessageLimits::default()).unwrap().0, message);
}

#[test]
fn the_limits_of_body_entities_and_entity_size_are_enforced() {
    let limits = FeedMessageLimits {
        body_bytes: 100,
        entity_bytes: 10,
        entities: 2,
        ..FeedMessageLimits::default()
    };
    let refused = |body: Bytes| split_feed_message(body, &limits).unwrap_err().to_string();
    assert_eq!(refused(body(&[0; 100])), "the message has 107 bytes; the limit is 100");
    let entities: [&[u8]; 3] = [b"\x0A\x01a"; 3];
    assert_eq!(
        refused(encode_feed_message(&header(), entities)),
        "the message has more than 2 entities"
    );

    let long: &[u8] = b"\x0A\x0Aabcdefghij";
    let (shallow, problems) =
        split_feed_message(encode_feed_message(&header(), [long, b"\x0A\x01b"]), &limits).unwrap();
    assert_eq!(shallow.entities.len(), 1);
    assert_eq!(
        sentences(&problems),
        ["entity line 1: has 12 bytes; the limit is 10: \"abcdefghij\""]
    );
}

/// Returns entities of a trip whose calls are all `call`.
fn trips_of_calls(n_trips: usize, n_calls: usize, call: &[u8]) -> Vec<Vec<u8>> {
    let update: Vec<u8> = [b"\x0A\x00", &*call.repeat(n_calls)].concat();
    let mut length = Vec::new();
    prost::encode_length_delimiter(update.len(), &mut length).unwrap();
    let entity = [b"\x0A\x01a\x1A", &*length, &*update].concat();
    vec![entity; n_trips]
}

#[test]
fn a_message_of_many_empty_calls_exceeds_the_memory_limit() {
    let empty = encode_feed_message(&header(), trips_of_calls(300, 32_000, b"\x12\x00"));
    assert!(empty.len() < FeedMessageLimits::default().body_bytes);
    let words = "the records of the message need more than 536870912 bytes of memory";
    let error = split_feed_message(empty.clone(), &FeedMessageLimits::default()).unwrap_err();
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::TooLarge, words));
    check_refused(empty, ErrorKind::TooLarge, words);

    let many = encode_feed_message(&header(), vec![b"\x0A\x00"; 1_000_000]);
    check_refused(many, ErrorKind::TooLarge, words);

    // In JSON each entity takes as much as in protobuf.
    let limits = FeedMessageLimits { record_bytes: 1 << 20, ..FeedMessageLimits::default() };
    let json = |n_calls: usize| {
        let calls = vec!["{}"; n_calls].join(",");
        let update = format!("{{\"trip\": {{}}, \"stop_time_update\": [{calls}]}}");
        let entity = format!("{{\"id\": \"a\", \"trip_update\": {update}}}");
        let entities = vec![entity; 10].join(",");
        let header = "{\"gtfs_realtime_version\": \"2.0\"}";
        format!("{{\"header\": {header}, \"entity\": [{entities}]}}")
    };
    let (message, problems) = decode_json(json(100).as_bytes(), &limits).unwrap();
    assert_eq!((message.entity.len(), problems.total_count()), (10, 0));
    let error = decode_json(json(1_000).as_bytes(), &limits).unwrap_err();
    let words = "the records of the message need more than 1048576 bytes of memory";
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::TooLarge, words));
}

#[test]
fn a_country_sized_message_is_within_the_limits() {
    // A sequence number, both events with a delay and a time, and a stop.
    let event = b"\x08\x9E\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x10\x80\xE2\xCF\xAA\x06";
    let stop = b"\x22\x14NSR:StopPlace:123456";
    let events = [b"\x12\x11", &event[..], b"\x1A\x11", &event[..]].concat();
    let call = [b"\x08\x07", &*events, stop].concat();
    let call = [b"\x12", &[call.len() as u8][..], &*call].concat();
    let body = encode_feed_message(&header(), trips_of_calls(20_000, 60, &call));
    assert!(body.len() > 70_000_000, "{}", body.len());
    let (shallow, problems) =
        split_feed_message(body.clone(), &FeedMessageLimits::default()).unwrap();
    assert_eq!((shallow.entities.len(), problems.total_count()), (20_000, 0));
    let entity = shallow.entities[0].decode_entity().unwrap();
    assert_eq!(entity.trip_update.unwrap().stop_time_update.len(), 60);
    // The message takes less than three quarters of the limit.
    let max = FeedMessageLimits::default().record_bytes;
    let limits = FeedMessageLimits { record_bytes: max / 4 * 3, ..FeedMessageLimits::default() };
    assert!(split_feed_message(body, &limits).is_ok());
}

#[test]
fn a_trip_with_500_fully_populated_calls_is_within_the_limits() {
    let event = proto::trip_update::StopTimeEvent {
        delay: Some(-30),
        time: Some(1_700_000_000),
        uncertainty: Some(30),
        ..Default::default()
    };
    let calls = (1..=500).map(|n| proto::trip_update::StopTimeUpdate {
        stop_sequence: Some(n),
        stop_id: Some(format!("NSR:Quay:{:06}", 100_000 + n)),
        arrival: Some(event),
        departure: Some(event),
        schedule_relationship: Some(0),
        departure_occupancy_status: Some(1),
        stop_time_properties: Some(proto::trip_update::stop_time_update::StopTimeProperties {
            assigned_stop_id: Some(format!("NSR:Quay:{:06}", 200_000 + n)),
            ..Default::default()
        }),
    });
    let trip_update = proto::TripUpdate { stop_time_update: calls.collect(), ..Default::default() };
    let entity = proto::FeedEntity {
        id: "long".to_owned(),
        trip_update: Some(trip_update),
        ..Default::default()
    };
    let (message, problems) =
        decode_feed_message(with_entity(&entity.encode_to_vec()), &FeedMessageLimits::default())
            .unwrap();
    assert!(problems.is_empty(), "{:?}", sentences(&problems));
    assert_eq!(message.entity, [entity]);
}

#[test]
fn json_that_is_not_a_message_is_refused_with_the_reason() {
    check_json_refused("", ErrorKind::Empty, "the body is empty");
    check_json_refused("<html></html>", ErrorKind::Html, "a web page");
    check_json_refused("{}", ErrorKind::Decode, "no feed header");
    check_json_refused("[]", ErrorKind::Decode, "not a GTFS-Realtime message");
    check_json_refused(r#"{"header": {}, "entity": {}}"#, ErrorKind::Decode, "a list of entities");
    check_json_refused(r#"{"header": {"#, ErrorKind::Truncated, "truncated");
    check_json_refused("\u{1}\u{2}", ErrorKind::Decode, "not a GTFS-Realtime message");
    let latin_1 = b"{\"header\": {}, \"entity\": [{\"id\": \"Z\xFCrich\"}]}";
    let error = decode_json(latin_1, &FeedMessageLimits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encoding);
    let deep = format!(r#"{{"header": {{}}, "entity": {}"#, "[".repeat(200_000));
    check_json_refused(&deep, ErrorKind::Truncated, "truncated");
}

#[test]
fn a_faulty_json_entity_is_dropped_alone() {
    check_json_dropped("7", "entity line 2: cannot be decoded: the entity is not an object");
    check_json_dropped("{}", "entity line 2, id: a required field is missing");
    check_json_dropped(
        r#"{"id": "x", "vehicle": {"position": {"latitude": 1}}}"#,
        "entity line 2, vehicle.position.longitude: a required field is missing: \"x\"",
    );
    check_json_dropped(
        r#"{"id": "x", "vehicle": {"timestamp": "soon"}}"#,
        "entity line 2: cannot be decoded: not a number of the field's type and range: \"x\"",
    );
    check_json_dropped(
        r#"{"id": "x", "vehicle": {"timestamp": -1}}"#,
        "entity line 2: cannot be decoded: not a number of the field's type and range: \"x\"",
    );
    check_json_dropped(
        r#"{"id": "x", "vehicle": {"timestamp": 1.5}}"#,
        "entity line 2: cannot be decoded: not a number of the field's type and range: \"x\"",
    );
    let deep = format!(r#"{{"id": {}}}"#, "[".repeat(500) + &"]".repeat(500));
    check_json_dropped(
        &deep,
        "entity line 2: cannot be decoded: recursion limit exceeded at line 1 column 134",
    );
    let long = format!(r#"{{"id": "x", "more": "{}"}}"#, " ".repeat(2_000_000));
    check_json_dropped(&long, "entity line 2: has 2000023 bytes; the limit is 65536");
}
