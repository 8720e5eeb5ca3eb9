//! What lies around the messages in a connection's bytes, taken away in place.
//!
//! Bytes are read into a buffer that all sessions share. A framing moves the payload together within it and keeps
//! only a few numbers between two reads, so that an idle session has no buffer.

mod chunked;
mod response_head;
mod websocket;

pub(crate) use chunked::ChunkDecoder;
pub(crate) use response_head::{ServerResponse, parse_response};
pub(crate) use websocket::{ControlFrame, FrameDecoder};

/// How a connection's payload is framed.
#[derive(Debug)]
pub(crate) enum PayloadFraming {
    /// Not at all: everything up to the end of the connection.
    Plain,
    /// HTTP/1.1 chunks.
    Chunked(ChunkDecoder),
    /// WebSocket frames.
    Frames(FrameDecoder),
}

/// Why a connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FramingError {
    #[error("the size of a chunk cannot be read")]
    ChunkSize,
    #[error("the answer ended")]
    Ended,
    #[error("a server's frame is masked, or has bits that nobody asked for")]
    FrameHead,
    #[error("a frame that is longer than anything this protocol sends")]
    FrameLength,
}
