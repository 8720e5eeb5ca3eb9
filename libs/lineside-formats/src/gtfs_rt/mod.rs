//! GTFS-Realtime 2.0: protobuf and its JSON twin.

/// The messages of the specification, as prost makes them from `proto/gtfs-realtime.proto`.
///
/// Enumerations are numbers here, with typed accessors; fields that the specification requires are plain, all others
/// options or lists. With serde they are JSON with the specification's own field names.
#[expect(missing_docs, reason = "the schema comments what its names do not already say")]
pub mod proto {
    include!(concat!(env!("OUT_DIR"), "/transit_realtime.rs"));
}

mod json;
