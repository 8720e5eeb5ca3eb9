//! The client's end of a WebSocket connection.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};

use bytes::BytesMut;
use lineside_wire::websocket::frame::{self, Opcode};
use lineside_wire::websocket::{
    EndpointRole, Inflater, MESSAGE_BYTES_MAX, WebSocketEvent, WebSocketReader,
};
use serde_json::{Value, json};

use crate::stage::ClientSocket;

pub(crate) struct Peer {
    pub(crate) socket: ClientSocket,
    reader: WebSocketReader,
    inflater: Inflater,
    /// Messages that have arrived but were not read.
    messages: VecDeque<Value>,
    /// The code that the server closed with.
    pub(crate) closed: Option<u16>,
    is_at_end: bool,
    id: u32,
}

impl Peer {
    pub(crate) fn new(socket: ClientSocket) -> Self {
        let reader = WebSocketReader::new(EndpointRole::Client, 2 * MESSAGE_BYTES_MAX, false);
        let inflater = Inflater::default();
        let messages = VecDeque::new();
        Self { socket, reader, inflater, messages, closed: None, is_at_end: false, id: 0 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut bytes = BytesMut::new();
        frame::write_masked_frame(
            &mut bytes,
            Opcode::Text,
            false,
            message.to_string().as_bytes(),
            [7; 4],
        );
        self.socket.write_all(&bytes).expect("a writable socket");
    }

    fn ask(&mut self, mut command: Value) -> Value {
        self.id += 1;
        command["id"] = self.id.into();
        self.send(&command);
        loop {
            let message = self.next().expect("a reply");
            if message["id"] == self.id {
                return message;
            }
        }
    }

    pub(crate) fn connect(&mut self) {
        let reply = self.ask(json!({"connect": {}}));
        assert!(reply["connect"]["client"].is_string(), "{reply}");
    }

    /// Subscribes to a channel, and reads the state.
    pub(crate) fn subscribe(&mut self, channel: &str) {
        let reply = self.ask(json!({"subscribe": {"channel": channel}}));
        assert_eq!(reply["subscribe"]["recoverable"], true, "{reply}");
        loop {
            let data = self.next_data();
            if data["state"]["part"] == data["state"]["parts"] {
                return;
            }
        }
    }

    /// Returns the next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        while self.messages.is_empty() && !self.is_at_end {
            let mut bytes = vec![0; 1 << 16];
            let n = match self.socket.read(&mut bytes) {
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                Err(error) => panic!("no message arrived: {error}"),
            };
            self.is_at_end = n == 0;
            self.take(&mut bytes[..n]);
        }
        self.messages.pop_front()
    }

    fn take(&mut self, mut bytes: &mut [u8]) {
        while let Some(event) = self.reader.next_event(&mut bytes, &mut self.inflater) {
            match event.expect("a valid frame") {
                WebSocketEvent::Text(text) => {
                    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
                    self.messages.extend(lines);
                }
                WebSocketEvent::Close { code, .. } => self.closed = code,
                other => panic!("unexpected message: {other:?}"),
            }
        }
    }

    /// Returns the next push's data; skips other messages.
    pub(crate) fn next_data(&mut self) -> Value {
        loop {
            let mut message = self.next().expect("a publication");
            if message["push"]["pub"].is_object() {
                return message["push"]["pub"]["data"].take();
            }
        }
    }

    /// Returns the next publication's offset.
    pub(crate) fn next_offset(&mut self) -> u64 {
        loop {
            let message = self.next().expect("a publication");
            if let Some(offset) = message["push"]["pub"]["offset"].as_u64() {
                return offset;
            }
        }
    }

    /// Reads to the end; returns the server's close code.
    pub(crate) fn end(&mut self) -> Option<u16> {
        while self.next().is_some() {}
        self.closed
    }
}
