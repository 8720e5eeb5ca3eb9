//! A client over WebSocket frames: what a partition's row holds beside its socket.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use lineside_hub::RunCache;

use super::codes;
use super::{ClientHandler, ConnectionClose, ReceiveOutcome};
use crate::websocket::{Deflater, EndpointRole, Inflater, WebSocketEvent, WebSocketReader, frame};

/// How long a message may take from its first byte to its last.
pub const MESSAGE_WITHIN: Duration = Duration::from_secs(30);

/// The close code for an end without a reason (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// What the connections of a thread share.
#[derive(Debug, Default)]
pub struct ThreadCodecs {
    /// What was sent last, for those who are sent the same.
    pub runs: RunCache,
    /// Compresses.
    pub deflater: Deflater,
    /// Reads what is compressed.
    pub inflater: Inflater,
}

/// One connection, without its socket.
#[derive(Debug)]
pub struct CentrifugeConnection {
    client: ClientHandler,
    reader: WebSocketReader,
    /// Received and not yet read, while the client waits. Bound: what was received at once.
    rest: Vec<u8>,
    /// Since when a message has begun and not ended.
    begun: Option<Duration>,
}

impl CentrifugeConnection {
    /// A connection that has just been opened. `deflate` as the client was made with.
    pub fn new(client: ClientHandler, deflate: bool) -> Self {
        let reader = WebSocketReader::new(
            EndpointRole::Server,
            client.client_limits().message_bytes_max,
            deflate,
        );
        Self { client, reader, rest: Vec::new(), begun: None }
    }

    /// The protocol's side of it: deliveries are pulled there.
    pub fn client(&mut self) -> &mut ClientHandler {
        &mut self.client
    }

    /// The same, to look at.
    pub fn as_client(&self) -> &ClientHandler {
        &self.client
    }

    /// Takes what the socket gave; replies are added to `out`. Not to be called again before it was resumed, where
    /// that is wanted.
    pub fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let flow = self.read_events(bytes, now, codecs, out);
        // While the connection waits for us it is not the other side that is slow.
        let waits_for_more = flow == ReceiveOutcome::Ready && !self.reader.is_between_messages();
        self.begun = if waits_for_more { self.begun.or(Some(now)) } else { None };
        flow
    }

    /// Goes on where [`receive`](Self::receive_bytes) or this stopped short.
    pub fn resume_receiving(
        &mut self,
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        match self.client.resume_commands(now, &mut codecs.deflater, out) {
            ReceiveOutcome::Ready => {
                let mut rest = mem::take(&mut self.rest);
                self.receive_bytes(&mut rest, now, codecs, out)
            }
            flow => flow,
        }
    }

    /// When something is due that [`look_in`](Self::handle_due) sees to.
    pub fn next_due(&self) -> Option<Duration> {
        let message = self.begun.map(|begun| begun + MESSAGE_WITHIN);
        self.client.next_due().into_iter().chain(message).min()
    }

    /// Sees to what is due; says so where that ends the connection.
    pub fn handle_due(
        &mut self,
        now: Duration,
        out: &mut VecDeque<Bytes>,
    ) -> Option<ConnectionClose> {
        if self.begun.is_some_and(|begun| begun + MESSAGE_WITHIN <= now) {
            return Some(ConnectionClose::from(&codes::BAD_MESSAGE));
        }
        self.client.handle_due(now, out)
    }

    fn read_events(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let mut input = bytes;
        while let Some(event) = self.reader.next_event(&mut input, &mut codecs.inflater) {
            // What comes next has a beginning of its own; a ping may come in the middle of a message.
            if let Ok(WebSocketEvent::Text(_) | WebSocketEvent::Binary(_)) = event {
                self.begun = None;
            }
            let flow = match event {
                Ok(event) => self.handle_event(event, now, &mut codecs.deflater, out),
                Err(error) => ReceiveOutcome::Close(error.into()),
            };
            if flow != ReceiveOutcome::Ready {
                self.rest = input.to_vec();
                return flow;
            }
        }
        ReceiveOutcome::Ready
    }

    fn handle_event(
        &mut self,
        event: WebSocketEvent<'_>,
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        match event {
            WebSocketEvent::Text(text) => {
                self.client.receive_message(text.as_bytes(), now, deflater, out)
            }
            WebSocketEvent::Binary(bytes) => {
                self.client.receive_message(&bytes, now, deflater, out)
            }
            WebSocketEvent::Ping(payload) => {
                if let Err(close) = self.client.charge_input(payload.len(), now) {
                    return ReceiveOutcome::Close(close);
                }
                let mut pong = BytesMut::with_capacity(payload.len() + 2);
                frame::write_pong(&mut pong, &payload);
                out.push_back(pong.freeze());
                ReceiveOutcome::Ready
            }
            WebSocketEvent::Pong(payload) => match self.client.charge_input(payload.len(), now) {
                Ok(()) => ReceiveOutcome::Ready,
                Err(close) => ReceiveOutcome::Close(close),
            },
            // It is told its own code back (RFC 6455 §5.5.1).
            WebSocketEvent::Close { code, .. } => ReceiveOutcome::Close(ConnectionClose {
                code: code.unwrap_or(NORMAL),
                reason: "".into(),
            }),
        }
    }
}
