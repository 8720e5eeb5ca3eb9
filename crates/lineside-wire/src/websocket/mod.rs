//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692), without a socket: bytes in, events and bytes out.
//!
//! - [`handshake`]: from a request's headers to the reply, and the client's side of it
//! - [`WebSocketReader`]: one connection's incoming frames; it holds no buffer between frames
//! - [`frame`]: outgoing frames
//! - [`Deflater`], [`Inflater`]: one of each per thread, shared by all its connections, because no message is
//!   compressed in the context of an earlier one
//!
//! Both roles are implemented: the server's, and the client's for the load generator.

mod deflate;
pub mod frame;
pub mod handshake;
mod reader;

pub use self::deflate::{Deflater, Inflater};
pub use self::reader::{WebSocketEvent, WebSocketReadError, WebSocketReader};

pub(crate) use self::deflate::{end_message_after_uncompressed, write_uncompressed_blocks};

/// The largest message that is read from a client, in bytes, both compressed and decompressed.
pub const MESSAGE_BYTES_MAX: usize = 256 << 10;

/// The largest payload of a control frame, in bytes (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// The size in bytes from which on a message is compressed.
pub const DEFLATE_BYTES_MIN: usize = 256;

/// The side of a connection: a server reads masked frames, a client frames without a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointRole {
    /// Reads frames from clients.
    Server,
    /// Reads frames from servers.
    Client,
}
