//! A client over WebSocket frames: what a partition's row holds beside its socket.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use lineside_hub::Runs;

use super::codes;
use super::{Client, Close, Flow};
use crate::websocket::{Deflater, Event, Inflater, Reader, Role, frame};

/// How long a message may take from its first byte to its last.
pub const MESSAGE_WITHIN: Duration = Duration::from_secs(30);

/// The close code for an end without a reason (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// What the connections of a thread share.
#[derive(Debug, Default)]
pub struct Codecs {
    /// What was sent last, for those who are sent the same.
    pub runs: Runs,
    /// Compresses.
    pub deflater: Deflater,
    /// Reads what is compressed.
    pub inflater: Inflater,
}

/// One connection, without its socket.
#[derive(Debug)]
pub struct Connection {
    client: Client,
    reader: Reader,
    /// Received and not yet read, while the client waits. Bound: what was received at once.
    rest: Vec<u8>,
    /// Since when a message has begun and not ended.
    begun: Option<Duration>,
}

impl Connection {
    /// A connection that has just been opened. `deflate` as the client was made with.
    pub fn new(client: Client, deflate: bool) -> Self {
        let reader = Reader::new(Role::Server, client.limits().message_bytes_max, deflate);
        Self { client, reader, rest: Vec::new(), begun: None }
    }

    /// The protocol's side of it: deliveries are pulled there.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The same, to look at.
    pub fn as_client(&self) -> &Client {
        &self.client
    }

    /// Takes what the socket gave; replies are added to `out`. Not to be called again before it was resumed, where
    /// that is wanted.
    pub fn receive(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut Codecs,
        out: &mut VecDeque<Bytes>,
    ) -> Flow {
        let flow = self.read(bytes, now, codecs, out);
        // While the connection waits for us it is not the other side that is slow.
        let waits_for_more = flow == Flow::Ready && !self.reader.is_idle();
        self.begun = if waits_for_more { self.begun.or(Some(now)) } else { None };
        flow
    }

    /// Goes on where [`receive`](Self::receive) or this stopped short.
    pub fn resume(
        &mut self,
        now: Duration,
        codecs: &mut Codecs,
        out: &mut VecDeque<Bytes>,
    ) -> Flow {
        match self.client.resume(now, &mut codecs.deflater, out) {
            Flow::Ready => {
                let mut rest = mem::take(&mut self.rest);
                self.receive(&mut rest, now, codecs, out)
            }
            flow => flow,
        }
    }

    /// When something is due that [`look_in`](Self::look_in) sees to.
    pub fn next_due(&self) -> Option<Duration> {
        let message = self.begun.map(|begun| begun + MESSAGE_WITHIN);
        self.client.next_due().into_iter().chain(message).min()
    }

    /// Sees to what is due; says so where that ends the connection.
    pub fn look_in(&mut self, now: Duration, out: &mut VecDeque<Bytes>) -> Option<Close> {
        if self.begun.is_some_and(|begun| begun + MESSAGE_WITHIN <= now) {
            return Some(Close::from(&codes::BAD_MESSAGE));
        }
        self.client.look_in(now, out)
    }

    fn read(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut Codecs,
        out: &mut VecDeque<Bytes>,
    ) -> Flow {
        let mut input = bytes;
        while let Some(event) = self.reader.read(&mut input, &mut codecs.inflater) {
            // What comes next has a beginning of its own; a ping may come in the middle of a message.
            if let Ok(Event::Text(_) | Event::Binary(_)) = event {
                self.begun = None;
            }
            let flow = match event {
                Ok(event) => self.take(event, now, &mut codecs.deflater, out),
                Err(error) => Flow::Close(error.into()),
            };
            if flow != Flow::Ready {
                self.rest = input.to_vec();
                return flow;
            }
        }
        Flow::Ready
    }

    fn take(
        &mut self,
        event: Event<'_>,
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> Flow {
        match event {
            Event::Text(text) => self.client.receive(text.as_bytes(), now, deflater, out),
            Event::Binary(bytes) => self.client.receive(&bytes, now, deflater, out),
            Event::Ping(payload) => {
                if let Err(close) = self.client.charge(payload.len(), now) {
                    return Flow::Close(close);
                }
                let mut pong = BytesMut::with_capacity(payload.len() + 2);
                frame::write_pong(&mut pong, &payload);
                out.push_back(pong.freeze());
                Flow::Ready
            }
            Event::Pong(payload) => match self.client.charge(payload.len(), now) {
                Ok(()) => Flow::Ready,
                Err(close) => Flow::Close(close),
            },
            // It is told its own code back (RFC 6455 §5.5.1).
            Event::Close { code, .. } => {
                Flow::Close(Close { code: code.unwrap_or(NORMAL), reason: "".into() })
            }
        }
    }
}
