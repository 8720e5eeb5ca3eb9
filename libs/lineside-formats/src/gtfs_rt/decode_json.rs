//! Decodes the JSON form of a message, which some producers publish in addition to protobuf.

use std::{fmt, str::Utf8Error};

use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};
use serde_json::{Value as Json, value::RawValue};

use super::{
    FeedMessageLimits, proto,
    record_memory::{DecodedMemoryEstimate, EntitySize, decoded_entity_memory_bytes},
    required_fields,
    shallow::{
        entity_too_large_problem, missing_field_problem, reject_unusable_body,
        undecodable_entity_problem,
    },
};
use crate::{Error, ErrorKind, Problem, Problems};

/// Maximum ratio of the JSON text of an entity to its protobuf size. JSON is about five times as large, with
/// indentation ten times.
const TEXT_PER_ENTITY_BYTE: usize = 16;

/// Decodes the JSON form of a message: names in snake_case or camelCase, enumerations by name or number, numbers also
/// as strings. A faulty entity is dropped with a problem whose line is the entity's number.
///
/// # Errors
/// Returns an error if the body is empty, a web page, truncated, not JSON in UTF-8 or without a feed header, or if its
/// encoded or decoded size exceeds the limits.
pub fn decode_json(
    body: &[u8],
    limits: &FeedMessageLimits,
) -> Result<(proto::FeedMessage, Problems), Error> {
    reject_unusable_body(body, limits)?;
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let text = std::str::from_utf8(text).map_err(invalid_utf8_error)?;
    let envelope: JsonEnvelope<'_> =
        serde_json::from_str(text).map_err(|error| error_from_json(error, text))?;
    let header = envelope.header.ok_or_else(|| {
        Error::new(ErrorKind::Decode, "the message has no feed header, so it is not GTFS-Realtime")
    })?;
    let texts = envelope.entity.unwrap_or_default().0;
    if texts.len() > limits.entities {
        let detail = format!("the message has more than {} entities", limits.entities);
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }

    let mut problems = Problems::new();
    let mut records = DecodedMemoryEstimate::default();
    let room = limits.record_bytes / size_of::<proto::FeedEntity>();
    let mut entity = Vec::with_capacity(texts.len().min(room));
    for (text, number) in texts.into_iter().zip(1..) {
        match decode_json_entity(text.get(), number, limits) {
            Ok(decoded) => {
                records.add_entity_within_limit(&decoded, &entity, limits)?;
                entity.push(decoded);
            }
            Err(problem) => problems.push(problem),
        }
    }
    Ok((proto::FeedMessage { header, entity }, problems))
}

impl EntitySize for proto::FeedEntity {
    fn encoded_size(&self) -> usize {
        prost::Message::encoded_len(self)
    }

    fn decoded_memory_size(&self) -> usize {
        decoded_entity_memory_bytes(&prost::Message::encode_to_vec(self))
    }
}

fn invalid_utf8_error(error: Utf8Error) -> Error {
    match error.error_len() {
        None => truncated_error(),
        Some(_) => Error::new(ErrorKind::Encoding, format!("the JSON is not UTF-8: {error}")),
    }
}

fn truncated_error() -> Error {
    Error::new(ErrorKind::Truncated, "the JSON is truncated")
}

fn error_from_json(error: serde_json::Error, text: &str) -> Error {
    // serde_json reports a minus or a point as the last byte as a syntax error, not as an early end.
    let begun = text.trim_start().starts_with('{') && !text.trim_end().ends_with('}');
    if error.is_eof() || begun {
        return truncated_error();
    }
    Error::new(ErrorKind::Decode, format!("the JSON is not a GTFS-Realtime message: {error}"))
}

fn decode_json_entity(
    text: &str,
    number: u32,
    limits: &FeedMessageLimits,
) -> Result<proto::FeedEntity, Problem> {
    if text.len() > limits.entity_bytes.saturating_mul(TEXT_PER_ENTITY_BYTE) {
        return Err(entity_too_large_problem(number, text.len(), limits));
    }
    let faulty = |error: serde_json::Error| undecodable_entity_problem(number, &error.to_string());
    let json: Json = serde_json::from_str(text).map_err(faulty)?;
    let named = |problem: Problem| match json.get("id").and_then(Json::as_str) {
        Some(id) => problem.with_value(id),
        None => problem,
    };
    if !json.is_object() {
        return Err(undecodable_entity_problem(number, "the entity is not an object"));
    }
    if let Some(path) = required_fields::missing_field_in_json(&json) {
        return Err(named(missing_field_problem(number, &path)));
    }
    let entity = proto::FeedEntity::deserialize(&json).map_err(|error| named(faulty(error)))?;
    if let Some(path) = required_fields::find_non_finite_number(&entity) {
        return Err(named(undecodable_entity_problem(number, "not a number").with_field(path)));
    }
    match prost::Message::encoded_len(&entity) {
        bytes if bytes > limits.entity_bytes => {
            Err(named(entity_too_large_problem(number, bytes, limits)))
        }
        _ => Ok(entity),
    }
}

/// The message with its entities as JSON text, so that a faulty entity does not affect the others.
#[derive(Deserialize)]
struct JsonEnvelope<'a> {
    header: Option<proto::FeedHeader>,
    #[serde(borrow)]
    entity: Option<EntityJsonTexts<'a>>,
}

/// The entities as JSON text, at most [`FeedMessageLimits::ENTITIES_MAX`].
#[derive(Default)]
struct EntityJsonTexts<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for EntityJsonTexts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EntityJsonTextsVisitor)
    }
}

struct EntityJsonTextsVisitor;

impl<'de> Visitor<'de> for EntityJsonTextsVisitor {
    type Value = EntityJsonTexts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entities")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            if texts.len() == FeedMessageLimits::ENTITIES_MAX {
                return Err(de::Error::custom("too many entities"));
            }
            texts.push(text);
        }
        Ok(EntityJsonTexts(texts))
    }
}
