//! An event stream as the transport of a partition's connection.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Session;

use super::{LastEventId, SseConnection, SseSubscriber};
use crate::close_reason::ConnectionCloseReason;
use crate::partition::{
    ConnectionEnding, OpenedTransport, ReceiveStep, Transport, TransportOpening, TransportRequest,
};
use crate::thread_codecs::ThreadCodecs;

/// A request for server-sent events of these channels, which [`check_channels_exist`](super::check_channels_exist) has
/// accepted.
#[derive(Debug)]
pub struct SseRequest {
    /// The channels as named in the request.
    pub channels: Vec<Box<str>>,
    /// The header as the client sent it.
    pub last_event_id: Option<Box<str>>,
    pub reader: SseSubscriber,
}

impl TransportRequest for SseRequest {
    fn open_transport(&self, opening: TransportOpening<'_>) -> Option<OpenedTransport> {
        let last = LastEventId::parse_header(self.last_event_id.as_deref().unwrap_or_default());
        let (connection, first) =
            SseConnection::open_connection(opening, &self.channels, &last, &self.reader).ok()?;
        Some(OpenedTransport { transport: Box::new(connection), first })
    }
}

/// The bytes that a client may send after its request: some clients send the next request although it is never
/// answered.
const INPUT_BYTES_MAX: usize = 64 << 10;

impl Transport for SseConnection {
    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn next_message(&mut self, into: &mut Vec<Bytes>, codecs: &mut ThreadCodecs) -> bool {
        self.next_event(into, &mut codecs.runs)
    }

    fn own_ending(&self) -> Option<ConnectionEnding> {
        // The stream has already sent the reason.
        self.close_reason().map(|why| ConnectionEnding { why, last: None })
    }

    fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        _now: Duration,
        _codecs: &mut ThreadCodecs,
        _out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        // Input after the request is ignored: the connection ends with the stream.
        self.bytes_received = self.bytes_received.saturating_add(bytes.len());
        if self.bytes_received <= INPUT_BYTES_MAX {
            ReceiveStep::Ready
        } else {
            ReceiveStep::End(ConnectionEnding { why: ConnectionCloseReason::Flood, last: None })
        }
    }

    fn write_ping(&mut self, _now: Duration, out: &mut VecDeque<Bytes>) {
        out.push_back(self.next_heartbeat());
    }

    fn handle_due(
        &mut self,
        now: Duration,
        _out: &mut VecDeque<Bytes>,
    ) -> Option<ConnectionEnding> {
        self.close_if_expired(now)
            .map(|last| ConnectionEnding { why: ConnectionCloseReason::Expired, last: Some(last) })
    }

    fn next_due(&self) -> Option<Duration> {
        self.expires_at()
    }
}
