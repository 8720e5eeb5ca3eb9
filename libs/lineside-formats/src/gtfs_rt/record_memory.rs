//! Reckons what the entities of a message take in memory once they are decoded, from their bytes alone.
//!
//! A call that says nothing has two bytes, and a hundred times as much as a record. What the bytes can come to at most is
//! enough to know for all but large messages; only where that is beyond the bound are the lists in them counted.

use super::{
    FeedMessageLimits, RawEntity, proto,
    wire::{WireFields, WireValue},
};
use crate::{Error, ErrorKind};

/// A message of the schema: its lists, and the fields through which lists are reached.
struct SchemaMessage {
    name: &'static str,
    fields: &'static [SchemaField],
}

struct SchemaField {
    number: u32,
    /// What one value more takes in memory; 0 if the field is no list.
    value_bytes: usize,
    /// Place of the field's own message in the table, if there are lists in that.
    message: Option<usize>,
}

include!(concat!(env!("OUT_DIR"), "/lists.rs"));

/// Memory that any entity takes, also while it is not decoded.
const ENTITY_BYTES: usize = size_of::<proto::FeedEntity>() + size_of::<RawEntity>();
/// Memory for each encoded byte at most: a value of a list has two of them or more, and what an alert is about takes most; the
/// other one is for texts.
const PER_BYTE_MAX: usize = size_of::<proto::EntitySelector>() / 2 + 1;

/// An entity, encoded or not.
pub(super) trait EntitySize {
    /// How many bytes it has where it is encoded.
    fn encoded_bytes(&self) -> usize;

    /// What it takes in memory where it is decoded, as [`decoded_entity_bytes`] has it.
    fn record_bytes(&self) -> usize;
}

/// The memory of a message's entities so far.
#[derive(Debug, Default)]
pub(super) struct RecordMemory {
    bytes: usize,
    /// They are counted, not only bounded.
    are_counted: bool,
}

impl RecordMemory {
    /// Adds an entity to the `earlier` ones.
    ///
    /// # Errors
    /// Refuses a message whose entities take more than `limits` allow.
    pub(super) fn add_entity<E: EntitySize>(
        &mut self,
        entity: &E,
        earlier: &[E],
        limits: &FeedMessageLimits,
    ) -> Result<(), Error> {
        let most = limits.record_bytes;
        if !self.are_counted {
            let at_most = entity.encoded_bytes().saturating_mul(PER_BYTE_MAX);
            let bounded = self.bytes.saturating_add(ENTITY_BYTES).saturating_add(at_most);
            if bounded <= most {
                self.bytes = bounded;
                return Ok(());
            }
            self.are_counted = true;
            self.bytes = earlier.iter().map(E::record_bytes).sum();
        }
        self.bytes = self.bytes.saturating_add(entity.record_bytes());
        if self.bytes <= most {
            return Ok(());
        }
        let detail = format!("the records of the message take more than {most} bytes of memory");
        Err(Error::new(ErrorKind::TooLarge, detail))
    }
}

/// What an encoded entity takes in memory once it is decoded, in bytes: its record, the values of all lists in it, and its texts,
/// which are no longer than it is.
pub(super) fn decoded_entity_bytes(entity: &[u8]) -> usize {
    let message = MESSAGES.iter().find(|message| message.name == "FeedEntity");
    let lists = message.map_or(0, |message| decoded_message_bytes(message, entity));
    ENTITY_BYTES + entity.len() + lists
}

/// Depth is bounded by the schema, which does not nest a message in itself. What cannot be read is not decoded either.
fn decoded_message_bytes(message: &SchemaMessage, bytes: &[u8]) -> usize {
    let mut sum = 0;
    for found in WireFields::new(bytes).map_while(Result::ok) {
        let Some(field) = message.fields.iter().find(|field| field.number == found.number) else {
            continue;
        };
        sum += field.value_bytes;
        if let (Some(inner), WireValue::Bytes(bytes)) = (field.message, found.value) {
            sum += decoded_message_bytes(&MESSAGES[inner], bytes);
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
            decoded_entity_bytes(entity),
            ENTITY_BYTES + entity.len() + lists,
            "{entity:02X?}"
        );
        let at_most = ENTITY_BYTES + entity.len() * PER_BYTE_MAX;
        assert!(decoded_entity_bytes(entity) <= at_most, "{entity:02X?}");
    }

    #[test]
    fn each_value_of_each_list_counts() {
        check(b"", 0);
        check(b"\x0A\x01a\x1A\x04\x0A\x02\x0A\x00", 0);
        check(b"\x0A\x01a\x1A\x06\x0A\x00\x12\x00\x12\x00", 2 * CALL_BYTES);
        // A payload in two pieces is put together.
        check(b"\x1A\x02\x12\x00\x1A\x02\x12\x00", 2 * CALL_BYTES);
        // An alert's header in two translations.
        let translation = size_of::<proto::translated_string::Translation>();
        check(b"\x2A\x06\x52\x04\x0A\x00\x0A\x00", 2 * translation);
        // A detour: two start times, and trips of which one has an id.
        let selected = size_of::<proto::trip_modifications::SelectedTrips>();
        let texts = 3 * size_of::<String>();
        check(b"\x42\x0A\x12\x00\x12\x00\x0A\x00\x0A\x02\x0A\x00", 2 * selected + texts);
        // What is cut off counts as far as it goes.
        check(b"\x1A\x03\x12\x00\x12", CALL_BYTES);
    }

    #[test]
    fn no_value_takes_more_than_what_an_alert_is_about() {
        let inside = MESSAGES.iter().filter(|message| message.name != "FeedMessage");
        let sizes = inside.flat_map(|message| message.fields).map(|field| field.value_bytes);
        assert_eq!(sizes.max(), Some(size_of::<proto::EntitySelector>()));
    }
}
