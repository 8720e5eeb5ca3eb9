//! The Centrifuge client protocol, as its public documentation describes it, without a socket: messages in, frames out.

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

    /// The format with this name.
    pub fn of_subprotocol(name: &str) -> Option<Self> {
        [Self::Json, Self::Protobuf].into_iter().find(|format| format.subprotocol() == name)
    }
}
