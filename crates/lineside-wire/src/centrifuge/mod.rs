//! The Centrifuge client protocol, as its public documentation describes it, without a socket: messages in, frames
//! out.
//!
//! - [`message`]: the protocol's messages, one structure for both formats
//! - [`CommandReader`]: reads commands from clients
//! - [`Reply`]: a message from a server
//! - [`push`]: a session's deliveries as WebSocket frames that all receivers share
//! - [`ClientHandler`]: one connection's side of the protocol, between messages and a session
//! - [`CentrifugeConnection`]: a client handler over WebSocket frames
//! - [`WebSocketRequest`]: asks a partition for such a connection
//! - [`codes`](crate::codes): every code that a client may get

mod client_handler;
mod command;
mod connection;
mod json_object;
mod reply;
mod transport;
pub mod message;
pub mod push;

pub use crate::protocol_format::ProtocolFormat;
pub use crate::thread_codecs::ThreadCodecs;

pub use self::client_handler::{
    CentrifugeService, ClientHandler, ClientLimits, ConnectionClose, PING_INTERVAL,
    REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX, ReceiveOutcome,
};
pub use self::command::{Command, CommandReadError, CommandReader, CommandRequest};
pub use self::connection::{CentrifugeConnection, MESSAGE_TIMEOUT};
pub use self::message::Reply;
pub use self::transport::WebSocketRequest;
