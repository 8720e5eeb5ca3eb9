//! Decodes real feeds, if their folder is next to the repository (`../shared/data/gtfs-rt`).
#![cfg(feature = "gtfs-rt")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

mod support;

use std::{fs, path::Path};

use bytes::Bytes;
use lineside_formats::{
    ErrorKind,
    gtfs_rt::{
        FeedMessageLimits, decode_feed_message, decode_json, encode_feed_message, proto,
        split_feed_message, write_feed_json,
    },
};
use prost::Message as _;

use support::real_files;

/// Compares our decoders, shallow and full, with prost's result for the same bytes.
fn check_sound(path: &Path, body: &Bytes, expected: &proto::FeedMessage) {
    let name = path.display();
    let limits = FeedMessageLimits::default();
    let (shallow, problems) = split_feed_message(body.clone(), &limits).unwrap();
    assert!(problems.is_empty(), "{name}: {:?}", problems.retained_problems());
    assert_eq!(shallow.header, expected.header, "{name}");
    assert_eq!(shallow.entities.len(), expected.entity.len(), "{name}");
    let (message, problems) = decode_feed_message(body.clone(), &limits).unwrap();
    assert!(problems.is_empty(), "{name}: {:?}", problems.retained_problems());
    assert_eq!(&message, expected, "{name}");

    let reencoded =
        encode_feed_message(&shallow.header, shallow.entities.iter().map(|raw| &raw.bytes));
    assert_eq!(&proto::FeedMessage::decode(reencoded).unwrap(), expected, "{name}");

    let mut text = Vec::new();
    write_feed_json(&mut text, &message.header, &message.entity).unwrap();
    let (counterpart, problems) = decode_json(&text, &limits).unwrap();
    assert!(problems.is_empty(), "{name}: {:?}", problems.retained_problems());
    assert_eq!(&counterpart, expected, "{name}");
}

#[test]
fn real_messages_decode_as_with_prost() {
    let (mut n_entities, mut n_refused) = (0, 0);
    let paths = real_files("gtfs-rt", Some("pb"));
    for path in &paths {
        let body = Bytes::from(fs::read(path).unwrap());
        match proto::FeedMessage::decode(body.clone()) {
            Ok(expected) if !body.is_empty() => {
                n_entities += expected.entity.len();
                check_sound(path, &body, &expected);
            }
            _ => {
                n_refused += 1;
                let error =
                    decode_feed_message(body.clone(), &FeedMessageLimits::default()).unwrap_err();
                let kind = if body.is_empty() { ErrorKind::Empty } else { error.kind() };
                assert!(!error.to_string().is_empty() && kind == error.kind());
                println!("{}: {error}", path.display());
            }
        }
    }
    println!("{} files, {n_entities} entities, {n_refused} refused", paths.len());
}

#[test]
fn real_json_messages_equal_their_protobuf_counterparts() {
    for path in real_files("gtfs-rt", Some("json")) {
        let (message, problems) =
            match decode_json(&fs::read(&path).unwrap(), &FeedMessageLimits::default()) {
                Ok(decoded) => decoded,
                Err(error) => {
                    println!("{}: {error}", path.display());
                    continue;
                }
            };
        println!(
            "{}: {} entities, {} problems",
            path.display(),
            message.entity.len(),
            problems.total_count()
        );
        let text = path.to_string_lossy();
        let counterpart =
            text.replace("/soundtransit/", "/soundtransit-pb/").replace(".json", ".pb");
        if text.contains("/soundtransit/") && Path::new(&counterpart).exists() {
            let body = Bytes::from(fs::read(&counterpart).unwrap());
            assert_eq!(message, proto::FeedMessage::decode(body).unwrap(), "{counterpart}");
        }
    }
}
