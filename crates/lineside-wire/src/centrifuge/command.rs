//! Commands from clients: read by the server, written by the client role.

use std::borrow::Cow;

use bytes::{BufMut as _, BytesMut};
use prost::Message as _;

use super::ProtocolFormat;
use super::message::{
    ChannelRequest, CommandMessage, ConnectRequest, EmptyMessage, HistoryRequest, PublishRequest,
    RefreshRequest, SubRefreshRequest, SubscribeRequest,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The id for the reply; 0 if no reply is wanted.
    pub id: u32,
    pub request: CommandRequest,
}

/// The request of a command. If a command has several, the first in this order counts.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the requests themselves are documented")]
pub enum CommandRequest {
    Connect(ConnectRequest),
    Subscribe(SubscribeRequest),
    Unsubscribe(ChannelRequest),
    Publish(PublishRequest),
    Presence(ChannelRequest),
    PresenceStats(ChannelRequest),
    History(HistoryRequest),
    Ping,
    Send,
    Rpc,
    Refresh(RefreshRequest),
    SubRefresh(SubRefreshRequest),
    /// An empty command without an id: the answer to a ping.
    Pong,
    /// A command with an id but without a known request.
    Unknown,
}

/// The error of bytes that are not a command. The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandReadError {
    /// The bytes are not in the connection's format.
    #[error("the bytes are not a command")]
    Malformed,
    /// A request that needs a reply has no id.
    #[error("the command has no id")]
    NoId,
}

/// The commands of one message, read one by one.
#[derive(Clone, Debug)]
pub struct CommandReader<'a> {
    format: ProtocolFormat,
    rest: Cow<'a, [u8]>,
    begin: usize,
}

impl<'a> CommandReader<'a> {
    /// Creates a reader of the commands in a message.
    pub fn new(format: ProtocolFormat, message: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { format, rest: message.into(), begin: 0 }
    }

    /// Returns the number of bytes not read yet.
    pub fn unread_byte_count(&self) -> usize {
        self.rest.len() - self.begin
    }

    /// Returns a reader of the rest that owns a copy of the bytes.
    pub fn into_owned(self) -> CommandReader<'static> {
        let rest = self.rest[self.begin..].to_vec();
        CommandReader { format: self.format, rest: Cow::Owned(rest), begin: 0 }
    }

    fn next_json_command(&mut self) -> Option<Result<Command, CommandReadError>> {
        while self.begin < self.rest.len() {
            let rest = &self.rest[self.begin..];
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let line = rest[..end].trim_ascii();
            self.begin = (self.begin + end + 1).min(self.rest.len());
            if line.is_empty() {
                continue;
            }
            // Otherwise serde would accept an array of the members as an object.
            let object = Some(line).filter(|line| line.starts_with(b"{"));
            let message = object.and_then(|line| serde_json::from_slice(line).ok());
            return Some(
                message.ok_or(CommandReadError::Malformed).and_then(Command::command_from_message),
            );
        }
        None
    }

    fn next_protobuf_command(&mut self) -> Option<Result<Command, CommandReadError>> {
        let mut rest = &self.rest[self.begin..];
        if rest.is_empty() {
            return None;
        }
        let length = prost::decode_length_delimiter(&mut rest).ok();
        let Some(message) = length.and_then(|length| rest.get(..length)) else {
            self.begin = self.rest.len();
            return Some(Err(CommandReadError::Malformed));
        };
        let end = self.rest.len() - rest.len() + message.len();
        let message = CommandMessage::decode(message);
        self.begin = end;
        Some(
            message
                .map_err(|_| CommandReadError::Malformed)
                .and_then(Command::command_from_message),
        )
    }
}

impl Iterator for CommandReader<'_> {
    type Item = Result<Command, CommandReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.format {
            ProtocolFormat::Json => self.next_json_command(),
            ProtocolFormat::Protobuf => self.next_protobuf_command(),
        }
    }
}

impl Command {
    fn command_from_message(message: CommandMessage) -> Result<Self, CommandReadError> {
        let id = message.id;
        let request = CommandRequest::request_from_message(message);
        match (id, request) {
            (0, CommandRequest::Unknown) => Ok(Self { id, request: CommandRequest::Pong }),
            (0, CommandRequest::Send) => Ok(Self { id, request: CommandRequest::Send }),
            (0, _) => Err(CommandReadError::NoId),
            (id, request) => Ok(Self { id, request }),
        }
    }

    /// Appends the command to the message in `into`, for the client role.
    ///
    /// # Errors
    /// Returns an error if its data is not JSON, in the JSON format; then `into` is unchanged.
    pub fn append_to_message(
        &self,
        format: ProtocolFormat,
        into: &mut BytesMut,
    ) -> Result<(), CommandReadError> {
        let message = self.clone().into_command_message();
        let begin = into.len();
        let written = match format {
            ProtocolFormat::Json => {
                if begin > 0 {
                    into.put_u8(b'\n');
                }
                serde_json::to_writer((&mut *into).writer(), &message).is_ok()
            }
            ProtocolFormat::Protobuf => {
                let length = message.encoded_len();
                into.reserve(length + prost::length_delimiter_len(length));
                message.encode_length_delimited(into).is_ok()
            }
        };
        if written {
            return Ok(());
        }
        into.truncate(begin);
        Err(CommandReadError::Malformed)
    }

    fn into_command_message(self) -> CommandMessage {
        let mut message = CommandMessage { id: self.id, ..CommandMessage::default() };
        match self.request {
            CommandRequest::Connect(request) => message.connect = Some(request),
            CommandRequest::Subscribe(request) => message.subscribe = Some(request),
            CommandRequest::Unsubscribe(request) => message.unsubscribe = Some(request),
            CommandRequest::Publish(request) => message.publish = Some(request),
            CommandRequest::Presence(request) => message.presence = Some(request),
            CommandRequest::PresenceStats(request) => message.presence_stats = Some(request),
            CommandRequest::History(request) => message.history = Some(request),
            CommandRequest::Ping => message.ping = Some(EmptyMessage {}),
            CommandRequest::Send => message.send = Some(EmptyMessage {}),
            CommandRequest::Rpc => message.rpc = Some(EmptyMessage {}),
            CommandRequest::Refresh(request) => message.refresh = Some(request),
            CommandRequest::SubRefresh(request) => message.sub_refresh = Some(request),
            CommandRequest::Pong | CommandRequest::Unknown => {}
        }
        message
    }
}

impl CommandRequest {
    fn request_from_message(message: CommandMessage) -> Self {
        let of = |empty: Option<EmptyMessage>, request: Self| empty.map(|_| request);
        let request = message.connect.map(Self::Connect);
        let request = request.or(message.subscribe.map(Self::Subscribe));
        let request = request.or(message.unsubscribe.map(Self::Unsubscribe));
        let request = request.or(message.publish.map(Self::Publish));
        let request = request.or(message.presence.map(Self::Presence));
        let request = request.or(message.presence_stats.map(Self::PresenceStats));
        let request = request.or(message.history.map(Self::History));
        let request = request.or(of(message.ping, Self::Ping));
        let request = request.or(of(message.send, Self::Send));
        let request = request.or(of(message.rpc, Self::Rpc));
        let request = request.or(message.refresh.map(Self::Refresh));
        let request = request.or(message.sub_refresh.map(Self::SubRefresh));
        request.unwrap_or(Self::Unknown)
    }
}
