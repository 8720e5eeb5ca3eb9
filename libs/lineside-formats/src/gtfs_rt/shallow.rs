//! Splits a message into its header and its entities, which remain encoded.
//!
//! Most entities of a poll equal those of the previous one. Hashes of the encoded entities detect this at a fortieth of
//! the cost of decoding, and the entities share the body's memory.

use std::ops::Range;

use bytes::Bytes;
use prost::Message as _;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    FeedMessageLimits, extensions, proto,
    record_memory::{DecodedMemoryEstimate, EntitySize, decoded_entity_memory_bytes},
    required_fields,
    wire::{ProtobufFault, ProtobufField, ProtobufFields, ProtobufValue},
};
use crate::{
    Error, ErrorKind, Problem, Problems,
    body_prefix::{looks_like_gzip, looks_like_html},
};

/// A message with a decoded header and encoded entities.
#[derive(Clone, Debug)]
pub struct SplitFeedMessage {
    /// The header, decoded.
    pub header: proto::FeedHeader,
    /// The entities in the order of the message.
    pub entities: Vec<EncodedEntity>,
}

impl SplitFeedMessage {
    /// Returns true if the message adds to earlier ones instead of replacing them.
    pub fn is_differential(&self) -> bool {
        self.header.incrementality() == proto::feed_header::Incrementality::Differential
    }

    /// Converts a decoded message, such as one in JSON.
    pub fn from_decoded_message(message: &proto::FeedMessage) -> SplitFeedMessage {
        let entities = message.entity.iter().zip(1..);
        SplitFeedMessage {
            header: message.header.clone(),
            entities: entities
                .map(|(entity, number)| EncodedEntity::from_decoded_entity(entity, number))
                .collect(),
        }
    }
}

/// An encoded entity with the values of its outermost fields.
#[derive(Clone, Debug)]
pub struct EncodedEntity {
    /// The encoded entity, including extensions. It is a slice that keeps the whole body in memory; to retain an entity
    /// longer than the body, copy it (`Bytes::copy_from_slice`).
    pub bytes: Bytes,
    /// xxh3 of the bytes. Entities with equal hashes are considered equal.
    pub hash: u64,
    /// The payloads of the entity.
    pub payload: EntityPayloadKinds,
    /// True if the entity is deleted; only meaningful in a differential message.
    pub is_deleted: bool,
    /// Position in the message, from 1.
    pub number: u32,
    id: Range<u32>,
}

impl EncodedEntity {
    /// Returns the entity's id.
    pub fn entity_id(&self) -> &str {
        let range = self.id.start as usize..self.id.end as usize;
        self.bytes.get(range).and_then(|id| std::str::from_utf8(id).ok()).unwrap_or_default()
    }

    /// Decodes the entity.
    ///
    /// # Errors
    /// Returns a problem if the entity is damaged, has a field of a wrong type, or lacks a required field, or if a
    /// required number is not finite.
    pub fn decode_entity(&self) -> Result<proto::FeedEntity, Problem> {
        let missing = required_fields::missing_field_in_entity(&self.bytes);
        if let Some(path) =
            missing.map_err(|fault| self.damaged_entity_problem(&fault.to_string()))?
        {
            return Err(missing_field_problem(self.number, &path).with_value(self.entity_id()));
        }
        let entity = proto::FeedEntity::decode(self.bytes.clone()).map_err(|error| {
            let error = error.to_string();
            let prefix = "failed to decode Protobuf message: ";
            self.damaged_entity_problem(error.strip_prefix(prefix).unwrap_or(&error))
        })?;
        match required_fields::find_non_finite_number(&entity) {
            Some(path) => Err(self.damaged_entity_problem("not a number").with_field(path)),
            None => Ok(entity),
        }
    }

    /// Calls `take` for each field that the schema does not define, such as an extension, with its number and the path
    /// of its message, such as `trip_update.trip`; the path of the entity itself is empty.
    pub fn for_each_extension(&self, take: impl FnMut(u32, &str)) {
        extensions::for_each_unknown_field(&self.bytes, take);
    }

    /// Encodes an entity. `number` is its position in the message, from 1.
    pub fn from_decoded_entity(entity: &proto::FeedEntity, number: u32) -> EncodedEntity {
        let bytes = Bytes::from(entity.encode_to_vec());
        let hash = xxh3_64(&bytes);
        let is_deleted = entity.is_deleted();
        let payload = EntityPayloadKinds::payload_kinds_of_entity(entity);
        // The id is field 1, which prost writes first.
        let start = 1 + prost::length_delimiter_len(entity.id.len());
        let id = start as u32..(start + entity.id.len()) as u32;
        EncodedEntity { bytes, hash, payload, is_deleted, number, id }
    }

    fn damaged_entity_problem(&self, detail: &str) -> Problem {
        undecodable_entity_problem(self.number, detail).with_value(self.entity_id())
    }
}

impl EntitySize for EncodedEntity {
    fn encoded_size(&self) -> usize {
        self.bytes.len()
    }

    fn decoded_memory_size(&self) -> usize {
        decoded_entity_memory_bytes(&self.bytes)
    }
}

/// The payloads that an entity has, normally one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityPayloadKinds(u8);

impl EntityPayloadKinds {
    /// Delays and changes of one trip.
    pub const TRIP_UPDATE: EntityPayloadKinds = EntityPayloadKinds::from_payload_field_number(3);
    /// The position of one vehicle.
    pub const VEHICLE: EntityPayloadKinds = EntityPayloadKinds::from_payload_field_number(4);
    /// An alert for passengers.
    pub const ALERT: EntityPayloadKinds = EntityPayloadKinds::from_payload_field_number(5);
    /// A shape that the schedule does not have.
    pub const SHAPE: EntityPayloadKinds = EntityPayloadKinds::from_payload_field_number(6);
    /// A stop that the schedule does not have.
    pub const STOP: EntityPayloadKinds = EntityPayloadKinds::from_payload_field_number(7);
    /// A detour of several trips.
    pub const TRIP_MODIFICATIONS: EntityPayloadKinds =
        EntityPayloadKinds::from_payload_field_number(8);

    /// Returns true if all payloads of `other` are present.
    pub const fn contains(self, other: EntityPayloadKinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the entity has no payload that the schema defines.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn from_payload_field_number(number: u32) -> EntityPayloadKinds {
        EntityPayloadKinds(1 << (number - 3))
    }

    fn payload_kinds_of_entity(entity: &proto::FeedEntity) -> EntityPayloadKinds {
        let present = [
            entity.trip_update.is_some(),
            entity.vehicle.is_some(),
            entity.alert.is_some(),
            entity.shape.is_some(),
            entity.stop.is_some(),
            entity.trip_modifications.is_some(),
        ];
        EntityPayloadKinds(present.iter().zip(0..).map(|(&is, bit)| u8::from(is) << bit).sum())
    }
}

/// Splits the message in `body`; the entities are slices of it.
///
/// Cost: one pass over the outermost fields and one over all bytes for the hashes; for a message of megabytes one more
/// pass over the fields of its entities. A damaged entity is dropped with a problem whose line is the entity's number;
/// extensions are skipped.
///
/// # Errors
/// Returns an error if the body is empty, a web page, truncated, not protobuf or without a feed header, or if its
/// encoded or decoded size exceeds the limits.
pub fn split_feed_message(
    body: Bytes,
    limits: &FeedMessageLimits,
) -> Result<(SplitFeedMessage, Problems), Error> {
    reject_unusable_body(&body, limits)?;
    // In protobuf an opening brace would begin a group of field 15, which no message has.
    if body.starts_with(b"{") || body.starts_with(b"\xEF\xBB\xBF{") {
        return Err(Error::new(ErrorKind::Decode, "expected protobuf, but the message is JSON"));
    }
    let mut found = FeedMessageSplitter::default();
    for field in ProtobufFields::new(&body) {
        found.add_top_level_field(field.map_err(error_from_protobuf_fault)?, &body, limits)?;
    }
    let header = found.header.ok_or_else(|| {
        Error::new(ErrorKind::Decode, "the message has no feed header, so it is not GTFS-Realtime")
    })?;
    Ok((SplitFeedMessage { header, entities: found.entities }, found.problems))
}

/// Refuses bodies that need no decoding to be recognized as invalid.
pub(super) fn reject_unusable_body(body: &[u8], limits: &FeedMessageLimits) -> Result<(), Error> {
    let (kind, detail) = if body.is_empty() {
        (ErrorKind::Empty, "the body is empty".to_owned())
    } else if body.len() > limits.body_bytes {
        let (found, max) = (body.len(), limits.body_bytes);
        (ErrorKind::TooLarge, format!("the message has {found} bytes; the limit is {max}"))
    } else if looks_like_html(body) {
        (ErrorKind::Html, "expected GTFS-Realtime, but got a web page".to_owned())
    } else if looks_like_gzip(body) {
        // The first byte is field 3 with an invalid wire type, so no message begins like this.
        let detail =
            "expected GTFS-Realtime, but the bytes are compressed with gzip; decompress them first";
        (ErrorKind::Decode, detail.to_owned())
    } else {
        return Ok(());
    };
    Err(Error::new(kind, detail))
}

fn error_from_protobuf_fault(fault: ProtobufFault) -> Error {
    match fault {
        ProtobufFault::Truncated => {
            Error::new(ErrorKind::Truncated, "the message is truncated in the middle of a field")
        }
        ProtobufFault::Malformed(what) => {
            Error::new(ErrorKind::Decode, format!("the message is not valid protobuf: {what}"))
        }
    }
}

#[derive(Default)]
struct FeedMessageSplitter {
    header: Option<proto::FeedHeader>,
    entities: Vec<EncodedEntity>,
    problems: Problems,
    records: DecodedMemoryEstimate,
    n_entities: u32,
}

impl FeedMessageSplitter {
    fn add_top_level_field(
        &mut self,
        field: ProtobufField<'_>,
        body: &Bytes,
        limits: &FeedMessageLimits,
    ) -> Result<(), Error> {
        match (field.number, field.value) {
            (1, ProtobufValue::Bytes(bytes)) => self.merge_header(bytes),
            (2, ProtobufValue::Bytes(bytes)) => {
                self.count_entity_within_limit(limits)?;
                self.add_encoded_entity(body.slice_ref(bytes), limits)
            }
            (2, _) => {
                self.count_entity_within_limit(limits)?;
                self.problems.push(undecodable_entity_problem(
                    self.n_entities,
                    "the entity is not a message",
                ));
                Ok(())
            }
            (1, _) => Err(Error::new(ErrorKind::Decode, "the feed header is not a message")),
            _ => Ok(()),
        }
    }

    /// Merges a header that comes in several parts, as protobuf requires.
    fn merge_header(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let refused = |error: String| {
            Error::new(ErrorKind::Decode, format!("the feed header cannot be decoded: {error}"))
        };
        let header = self.header.get_or_insert_default();
        header.merge(bytes).map_err(|error| refused(error.to_string()))?;
        let missing = required_fields::missing_field_in_header(bytes);
        if let Some(field) = missing.map_err(|fault| refused(fault.to_string()))? {
            self.problems.push(
                Problem::new("header", MISSING_REQUIRED_FIELD, "a required field is missing")
                    .with_field(&field),
            );
        }
        Ok(())
    }

    fn count_entity_within_limit(&mut self, limits: &FeedMessageLimits) -> Result<(), Error> {
        self.n_entities += 1;
        let max = limits.entities.min(FeedMessageLimits::ENTITIES_MAX);
        if self.n_entities as usize > max {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the message has more than {max} entities"),
            ));
        }
        Ok(())
    }

    fn add_encoded_entity(
        &mut self,
        bytes: Bytes,
        limits: &FeedMessageLimits,
    ) -> Result<(), Error> {
        let number = self.n_entities;
        match read_entity_top_fields(bytes, number) {
            Err(problem) => self.problems.push(problem),
            Ok(entity) if entity.bytes.len() > limits.entity_bytes => {
                self.problems.push(
                    entity_too_large_problem(number, entity.bytes.len(), limits)
                        .with_value(entity.entity_id()),
                );
            }
            Ok(entity) => {
                self.records.add_entity_within_limit(&entity, &self.entities, limits)?;
                self.entities.push(entity);
            }
        }
        Ok(())
    }
}

/// Reads the outermost fields of an entity.
fn read_entity_top_fields(bytes: Bytes, number: u32) -> Result<EncodedEntity, Problem> {
    let mut id = None;
    let mut is_deleted = false;
    let mut payload = EntityPayloadKinds::default();
    for field in ProtobufFields::new(&bytes) {
        let field =
            field.map_err(|fault| undecodable_entity_problem(number, &fault.to_string()))?;
        match (field.number, field.value) {
            (1, ProtobufValue::Bytes(value)) => id = Some(value),
            (2, ProtobufValue::Varint(value)) => is_deleted = value != 0,
            (3..=8, ProtobufValue::Bytes(_)) => {
                payload.0 |= EntityPayloadKinds::from_payload_field_number(field.number).0
            }
            (1..=8, _) => {
                let detail = format!("field {} has the wrong wire type", field.number);
                return Err(undecodable_entity_problem(number, &detail));
            }
            _ => {}
        }
    }
    let id = id.ok_or_else(|| missing_field_problem(number, "id"))?;
    if std::str::from_utf8(id).is_err() {
        return Err(undecodable_entity_problem(number, "the id is not UTF-8").with_field("id"));
    }
    // A message is at most 2 GiB long, so both ends fit.
    let start = id.as_ptr() as usize - bytes.as_ptr() as usize;
    let id = start as u32..(start + id.len()) as u32;
    Ok(EncodedEntity { hash: xxh3_64(&bytes), bytes, payload, is_deleted, number, id })
}

/// The code of MobilityData's validator for the same fault in a table.
const MISSING_REQUIRED_FIELD: &str = "missing_required_field";

pub(super) fn missing_field_problem(number: u32, path: &str) -> Problem {
    Problem::new("entity", MISSING_REQUIRED_FIELD, "a required field is missing")
        .with_line(number.into())
        .with_field(path)
}

pub(super) fn undecodable_entity_problem(number: u32, detail: &str) -> Problem {
    Problem::new("entity", "invalid_entity", format!("cannot be decoded: {detail}"))
        .with_line(number.into())
}

pub(super) fn entity_too_large_problem(
    number: u32,
    bytes: usize,
    limits: &FeedMessageLimits,
) -> Problem {
    let detail = format!("has {bytes} bytes; the limit is {}", limits.entity_bytes);
    Problem::new("entity", "entity_too_large", detail).with_line(number.into())
}
