//! The JSON form as it is published: the files under `gtfs_rt/` equal a message with all its fields.
#![cfg(feature = "gtfs-rt")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::PathBuf};

use lineside_formats::gtfs_rt::{
    FeedMessageLimits, decode_feed_message, decode_json, proto, write_feed_json,
};
use prost::Message as _;
use serde_json::Value as Json;

fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/gtfs_rt").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(text: &str) -> proto::FeedMessage {
    let (message, problems) = decode_json(text.as_bytes(), &FeedMessageLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    message
}

fn written(message: &proto::FeedMessage) -> String {
    let mut text = Vec::new();
    write_feed_json(&mut text, &message.header, &message.entity).unwrap();
    let json: Json = serde_json::from_slice(&text).unwrap();
    serde_json::to_string_pretty(&json).unwrap() + "\n"
}

/// Checks that a round trip through protobuf does not change the file.
fn check(name: &str) {
    let text = golden(name);
    let message = read(&text);
    let (reencoded, problems) =
        decode_feed_message(message.encode_to_vec().into(), &FeedMessageLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    assert_eq!(written(&reencoded), sorted(&text), "{name}");
}

/// Sorts the fields: serde_json orders an object's fields alphabetically, the files have the order of the schema.
fn sorted(text: &str) -> String {
    let json: Json = serde_json::from_str(text).unwrap();
    serde_json::to_string_pretty(&json).unwrap() + "\n"
}

#[test]
fn trip_updates_round_trip_through_protobuf() {
    check("trip_updates.json");
}

#[test]
fn vehicle_positions_round_trip_through_protobuf() {
    check("vehicle_positions.json");
}

#[test]
fn alerts_round_trip_through_protobuf() {
    check("alerts.json");
}

#[test]
fn detours_round_trip_through_protobuf() {
    check("detours.json");
}

#[test]
fn spellings_of_other_libraries_are_read_alike() {
    assert_eq!(read(&golden("other_spellings.json")), read(&golden("vehicle_positions.json")));
}

#[test]
fn fields_are_written_in_schema_order_and_absent_ones_are_omitted() {
    let message = read(&golden("vehicle_positions.json"));
    let mut text = Vec::new();
    write_feed_json(&mut text, &message.header, &message.entity[1..]).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        r#"{"header":{"gtfs_realtime_version":"2.0","incrementality":"FULL_DATASET","timestamp":1700000000},"#
            .to_owned()
            + r#""entity":[{"id":"least","vehicle":{"position":{"latitude":59.9139,"longitude":10.7522}}}]}"#
    );
}
