//! A client over WebSocket frames: the state of a partition's row apart from its socket.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::{ClientHandler, ConnectionClose, ReceiveOutcome};
use crate::codes;
use crate::thread_codecs::ThreadCodecs;
use crate::websocket::{Deflater, EndpointRole, WebSocketEvent, WebSocketReader, frame};

/// The longest time from a message's first byte to its last.
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The close code for an end without a reason (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// One connection, without its socket.
#[derive(Debug)]
pub struct CentrifugeConnection {
    client: ClientHandler,
    reader: WebSocketReader,
    /// Received but unread bytes while the client waits. Bound: one receive buffer.
    rest: Vec<u8>,
    /// The time at which an unfinished message began.
    message_started_at: Option<Duration>,
}

impl CentrifugeConnection {
    /// Creates the state of a new connection. `deflate` must be the one that the client was created with.
    pub fn new(client: ClientHandler, deflate: bool) -> Self {
        let reader = WebSocketReader::new(
            EndpointRole::Server,
            client.client_limits().message_bytes_max,
            deflate,
        );
        Self { client, reader, rest: Vec::new(), message_started_at: None }
    }

    /// Returns the protocol handler, from which deliveries are pulled.
    pub fn client(&mut self) -> &mut ClientHandler {
        &mut self.client
    }

    /// Returns the protocol handler for reading.
    pub fn as_client(&self) -> &ClientHandler {
        &self.client
    }

    /// Processes bytes from the socket; adds replies to `out`. If the outcome asks for it, resume before the next
    /// call.
    pub fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let flow = self.read_events(bytes, now, codecs, out);
        // While the connection waits for the server, the client is not slow.
        let waits_for_more = flow == ReceiveOutcome::Ready && !self.reader.is_between_messages();
        self.message_started_at =
            if waits_for_more { self.message_started_at.or(Some(now)) } else { None };
        flow
    }

    /// Continues where [`receive_bytes`](Self::receive_bytes) or this method stopped.
    pub fn resume_receiving(
        &mut self,
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        match self.client.resume_deferred_commands(now, &mut codecs.deflater, out) {
            ReceiveOutcome::Ready => {
                let mut rest = mem::take(&mut self.rest);
                self.receive_bytes(&mut rest, now, codecs, out)
            }
            flow => flow,
        }
    }

    /// Returns the next time at which [`handle_due`](Self::handle_due) must be called.
    pub fn next_due(&self) -> Option<Duration> {
        let message = self.message_started_at.map(|begun| begun + MESSAGE_TIMEOUT);
        self.client.next_deadline().into_iter().chain(message).min()
    }

    /// Handles due events; returns the reason if they end the connection.
    pub fn handle_due(
        &mut self,
        now: Duration,
        out: &mut VecDeque<Bytes>,
    ) -> Option<ConnectionClose> {
        if self.message_started_at.is_some_and(|begun| begun + MESSAGE_TIMEOUT <= now) {
            return Some(ConnectionClose::from(&codes::BAD_MESSAGE));
        }
        self.client.handle_passed_deadlines(now, out)
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
            // The next message has its own start time; a ping may come in the middle of a message.
            if let Ok(WebSocketEvent::Text(_) | WebSocketEvent::Binary(_)) = event {
                self.message_started_at = None;
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
                if let Err(close) = self.client.count_input_within_limit(payload.len(), now) {
                    return ReceiveOutcome::Close(close);
                }
                let mut pong = BytesMut::with_capacity(payload.len() + 2);
                frame::write_pong_frame(&mut pong, &payload);
                out.push_back(pong.freeze());
                ReceiveOutcome::Ready
            }
            WebSocketEvent::Pong(payload) => {
                match self.client.count_input_within_limit(payload.len(), now) {
                    Ok(()) => ReceiveOutcome::Ready,
                    Err(close) => ReceiveOutcome::Close(close),
                }
            }
            // Echoes the client's close code (RFC 6455 §5.5.1).
            WebSocketEvent::Close { code, .. } => ReceiveOutcome::Close(ConnectionClose {
                code: code.unwrap_or(NORMAL),
                reason: "".into(),
            }),
        }
    }
}
