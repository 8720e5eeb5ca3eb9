//! Parses the channel, the offset and the time of a message in place. Other fields are ignored.
//!
//! Of a long message that arrived in several reads only the beginning and the end are available; they contain the
//! fields.

mod data;
mod event;
mod json;
mod protobuf;
pub(crate) mod code_text;

use std::ops::Range;

use bytes::BytesMut;
use lineside_wire::centrifuge::message::{ConnectRequest, SubscribeRequest};
use lineside_wire::centrifuge::{Command, CommandRequest};
use lineside_wire::websocket::frame::Opcode;

pub(crate) use data::{PublicationData, write_own_publication_data};

use crate::limits::HEAD_BYTES;
use crate::plan::{LoadTestPlan, MessageFormat, SessionTransport};

/// The encoding of a connection's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageCodec {
    Events,
    Json,
    Protobuf,
}

impl MessageCodec {
    pub(crate) fn codec_for_transport(transport: SessionTransport, format: MessageFormat) -> Self {
        match (transport, format) {
            (SessionTransport::Sse, _) => Self::Events,
            (SessionTransport::WebSocket, MessageFormat::Json) => Self::Json,
            (SessionTransport::WebSocket, MessageFormat::Protobuf) => Self::Protobuf,
        }
    }

    /// Encodes a channel's name as in messages.
    pub(crate) fn encode_channel_name(self, name: &str) -> Vec<u8> {
        match self {
            Self::Protobuf => name.as_bytes().to_vec(),
            Self::Events | Self::Json => {
                let quoted = serde_json::Value::from(name).to_string();
                quoted.as_bytes()[1..quoted.len() - 1].to_vec()
            }
        }
    }

    /// Returns the range of the first message in `bytes` and the start of the next; `None` if it is incomplete.
    ///
    /// `dropped` bytes are missing after its first [`HEAD_BYTES`].
    pub(crate) fn find_next_message(
        self,
        bytes: &[u8],
        dropped: usize,
    ) -> Result<Option<(Range<usize>, usize)>, UnreadableMessage> {
        match self {
            Self::Protobuf => protobuf::find_next_protobuf_message(bytes, dropped),
            Self::Events | Self::Json => {
                Ok(memchr::memchr(b'\n', bytes).map(|end| (0..end, end + 1)))
            }
        }
    }

    pub(crate) fn parse_message(
        self,
        message: MessageWithGap<'_>,
    ) -> Result<ServerMessage<'_>, UnreadableMessage> {
        match self {
            Self::Events => event::parse_event_line(message),
            Self::Json => json::parse_json_message(message),
            Self::Protobuf => protobuf::parse_protobuf_message(message),
        }
    }

    /// Encodes the first message of a client: connects and subscribes to all channels.
    pub(crate) fn encode_connect_and_subscribes(self, plan: &LoadTestPlan) -> BytesMut {
        let mut message = BytesMut::new();
        if self == Self::Events {
            return message;
        }
        let connect = ConnectRequest { name: CLIENT_NAME.to_owned(), ..ConnectRequest::default() };
        let subscribe = |channel: &String| SubscribeRequest {
            channel: channel.clone(),
            ..SubscribeRequest::default()
        };
        let subscribes =
            plan.channels.iter().map(|channel| CommandRequest::Subscribe(subscribe(channel)));
        let requests = std::iter::once(CommandRequest::Connect(connect)).chain(subscribes);
        for (request, id) in requests.zip(1..) {
            // Encoding can only fail for data that are not JSON, and these commands have none.
            _ = Command { id, request }
                .append_to_message(plan.format.to_protocol_format(), &mut message);
        }
        message
    }

    /// Returns the payload of a client's pong.
    pub(crate) fn pong_payload(self) -> &'static [u8] {
        match self {
            Self::Events => b"",
            Self::Json => b"{}",
            // A command without fields, prefixed by its length.
            Self::Protobuf => &[0],
        }
    }

    /// Returns the opcode of a client's frames.
    pub(crate) fn frame_opcode(self) -> Opcode {
        if self == Self::Protobuf { Opcode::Binary } else { Opcode::Text }
    }
}

/// The client name in the connect command.
const CLIENT_NAME: &str = "lineside-load";
/// The id of the command that subscribes to the first channel; the others follow. Id 1 connects.
pub(crate) const FIRST_SUBSCRIBE: u32 = 2;

/// A message whose middle part may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageWithGap<'a> {
    pub(crate) bytes: &'a [u8],
    /// Number of missing bytes after the first [`HEAD_BYTES`].
    pub(crate) dropped: usize,
}

impl<'a> MessageWithGap<'a> {
    /// Returns the contiguous part at the beginning.
    fn part_before_gap(self) -> &'a [u8] {
        let end =
            if self.dropped > 0 { HEAD_BYTES.min(self.bytes.len()) } else { self.bytes.len() };
        &self.bytes[..end]
    }
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerMessage<'a> {
    Publication {
        channel: &'a [u8],
        offset: Option<u64>,
        data: PublicationData,
    },
    Connected,
    /// The answer to a subscribe command.
    Subscribed {
        command: u32,
        offset: Option<u64>,
    },
    /// An error in answer to a command.
    Refused {
        command: u32,
        code: u32,
    },
    Unsubscribed {
        code: u32,
    },
    Disconnected {
        code: u32,
    },
    Ping,
    /// A message that is not measured.
    Ignored,
}

/// A message that violates the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server sent an invalid message")]
pub(crate) struct UnreadableMessage;

/// Parses the number at the beginning of `text`.
fn parse_leading_number(text: &[u8]) -> Option<u64> {
    text.first().filter(|byte| byte.is_ascii_digit())?;
    let mut digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

/// Parses the number after the first `key` in `text`.
fn parse_number_after(key: &[u8], text: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(text, key)?;
    parse_leading_number(&text[at + key.len()..])
}

/// Splits a JSON string, returned without quotes and with its escapes, from the rest.
fn split_quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', &text[from..])?;
        if text[at] == b'"' {
            return Some((&text[..at], &text[at + 1..]));
        }
        from = at + 2;
        if from > text.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_numbers_and_strings_are_parsed() {
        assert_eq!(parse_leading_number(b"017,"), Some(17));
        assert_eq!(
            (
                parse_leading_number(b""),
                parse_leading_number(b"-1"),
                parse_leading_number(b"99999999999999999999")
            ),
            (None, None, None)
        );
        assert_eq!(parse_number_after(b"\"code\":", b"{\"code\":102}"), Some(102));
        assert_eq!(split_quoted(br#""a\"b\\",1"#), Some((&br#"a\"b\\"#[..], &b",1"[..])));
        assert_eq!(split_quoted(br#""a\"#), None);
        assert_eq!(split_quoted(br#""a\""#), None);
    }

    #[test]
    fn a_channel_is_compared_in_its_encoded_form() {
        assert_eq!(MessageCodec::Events.encode_channel_name("app/a\"b"), br#"app/a\"b"#);
        assert_eq!(MessageCodec::Protobuf.encode_channel_name("app/a\"b"), b"app/a\"b");
    }
}
