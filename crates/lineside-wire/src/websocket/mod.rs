//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692), without a socket: bytes in, events and bytes out.
//!
//! - [`handshake`]: from a request's headers to the reply, and the client's side of it
//! - [`WebSocketReader`]: one connection's incoming frames; it holds nothing while no frame is begun
//! - [`frame`]: outgoing frames
//! - [`Deflater`], [`Inflater`]: one of each per thread, shared by all its connections, because no message is
//!   compressed with what came before it
//!
//! Both roles are here: the server's, and the client's for the load generator.

mod deflate;
pub mod frame;
pub mod handshake;
mod reader;

pub use self::deflate::{Deflater, Inflater};
pub use self::reader::{ReadError, WebSocketEvent, WebSocketReader};

pub(crate) use self::deflate::{end_stored, write_stored};

/// Largest message that is read from a client, in bytes, compressed and inflated alike.
pub const MESSAGE_BYTES_MAX: usize = 256 << 10;

/// Most payload of a control frame, in bytes (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// From how many bytes on a message is worth compressing.
pub const DEFLATE_BYTES_MIN: usize = 256;

/// Which side of a connection one is: a server reads masked frames, a client frames without a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointRole {
    /// Reads what clients send.
    Server,
    /// Reads what servers send.
    Client,
}
