//! Removes the framing of messages from a connection's bytes, in place.
//!
//! All sessions share one read buffer. A framing compacts the payload within it and stores only a few numbers between
//! two reads, so an idle session has no buffer.

mod chunked;
mod response_head;
mod websocket;

pub(crate) use chunked::ChunkDecoder;
pub(crate) use response_head::{SessionResponse, parse_response_head};
pub(crate) use websocket::{ControlFrame, FrameDecoder};

/// The framing of a connection's payload.
#[derive(Debug)]
pub(crate) enum PayloadFraming {
    /// No framing: the payload is everything up to the end of the connection.
    Plain,
    /// HTTP/1.1 chunks.
    Chunked(ChunkDecoder),
    /// WebSocket frames.
    Frames(FrameDecoder),
}

/// The reason why a connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FramingError {
    #[error("the size of a chunk is invalid")]
    ChunkSize,
    #[error("the response ended")]
    Ended,
    #[error("the WebSocket frame is masked or has reserved bits")]
    FrameHead,
    #[error("the WebSocket frame is too long")]
    FrameLength,
}
