//! The encodings of the Centrifuge protocol.

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

    pub fn from_subprotocol(name: &str) -> Option<Self> {
        [Self::Json, Self::Protobuf].into_iter().find(|format| format.subprotocol_name() == name)
    }
}
