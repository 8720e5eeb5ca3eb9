//! Whose frame is kept where beside a publication's data.

use lineside_hub::FRAME_SLOTS;

/// An SSE event without its id: for connections that list several sequences.
pub(crate) const SSE_DATA: usize = 0;
/// A whole SSE event, with the id of a connection that listens to nothing else.
pub(crate) const SSE_EVENT: usize = 1;

/// A WebSocket frame with a push in JSON; of a state part its data alone.
pub(crate) const WS_JSON: usize = 2;
/// A WebSocket frame with a push in protobuf.
pub(crate) const WS_PROTOBUF: usize = 3;
/// The first one, compressed; of a state part what follows its first character.
pub(crate) const WS_JSON_DEFLATED: usize = 4;
/// The second one, compressed.
pub(crate) const WS_PROTOBUF_DEFLATED: usize = 5;

const _: () = assert!(WS_PROTOBUF_DEFLATED < FRAME_SLOTS);
