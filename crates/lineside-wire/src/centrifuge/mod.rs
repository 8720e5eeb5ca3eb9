//! The Centrifuge client protocol, as its public documentation describes it, without a socket: messages in, frames
//! out.
//!
//! - [`message`]: the protocol's messages, one structure for both formats
//! - [`CommandReader`]: reads commands from clients
//! - [`Reply`]: a message from a server
//! - [`push`]: a session's deliveries as WebSocket frames that all receivers share
//! - [`ClientHandler`]: one connection's side of the protocol, between messages and a session
//! - [`CentrifugeConnection`]: a client handler over WebSocket frames
//! - [`codes`]: every code that a client may get

mod client_handler;
mod command;
mod connection;
mod json_object;
mod reply;
pub mod codes;
pub mod message;
pub mod push;

pub use self::client_handler::{
    CentrifugeService, ClientHandler, ClientLimits, ConnectionClose, PING_INTERVAL,
    REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX, ReceiveOutcome,
};
pub use self::command::{BadCommand, Command, CommandReader, CommandRequest};
pub use self::connection::{CentrifugeConnection, MESSAGE_TIMEOUT, ThreadCodecs};
pub use self::message::Reply;

use crate::websocket::frame::Opcode;

/// The encoding of commands and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolFormat {
    /// Text messages, one JSON object per line.
    Json,
    /// Binary messages, each object preceded by its length as a varint.
    Protobuf,
}

impl ProtocolFormat {
    /// Returns the format's name in `Sec-WebSocket-Protocol`.
    pub fn subprotocol_name(self) -> &'static str {
        match self {
            Self::Json => "centrifuge-json",
            Self::Protobuf => "centrifuge-protobuf",
        }
    }

    /// Returns the opcode of the format's messages.
    pub fn frame_opcode(self) -> Opcode {
        match self {
            Self::Json => Opcode::Text,
            Self::Protobuf => Opcode::Binary,
        }
    }

    /// Returns the format with this name.
    pub fn from_subprotocol(name: &str) -> Option<Self> {
        [Self::Json, Self::Protobuf].into_iter().find(|format| format.subprotocol_name() == name)
    }
}
