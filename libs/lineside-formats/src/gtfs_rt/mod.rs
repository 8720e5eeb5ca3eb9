//! GTFS-Realtime 2.0: protobuf and its JSON twin. No version of the schedule is needed to read it.
//!
//! The usual way in is [`decode_shallow`]: it finds the entities of a message, names and hashes them, and leaves them
//! encoded, so that a poll costs next to nothing where nothing changed; [`RawEntity::decode_entity`] then opens what is new.
//! The bytes of an entity also are what [`encode_feed`] writes, so extensions that the schema does not know survive.
//!
//! A fault inside one entity is a [`Problem`](crate::Problem) of that entity. A body that ends early is refused as a
//! whole, because in a full dataset what is missing would count as gone.

/// The messages of the specification, as prost makes them from `proto/gtfs-realtime.proto`.
///
/// Enumerations are numbers here, with typed accessors; fields that the specification requires are plain, all others
/// options or lists. With serde they are JSON with the specification's own field names.
#[expect(missing_docs, reason = "the schema comments what its names do not already say")]
pub mod proto {
    include!(concat!(env!("OUT_DIR"), "/transit_realtime.rs"));
}

mod limits;
mod wire;
mod required_fields;
mod extensions;
mod record_memory;
mod shallow;
mod decode;
mod encode;
mod json;
mod decode_json;

pub use decode::decode_message;
pub use decode_json::decode_json;
pub use encode::{encode_feed, remove_extensions, write_json};
pub use limits::FeedMessageLimits;
pub use shallow::{EntityPayloads, RawEntity, ShallowMessage, decode_shallow};
