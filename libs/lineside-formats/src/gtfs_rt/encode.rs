//! Encodes messages from encoded entities.

use std::io;

use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message as _;
use serde::{Serialize, Serializer, ser::SerializeSeq, ser::SerializeStruct};

use super::proto;

/// Keys of `FeedMessage.header` and `FeedMessage.entity`: length-delimited fields 1 and 2.
const HEADER_KEY: u8 = 0x0A;
const ENTITY_KEY: u8 = 0x12;
/// Maximum length of a key and a length, in bytes.
const FIELD_HEAD_BYTES_MAX: usize = 11;

/// Encodes a message from a header and encoded entities, whose extensions are thereby preserved.
pub fn encode_feed_message<E>(
    header: &proto::FeedHeader,
    entities: impl IntoIterator<Item = E>,
) -> Bytes
where
    E: AsRef<[u8]>,
{
    let mut message = BytesMut::new();
    put_length_delimited(&mut message, HEADER_KEY, &header.encode_to_vec());
    for entity in entities {
        put_length_delimited(&mut message, ENTITY_KEY, entity.as_ref());
    }
    message.freeze()
}

fn put_length_delimited(message: &mut BytesMut, key: u8, bytes: &[u8]) {
    message.reserve(FIELD_HEAD_BYTES_MAX + bytes.len());
    message.put_u8(key);
    prost::encode_length_delimiter(bytes.len(), message)
        .expect("a BytesMut grows, so writing the length cannot fail");
    message.put_slice(bytes);
}

/// Writes the JSON form of a message as a stream, one entity at a time.
///
/// An entity is any value that serializes to the JSON form of a [`proto::FeedEntity`]: the entity itself, or text that
/// was serialized earlier (`&serde_json::value::RawValue`).
///
/// # Errors
/// Returns the errors of the writer.
pub fn write_feed_json<W, E>(
    writer: W,
    header: &proto::FeedHeader,
    entities: impl IntoIterator<Item = E>,
) -> io::Result<()>
where
    W: io::Write,
    E: Serialize,
{
    let mut serializer = serde_json::Serializer::new(writer);
    let mut message = serializer.serialize_struct("FeedMessage", 2)?;
    message.serialize_field("header", header)?;
    let entities = SerializeIteratorOnce(std::cell::Cell::new(Some(entities.into_iter())));
    message.serialize_field("entity", &entities)?;
    SerializeStruct::end(message)?;
    Ok(())
}

/// Removes Lineside's own fields (numbers from 9400 on). The specification's JSON form has no names for them, so
/// protobuf's JSON parsers would refuse the message. Returns the names of the removed fields.
pub fn remove_lineside_extensions(entity: &mut proto::FeedEntity) -> Vec<&'static str> {
    let mut removed = Vec::new();
    let of_update = entity.trip_update.as_mut().map(|update| &mut update.trip);
    let of_vehicle = entity.vehicle.as_mut().and_then(|vehicle| vehicle.trip.as_mut());
    let informed = entity.alert.iter_mut().flat_map(|alert| &mut alert.informed_entity);
    let of_alert = informed.filter_map(|selector| selector.trip.as_mut());
    for trip in of_update.into_iter().chain(of_vehicle).chain(of_alert) {
        removed.extend(trip.named_start_date.take().map(|_| "named_start_date"));
    }
    for call in entity.trip_update.iter_mut().flat_map(|update| &mut update.stop_time_update) {
        if let Some(properties) = &mut call.stop_time_properties
            && properties.platform.take().is_some()
        {
            removed.push("platform");
            if *properties == Default::default() {
                call.stop_time_properties = None;
            }
        }
    }
    removed
}

/// Serializes an iterator as a list; serde passes a shared reference, but an iterator can be used only once.
struct SerializeIteratorOnce<I>(std::cell::Cell<Option<I>>);

impl<I: Iterator<Item: Serialize>> Serialize for SerializeIteratorOnce<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for item in self.0.take().into_iter().flatten() {
            list.serialize_element(&item)?;
        }
        SerializeSeq::end(list)
    }
}
