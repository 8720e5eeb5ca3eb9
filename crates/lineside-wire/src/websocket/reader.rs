//! Incoming frames of one connection, in pieces as the socket delivers them.
//!
//! A message that is complete in the input is unmasked in place and borrowed. Only incomplete input is buffered, in a
//! box that is freed as soon as it is empty: an idle connection costs only the reader. The buffer grows with the bytes
//! received, never with the length that a frame announces.

use std::borrow::Cow;
use std::io::Cursor;
use std::mem;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

use super::deflate::grow_buffer;
use super::frame::{HEAD_BYTES_MAX, apply_mask, frame_head_size as frame_head_bytes};
use super::{CONTROL_BYTES_MAX, EndpointRole, Inflater};

/// The largest number of frames in one message. Each frame must be processed, even an empty one.
const MESSAGE_FRAMES_MAX: usize = 4_096;

/// An event in a connection's input. Borrowed if the message was complete in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebSocketEvent<'a> {
    /// A text message.
    Text(Cow<'a, str>),
    /// A binary message.
    Binary(Cow<'a, [u8]>),
    /// A ping, which needs a pong with equal payload.
    Ping(Cow<'a, [u8]>),
    /// The reply to a ping.
    Pong(Cow<'a, [u8]>),
    /// The other side ends the connection; nothing after it is read.
    Close {
        /// The close code, if it has one.
        code: Option<u16>,
        /// The reason; often empty.
        reason: Cow<'a, str>,
    },
}

/// The reason why a connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketReadError {
    /// The bytes break a rule of the protocol.
    #[error("{0}")]
    Protocol(&'static str),
    /// A text message is not UTF-8.
    #[error("the text message is not UTF-8")]
    NotUtf8,
    /// A message that is marked as compressed is not.
    #[error("the compressed message is corrupt")]
    NotDeflated,
    /// A message exceeds the size limit.
    #[error("the message is too large")]
    TooLarge,
}

impl WebSocketReadError {
    /// Returns the close code (RFC 6455 §7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            Self::Protocol(_) => 1002,
            Self::NotUtf8 | Self::NotDeflated => 1007,
            Self::TooLarge => 1009,
        }
    }
}

/// A reader of one connection's frames.
#[derive(Debug)]
pub struct WebSocketReader {
    role: EndpointRole,
    deflate: bool,
    /// True once nothing more is read.
    done: bool,
    message_bytes_max: usize,
    partial: Option<Box<PartialInput>>,
}

/// Incomplete input.
#[derive(Debug, Default)]
struct PartialInput {
    head: [u8; HEAD_BYTES_MAX],
    head_bytes: usize,
    frame: Option<IncomingFrame>,
    /// The payload of a control frame. Bound: [`CONTROL_BYTES_MAX`].
    control: Vec<u8>,
    message: Option<PartialMessage>,
}

/// The frame whose payload comes next.
#[derive(Debug)]
struct IncomingFrame {
    opcode: OpCode,
    is_final: bool,
    compressed: bool,
    mask: Option<[u8; 4]>,
    length: usize,
    taken: usize,
}

/// An incomplete message. Bound: `WebSocketReader::message_bytes_max`.
#[derive(Debug)]
struct PartialMessage {
    text: bool,
    compressed: bool,
    payload: Vec<u8>,
    /// The number of completed frames.
    n_frames: usize,
}

impl WebSocketReader {
    /// Creates a reader for messages of at most `message_bytes_max` bytes; accepts compressed ones only if `deflate`
    /// was negotiated.
    pub fn new(role: EndpointRole, message_bytes_max: usize, deflate: bool) -> Self {
        Self { role, deflate, done: false, message_bytes_max, partial: None }
    }

    /// Returns the next event in `input`, and advances `input` past it; unmasks in place. Returns `None` when all of
    /// `input` is consumed. After an error or a close, all input is skipped.
    pub fn next_event<'a>(
        &mut self,
        input: &mut &'a mut [u8],
        inflater: &mut Inflater,
    ) -> Option<Result<WebSocketEvent<'a>, WebSocketReadError>> {
        if self.done {
            *input = &mut [];
            return None;
        }
        let result = self.read_next_frame(input, inflater).transpose();
        if self.partial.as_ref().is_some_and(|partial| partial.is_empty()) {
            self.partial = None;
        }
        if matches!(result, Some(Err(_) | Ok(WebSocketEvent::Close { .. }))) {
            self.done = true;
            self.partial = None;
        }
        result
    }

    /// Returns true if there is no incomplete input. A peer that leaves input incomplete for long occupies memory.
    pub fn is_between_messages(&self) -> bool {
        self.partial.is_none()
    }

    /// Returns the bytes of memory for incomplete input.
    pub fn partial_input_memory(&self) -> usize {
        let partial_bytes = |partial: &PartialInput| {
            let message = partial.message.as_ref().map_or(0, |it| it.payload.capacity());
            mem::size_of::<PartialInput>() + partial.control.capacity() + message
        };
        self.partial.as_deref().map_or(0, partial_bytes)
    }

    fn read_next_frame<'a>(
        &mut self,
        input: &mut &'a mut [u8],
        inflater: &mut Inflater,
    ) -> Result<Option<WebSocketEvent<'a>>, WebSocketReadError> {
        loop {
            let started_frame = self.partial.as_mut().and_then(|partial| partial.frame.take());
            let frame = match started_frame {
                Some(frame) => frame,
                None => match self.read_frame_head(input)? {
                    Some(frame) => frame,
                    None => return Ok(None),
                },
            };
            if frame.is_control() {
                return match self.take_control_payload(frame, input) {
                    Some((opcode, payload)) => control_event(opcode, payload).map(Some),
                    None => Ok(None),
                };
            }
            match self.take_data_payload(frame, input) {
                DataFrameOutcome::Message { text, compressed, payload } => {
                    return self
                        .decode_message_event(text, compressed, payload, inflater)
                        .map(Some);
                }
                DataFrameOutcome::Fragment => {}
                DataFrameOutcome::Incomplete => return Ok(None),
            }
        }
    }

    /// Reads the next frame's head; returns `None` if it is incomplete.
    fn read_frame_head(
        &mut self,
        input: &mut &mut [u8],
    ) -> Result<Option<IncomingFrame>, WebSocketReadError> {
        let buffered_bytes = self.partial.as_ref().map_or(0, |partial| partial.head_bytes);
        if input.is_empty() {
            return Ok(None);
        }
        let mut head = [0; HEAD_BYTES_MAX];
        if let Some(partial) = &self.partial {
            head[..buffered_bytes].copy_from_slice(&partial.head[..buffered_bytes]);
        }
        let fresh = input.len().min(HEAD_BYTES_MAX - buffered_bytes);
        head[buffered_bytes..buffered_bytes + fresh].copy_from_slice(&input[..fresh]);
        let mut cursor = Cursor::new(&head[..buffered_bytes + fresh]);
        let parsed = FrameHeader::parse(&mut cursor)
            .map_err(|_| WebSocketReadError::Protocol("the opcode is reserved"))?;
        let Some((header, length)) = parsed else {
            let partial = self.partial.get_or_insert_default();
            partial.head = head;
            partial.head_bytes = buffered_bytes + fresh;
            skip_bytes(input, fresh);
            return Ok(None);
        };
        let head_bytes = usize::try_from(cursor.position()).unwrap_or(HEAD_BYTES_MAX);
        skip_bytes(input, head_bytes.saturating_sub(buffered_bytes));
        if let Some(partial) = &mut self.partial {
            partial.head_bytes = 0;
        }
        // RFC 6455, section 5.2: the length must use the shortest encoding.
        let shortest = frame_head_bytes(usize::try_from(length).unwrap_or(usize::MAX));
        if head_bytes != shortest + header.mask.map_or(0, |mask| mask.len()) {
            return Err(WebSocketReadError::Protocol(
                "the payload length is not minimally encoded",
            ));
        }
        self.check_frame_header(&header, length).map(Some)
    }

    fn check_frame_header(
        &self,
        header: &FrameHeader,
        length: u64,
    ) -> Result<IncomingFrame, WebSocketReadError> {
        let message = self.partial.as_ref().and_then(|partial| partial.message.as_ref());
        let wants_mask = self.role == EndpointRole::Server;
        if header.mask.is_some() != wants_mask {
            return Err(WebSocketReadError::Protocol(if wants_mask {
                "the client frame is not masked"
            } else {
                "the server frame is masked"
            }));
        }
        if header.rsv2 || header.rsv3 || header.rsv1 && !self.deflate {
            return Err(WebSocketReadError::Protocol("a reserved bit is set"));
        }
        let before = match header.opcode {
            OpCode::Control(_) => {
                if !header.is_final || header.rsv1 || length > CONTROL_BYTES_MAX as u64 {
                    return Err(WebSocketReadError::Protocol(
                        "the control frame is fragmented or longer than 125 bytes",
                    ));
                }
                0
            }
            OpCode::Data(Data::Continue) => {
                let Some(message) = message else {
                    return Err(WebSocketReadError::Protocol(
                        "the continuation frame has no message to continue",
                    ));
                };
                if header.rsv1 {
                    return Err(WebSocketReadError::Protocol("a reserved bit is set"));
                }
                if message.n_frames >= MESSAGE_FRAMES_MAX {
                    return Err(WebSocketReadError::TooLarge);
                }
                message.payload.len()
            }
            OpCode::Data(_) if message.is_some() => {
                return Err(WebSocketReadError::Protocol(
                    "a new message begins before the previous one ended",
                ));
            }
            OpCode::Data(_) => 0,
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let is_control = matches!(header.opcode, OpCode::Control(_));
        if !is_control && before.saturating_add(length) > self.message_bytes_max {
            return Err(WebSocketReadError::TooLarge);
        }
        Ok(IncomingFrame {
            opcode: header.opcode,
            is_final: header.is_final,
            compressed: header.rsv1,
            mask: header.mask,
            length,
            taken: 0,
        })
    }

    fn take_control_payload<'a>(
        &mut self,
        mut frame: IncomingFrame,
        input: &mut &'a mut [u8],
    ) -> Option<(OpCode, Cow<'a, [u8]>)> {
        if frame.taken == 0 && input.len() >= frame.length {
            return Some((frame.opcode, Cow::Borrowed(frame.take_unmasked_payload(input))));
        }
        let piece = frame.take_unmasked_payload(input);
        let partial = self.partial.get_or_insert_default();
        partial.control.extend_from_slice(piece);
        if frame.is_complete() {
            return Some((frame.opcode, Cow::Owned(mem::take(&mut partial.control))));
        }
        partial.frame = Some(frame);
        None
    }

    fn take_data_payload<'a>(
        &mut self,
        mut frame: IncomingFrame,
        input: &mut &'a mut [u8],
    ) -> DataFrameOutcome<'a> {
        let text = matches!(frame.opcode, OpCode::Data(Data::Text));
        let compressed = frame.compressed;
        let is_new_message = self.partial.as_ref().is_none_or(|partial| partial.message.is_none());
        if is_new_message && frame.is_final && input.len() >= frame.length {
            let payload = Cow::Borrowed(frame.take_unmasked_payload(input));
            return DataFrameOutcome::Message { text, compressed, payload };
        }
        let bytes_max = self.message_bytes_max;
        let partial = self.partial.get_or_insert_default();
        let mut message = partial.message.take().unwrap_or_else(|| PartialMessage {
            text,
            compressed,
            payload: Vec::new(),
            n_frames: 0,
        });
        let piece = frame.take_unmasked_payload(input);
        let (payload_bytes, bytes) = (message.payload.len(), message.payload.len() + piece.len());
        if bytes > message.payload.capacity() {
            grow_buffer(&mut message.payload, bytes.max(payload_bytes * 2), bytes_max);
        }
        message.payload.extend_from_slice(piece);
        if frame.is_complete() && frame.is_final {
            let PartialMessage { text, compressed, payload, .. } = message;
            return DataFrameOutcome::Message { text, compressed, payload: Cow::Owned(payload) };
        }
        message.n_frames += usize::from(frame.is_complete());
        partial.message = Some(message);
        if frame.is_complete() {
            return DataFrameOutcome::Fragment;
        }
        partial.frame = Some(frame);
        DataFrameOutcome::Incomplete
    }

    fn decode_message_event<'a>(
        &self,
        text: bool,
        compressed: bool,
        mut payload: Cow<'a, [u8]>,
        inflater: &mut Inflater,
    ) -> Result<WebSocketEvent<'a>, WebSocketReadError> {
        if compressed {
            payload = Cow::Owned(inflater.inflate_message(&payload, self.message_bytes_max)?);
        }
        Ok(if text {
            WebSocketEvent::Text(parse_utf8(payload)?)
        } else {
            WebSocketEvent::Binary(payload)
        })
    }
}

enum DataFrameOutcome<'a> {
    /// The last frame of a message, with the whole message.
    Message { text: bool, compressed: bool, payload: Cow<'a, [u8]> },
    /// A frame with others to follow.
    Fragment,
    /// All input was consumed, and the frame is incomplete.
    Incomplete,
}

impl PartialInput {
    fn is_empty(&self) -> bool {
        self.head_bytes == 0 && self.frame.is_none() && self.message.is_none()
    }
}

impl IncomingFrame {
    fn is_control(&self) -> bool {
        matches!(self.opcode, OpCode::Control(_))
    }

    fn is_complete(&self) -> bool {
        self.taken == self.length
    }

    /// Returns the part of the payload in `input`, unmasked.
    fn take_unmasked_payload<'a>(&mut self, input: &mut &'a mut [u8]) -> &'a [u8] {
        let bytes = input.len().min(self.length - self.taken);
        let (piece, rest) = mem::take(input).split_at_mut(bytes);
        *input = rest;
        if let Some(mask) = self.mask {
            apply_mask(piece, mask, self.taken);
        }
        self.taken += bytes;
        piece
    }
}

fn skip_bytes(input: &mut &mut [u8], bytes: usize) {
    *input = &mut mem::take(input)[bytes..];
}

fn parse_utf8(payload: Cow<'_, [u8]>) -> Result<Cow<'_, str>, WebSocketReadError> {
    match payload {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).map(Cow::Borrowed).ok(),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).ok(),
    }
    .ok_or(WebSocketReadError::NotUtf8)
}

fn control_event(
    opcode: OpCode,
    payload: Cow<'_, [u8]>,
) -> Result<WebSocketEvent<'_>, WebSocketReadError> {
    match opcode {
        OpCode::Control(Control::Ping) => Ok(WebSocketEvent::Ping(payload)),
        OpCode::Control(Control::Close) => close_event(payload),
        _ => Ok(WebSocketEvent::Pong(payload)),
    }
}

fn close_event(payload: Cow<'_, [u8]>) -> Result<WebSocketEvent<'_>, WebSocketReadError> {
    let code = match *payload {
        [] => return Ok(WebSocketEvent::Close { code: None, reason: Cow::Borrowed("") }),
        [high, low, ..] => u16::from_be_bytes([high, low]),
        [_] => return Err(WebSocketReadError::Protocol("the close code has only one byte")),
    };
    if !CloseCode::from(code).is_allowed() {
        return Err(WebSocketReadError::Protocol("the close code must not be sent"));
    }
    let reason = match payload {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[2..]),
        Cow::Owned(mut bytes) => Cow::Owned(bytes.split_off(2)),
    };
    Ok(WebSocketEvent::Close { code: Some(code), reason: parse_utf8(reason)? })
}
