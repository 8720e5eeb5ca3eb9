//! Properties of every GTFS-Realtime message, and of arbitrary bytes.
//!
//! A second implementation of protobuf (prost-reflect) creates random messages from the schema, so every field is
//! covered, and a fault of our implementation cannot hide itself.
#![cfg(feature = "gtfs-rt")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use lineside_formats::{
    ErrorKind,
    gtfs_rt::{
        FeedMessageLimits, SplitFeedMessage, decode_feed_message, decode_json, encode_feed_message,
        proto, split_feed_message, write_feed_json,
    },
};
use proptest::prelude::*;
use protox::{
    prost::Message as _,
    prost_reflect::{
        Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor,
        ReflectMessage as _, Value,
    },
};
use serde_json::Value as Json;

fn schema() -> MessageDescriptor {
    let proto = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");
    let files = protox::compile(["gtfs-realtime.proto"], [proto]).unwrap();
    let pool = DescriptorPool::from_file_descriptor_set(files).unwrap();
    pool.get_message_by_name("transit_realtime.FeedMessage").unwrap()
}

thread_local! {
    static SCHEMA: MessageDescriptor = schema();
}

/// Returns a random message of the schema with `fill` percent of the optional fields.
fn random(schema: &MessageDescriptor, rng: &mut fastrand::Rng, fill: u8) -> DynamicMessage {
    let mut message = DynamicMessage::new(schema.clone());
    for field in schema.fields() {
        match field.cardinality() {
            Cardinality::Repeated => {
                let n = if rng.u8(..100) < fill { rng.usize(1..3) } else { 0 };
                let list: Vec<_> = (0..n).map(|_| random_value(&field, rng, fill)).collect();
                if !list.is_empty() {
                    message.set_field(&field, Value::List(list));
                }
            }
            Cardinality::Required => {
                message.set_field(&field, random_value(&field, rng, fill));
            }
            Cardinality::Optional if rng.u8(..100) < fill => {
                message.set_field(&field, random_value(&field, rng, fill));
            }
            Cardinality::Optional => {}
        }
    }
    message
}

fn random_value(field: &FieldDescriptor, rng: &mut fastrand::Rng, fill: u8) -> Value {
    const TEXTS: [&str; 6] =
        ["", "a", "NSR:Quay:7", "Zürich, Bahnhof", "\"\\\n\u{1F68B}", "1/2 #3"];
    match field.kind() {
        Kind::Message(inner) => Value::Message(random(&inner, rng, fill)),
        Kind::Enum(kind) => {
            let values: Vec<_> = kind.values().collect();
            Value::EnumNumber(values[rng.usize(..values.len())].number())
        }
        Kind::String => Value::String(TEXTS[rng.usize(..TEXTS.len())].to_owned()),
        Kind::Bool => Value::Bool(rng.bool()),
        Kind::Int32 => Value::I32(rng.i32(..) >> rng.u32(..32)),
        Kind::Int64 => Value::I64(rng.i64(..) >> rng.u32(..64)),
        Kind::Uint32 => Value::U32(rng.u32(..) >> rng.u32(..32)),
        Kind::Uint64 => Value::U64(rng.u64(..) >> rng.u32(..64)),
        Kind::Float => Value::F32((rng.f32() - 0.5) * 360.0),
        // Tenths, because serde_json reads longer fractions with an error in the last bit.
        Kind::Double => Value::F64(f64::from(rng.i32(..)) / 10.0),
        other => panic!("the schema has an unsupported field kind {other:?}"),
    }
}

fn random_bytes(seed: u64) -> (DynamicMessage, Bytes) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let fill = rng.u8(30..=100);
    let message = SCHEMA.with(|schema| random(schema, &mut rng, fill));
    let bytes = message.encode_to_vec().into();
    (message, bytes)
}

fn sound(bytes: Bytes) -> proto::FeedMessage {
    let (message, problems) = decode_feed_message(bytes, &FeedMessageLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    message
}

fn twin(message: &proto::FeedMessage) -> Vec<u8> {
    let mut text = Vec::new();
    write_feed_json(&mut text, &message.header, &message.entity).unwrap();
    text
}

fn sound_twin(text: &[u8]) -> proto::FeedMessage {
    let (message, problems) = decode_json(text, &FeedMessageLimits::default()).unwrap();
    assert!(
        problems.is_empty(),
        "{:?} in {}",
        problems.retained_problems(),
        String::from_utf8_lossy(text)
    );
    message
}

/// Converts JSON to protobuf's own mapping: names in camelCase, 64-bit numbers as strings.
fn as_protobuf_maps(json: Json) -> Json {
    match json {
        Json::Array(values) => values.into_iter().map(as_protobuf_maps).collect(),
        Json::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let mut parts = name.split('_');
                let mut camel = parts.next().unwrap_or_default().to_owned();
                for part in parts {
                    camel.push_str(&part[..1].to_uppercase());
                    camel.push_str(&part[1..]);
                }
                let is_64_bit = ["time", "timestamp", "scheduledTime", "start", "end"];
                let value = match value {
                    Json::Number(n) if is_64_bit.contains(&&*camel) => Json::String(n.to_string()),
                    value => as_protobuf_maps(value),
                };
                (camel, value)
            })
            .collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn encoded_messages_round_trip(seed: u64) {
        let (original, bytes) = random_bytes(seed);
        let message = sound(bytes.clone());
        prop_assert_eq!(&message, &proto::FeedMessage::decode(bytes).unwrap());
        let reencoded = message.encode_to_vec();
        let schema = original.descriptor();
        prop_assert!(DynamicMessage::decode(schema, &*reencoded).unwrap() == original);
    }

    #[test]
    fn shallow_decoding_matches_full_decoding(seed: u64) {
        let (_, bytes) = random_bytes(seed);
        let message = sound(bytes.clone());
        let (shallow, _) = split_feed_message(bytes.clone(), &FeedMessageLimits::default()).unwrap();
        prop_assert_eq!(&shallow.header, &message.header);
        let same = SplitFeedMessage::from_decoded_message(&message);
        prop_assert_eq!(shallow.entities.len(), same.entities.len());
        for ((raw, same), entity) in shallow.entities.iter().zip(&same.entities).zip(&message.entity) {
            prop_assert_eq!(raw.entity_id(), &entity.id);
            prop_assert_eq!(raw.is_deleted, entity.is_deleted());
            prop_assert_eq!((raw.entity_id(), raw.payload, raw.number), (same.entity_id(), same.payload, same.number));
            prop_assert_eq!((&raw.bytes, raw.hash), (&same.bytes, same.hash));
            prop_assert_eq!(&raw.decode_entity().unwrap(), entity);
        }
        let reencoded = encode_feed_message(&shallow.header, shallow.entities.iter().map(|raw| &raw.bytes));
        prop_assert_eq!(reencoded, bytes);
    }

    #[test]
    fn messages_round_trip_as_json(seed: u64) {
        let (_, bytes) = random_bytes(seed);
        let message = sound(bytes);
        let text = twin(&message);
        prop_assert_eq!(&sound_twin(&text), &message);
        let json: Json = serde_json::from_slice(&text).unwrap();
        let indented = serde_json::to_string_pretty(&as_protobuf_maps(json)).unwrap();
        prop_assert_eq!(&sound_twin(indented.as_bytes()), &message);
    }

    #[test]
    fn a_truncated_message_is_refused_or_a_prefix(seed: u64) {
        let (_, bytes) = random_bytes(seed);
        let (whole, _) = split_feed_message(bytes.clone(), &FeedMessageLimits::default()).unwrap();
        for end in 0..bytes.len() {
            match split_feed_message(bytes.slice(..end), &FeedMessageLimits::default()) {
                Err(error) => {
                    let kind = if end == 0 { ErrorKind::Empty } else { ErrorKind::Truncated };
                    prop_assert_eq!(error.kind(), kind, "cut at {}", end);
                }
                Ok((part, problems)) => {
                    prop_assert!(problems.is_empty());
                    let hashes = |shallow: &SplitFeedMessage| -> Vec<_> {
                        shallow.entities.iter().map(|raw| raw.hash).collect()
                    };
                    prop_assert!(hashes(&whole).starts_with(&hashes(&part)), "cut at {}", end);
                }
            }
        }
    }

    #[test]
    fn truncated_json_is_refused(seed: u64) {
        let (_, bytes) = random_bytes(seed);
        let text = twin(&sound(bytes));
        for end in 0..text.len() {
            let error = decode_json(&text[..end], &FeedMessageLimits::default()).unwrap_err();
            let kind = if end == 0 { ErrorKind::Empty } else { ErrorKind::Truncated };
            prop_assert_eq!(error.kind(), kind, "cut at {}", end);
        }
    }

    #[test]
    fn decoding_a_damaged_message_does_not_panic(
        seed: u64,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..8),
    ) {
        let (_, bytes) = random_bytes(seed);
        for body in [bytes.to_vec(), twin(&sound(bytes))] {
            let mut body = body;
            for (place, byte, kind) in &damage {
                let at = place.index(body.len());
                match kind {
                    0 => body[at] = *byte,
                    1 => body.insert(at, *byte),
                    _ if body.len() > 1 => drop(body.remove(at)),
                    _ => {}
                }
            }
            take_everything(&body);
        }
    }

    #[test]
    fn decoding_any_bytes_does_not_panic(body: Vec<u8>) {
        take_everything(&body);
    }

    #[test]
    fn every_entity_is_decoded_or_reported(entities: Vec<Vec<u8>>) {
        let header = proto::FeedHeader::default();
        let body = encode_feed_message(&header, &entities);
        let (message, problems) = decode_feed_message(body, &FeedMessageLimits::default()).unwrap();
        prop_assert_eq!(message.entity.len() as u64 + problems.total_count(), entities.len() as u64);
    }
}

fn take_everything(body: &[u8]) {
    let limits = FeedMessageLimits::default();
    if let Ok((message, _)) = decode_feed_message(Bytes::copy_from_slice(body), &limits) {
        assert_eq!(sound(message.encode_to_vec().into()).encode_to_vec(), message.encode_to_vec());
    }
    if let Ok((message, _)) = decode_json(body, &limits) {
        sound(message.encode_to_vec().into());
    }
}
