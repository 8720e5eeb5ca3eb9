//! The frame slots of a publication, by codec.

use lineside_hub::FRAME_SLOTS;

/// The data of an SSE event without its id: for connections with several channels.
pub(crate) const SSE_DATA: usize = 0;
/// A whole SSE event, with the id of a connection that has only this channel.
pub(crate) const SSE_EVENT: usize = 1;

/// A WebSocket frame with a JSON push; for a state part, only its data on one line.
pub(crate) const WS_JSON: usize = 2;
/// A WebSocket frame with a protobuf push.
pub(crate) const WS_PROTOBUF: usize = 3;
/// A compressed WebSocket frame with a JSON push; for a state part, the data without its first character.
pub(crate) const WS_JSON_DEFLATED: usize = 4;
/// A compressed WebSocket frame with a protobuf push.
pub(crate) const WS_PROTOBUF_DEFLATED: usize = 5;

const _: () = assert!(WS_PROTOBUF_DEFLATED < FRAME_SLOTS);
