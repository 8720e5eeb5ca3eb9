//! Estimates the memory of decoded entities from their encoded bytes.
//!
//! An empty call has two bytes encoded, and a hundred times as much decoded. An upper bound by the number of bytes
//! suffices for all but large messages; the lists are counted only if that bound exceeds the limit.

use super::{
    EncodedEntity, FeedMessageLimits, proto,
    wire::{ProtobufFields, ProtobufValue},
};
use crate::{Error, ErrorKind};

/// A message of the schema: its lists, and the fields that lead to lists.
struct SchemaMessage {
    name: &'static str,
    fields: &'static [SchemaField],
}

struct SchemaField {
    number: u32,
    /// Memory of one value, in bytes; 0 if the field is not a list.
    value_bytes: usize,
    /// Index in the table of the field's message type, if that leads to lists.
    message: Option<usize>,
}

include!(concat!(env!("OUT_DIR"), "/lists.rs"));

/// Memory of any entity, in bytes, including its encoded form.
const ENTITY_BYTES: usize = size_of::<proto::FeedEntity>() + size_of::<EncodedEntity>();
/// Maximum memory per encoded byte: a value of a list has at least two encoded bytes, and an entity selector of an
/// alert is the largest value; the additional byte is for texts.
const PER_BYTE_MAX: usize = size_of::<proto::EntitySelector>() / 2 + 1;

/// An entity, encoded or decoded.
pub(super) trait EntitySize {
    /// Returns the length of the encoded entity, in bytes.
    fn encoded_size(&self) -> usize;

    /// Returns the memory of the decoded entity, in bytes, according to [`decoded_entity_memory_bytes`].
    fn decoded_memory_size(&self) -> usize;
}

/// The memory of the entities of a message so far.
#[derive(Debug, Default)]
pub(super) struct DecodedMemoryEstimate {
    bytes: usize,
    /// True if the bytes are counted instead of bounded.
    are_counted: bool,
}

impl DecodedMemoryEstimate {
    /// Adds an entity to the `earlier` ones.
    ///
    /// # Errors
    /// Returns an error if the entities take more memory than `limits` allow.
    pub(super) fn add_entity_within_limit<E: EntitySize>(
        &mut self,
        entity: &E,
        earlier: &[E],
        limits: &FeedMessageLimits,
    ) -> Result<(), Error> {
        let max = limits.record_bytes;
        if !self.are_counted {
            let at_most = entity.encoded_size().saturating_mul(PER_BYTE_MAX);
            let bounded = self.bytes.saturating_add(ENTITY_BYTES).saturating_add(at_most);
            if bounded <= max {
                self.bytes = bounded;
                return Ok(());
            }
            self.are_counted = true;
            self.bytes = earlier.iter().map(E::decoded_memory_size).sum();
        }
        self.bytes = self.bytes.saturating_add(entity.decoded_memory_size());
        if self.bytes <= max {
            return Ok(());
        }
        let detail = format!("the records of the message need more than {max} bytes of memory");
        Err(Error::new(ErrorKind::TooLarge, detail))
    }
}

/// Returns the memory of an encoded entity after decoding, in bytes: its record, the values of all its lists, and its
/// texts, which are no longer than the entity.
pub(super) fn decoded_entity_memory_bytes(entity: &[u8]) -> usize {
    let message = MESSAGES.iter().find(|message| message.name == "FeedEntity");
    let lists = message.map_or(0, |message| decoded_lists_memory_bytes(message, entity));
    ENTITY_BYTES + entity.len() + lists
}

/// Sums the list values of a message and its nested messages. The schema bounds the depth, because no message nests
/// itself. Malformed parts are not decoded and do not count.
fn decoded_lists_memory_bytes(message: &SchemaMessage, bytes: &[u8]) -> usize {
    let mut sum = 0;
    for found in ProtobufFields::new(bytes).map_while(Result::ok) {
        let Some(field) = message.fields.iter().find(|field| field.number == found.number) else {
            continue;
        };
        sum += field.value_bytes;
        if let (Some(inner), ProtobufValue::Bytes(bytes)) = (field.message, found.value) {
            sum += decoded_lists_memory_bytes(&MESSAGES[inner], bytes);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL_BYTES: usize = size_of::<proto::trip_update::StopTimeUpdate>();

    fn check(entity: &[u8], lists: usize) {
        assert_eq!(
            decoded_entity_memory_bytes(entity),
            ENTITY_BYTES + entity.len() + lists,
            "{entity:02X?}"
        );
        let at_most = ENTITY_BYTES + entity.len() * PER_BYTE_MAX;
        assert!(decoded_entity_memory_bytes(entity) <= at_most, "{entity:02X?}");
    }

    #[test]
    fn every_list_value_counts_towards_the_record_memory() {
        check(b"", 0);
        check(b"\x0A\x01a\x1A\x04\x0A\x02\x0A\x00", 0);
        check(b"\x0A\x01a\x1A\x06\x0A\x00\x12\x00\x12\x00", 2 * CALL_BYTES);
        // A payload in two parts is merged.
        check(b"\x1A\x02\x12\x00\x1A\x02\x12\x00", 2 * CALL_BYTES);
        // An alert's header in two translations.
        let translation = size_of::<proto::translated_string::Translation>();
        check(b"\x2A\x06\x52\x04\x0A\x00\x0A\x00", 2 * translation);
        // A detour: two start times, and selected trips, one of them with an id.
        let selected = size_of::<proto::trip_modifications::SelectedTrips>();
        let texts = 3 * size_of::<String>();
        check(b"\x42\x0A\x12\x00\x12\x00\x0A\x00\x0A\x02\x0A\x00", 2 * selected + texts);
        // A truncated entity counts up to its end.
        check(b"\x1A\x03\x12\x00\x12", CALL_BYTES);
    }

    #[test]
    fn an_entity_selector_is_the_largest_list_value() {
        let inside = MESSAGES.iter().filter(|message| message.name != "FeedMessage");
        let sizes = inside.flat_map(|message| message.fields).map(|field| field.value_bytes);
        assert_eq!(sizes.max(), Some(size_of::<proto::EntitySelector>()));
    }
}
