//! Whose frame is kept where beside a publication's data.

use lineside_hub::FRAME_SLOTS;

/// An SSE event without its id: for connections that list several sequences.
pub(crate) const SSE_DATA: usize = 0;
/// A whole SSE event, with the id of a connection that listens to nothing else.
pub(crate) const SSE_EVENT: usize = 1;

const _: () = assert!(SSE_EVENT < FRAME_SLOTS);
