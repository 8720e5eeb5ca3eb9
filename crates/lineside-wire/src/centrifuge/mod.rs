//! The Centrifuge client protocol, as its public documentation describes it, without a socket: messages in, frames out.
//!
//! - [`message`]: the protocol's objects, one structure for both formats
//! - [`Commands`]: what clients send
//! - [`Reply`]: what servers send
//! - [`push`]: what a session delivers, as WebSocket frames that all receivers share
//! - [`Client`]: one connection's side of it, between messages and a session
//! - [`Connection`]: the same over WebSocket frames
//! - [`codes`]: every code that a client is told

mod client;
mod command;
mod connection;
mod object;
mod reply;
pub mod codes;
pub mod message;
pub mod push;

pub use self::client::{
    Client, ClientLimits, Close, Flow, PING_INTERVAL, REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX,
    Service,
};
pub use self::command::{BadCommand, Command, Commands, Request};
pub use self::connection::{Codecs, Connection, MESSAGE_WITHIN};
pub use self::message::Reply;

use crate::websocket::frame::Opcode;

/// How commands and replies are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text messages, one JSON object per line.
    Json,
    /// Binary messages, each object preceded by its length as a varint.
    Protobuf,
}

impl Format {
    /// Its name in `Sec-WebSocket-Protocol`.
    pub fn subprotocol(self) -> &'static str {
        match self {
            Self::Json => "centrifuge-json",
            Self::Protobuf => "centrifuge-protobuf",
        }
    }

    /// What its messages travel as.
    pub fn opcode(self) -> Opcode {
        match self {
            Self::Json => Opcode::Text,
            Self::Protobuf => Opcode::Binary,
        }
    }

    /// The format with this name.
    pub fn of_subprotocol(name: &str) -> Option<Self> {
        [Self::Json, Self::Protobuf].into_iter().find(|format| format.subprotocol() == name)
    }
}
