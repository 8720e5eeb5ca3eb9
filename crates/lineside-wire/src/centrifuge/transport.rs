//! The Centrifuge protocol over WebSocket as the transport of a partition's connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Session;

use super::{
    CentrifugeConnection, CentrifugeService, ClientHandler, ConnectionClose, ProtocolFormat,
    ReceiveOutcome,
};
use crate::close_reason::ConnectionCloseReason;
use crate::codes::{self, DisconnectCode};
use crate::partition::{
    ConnectionEnding, OpenedTransport, ReceiveStep, Transport, TransportOpening, TransportRequest,
};
use crate::thread_codecs::ThreadCodecs;

/// A request for the Centrifuge protocol over WebSocket; the head of the reply says 101.
#[derive(Debug)]
pub struct WebSocketRequest {
    /// The service of all connections.
    pub service: Arc<CentrifugeService>,
    /// The format of messages.
    pub format: ProtocolFormat,
    /// True if messages may be compressed.
    pub deflate: bool,
}

impl TransportRequest for WebSocketRequest {
    fn open_transport(&self, opening: TransportOpening<'_>) -> Option<OpenedTransport> {
        let Self { service, format, deflate } = self;
        let session = opening.open_session(service.limits.session);
        let id = opening.rng.u128(..);
        let client =
            ClientHandler::new(service.clone(), session, *format, *deflate, id, opening.now);
        let connection = CentrifugeConnection::new(client, *deflate);
        Some(OpenedTransport { transport: Box::new(connection), first: Bytes::new() })
    }
}

// `Self::` names the methods of the type, not those of the trait with equal names.
impl Transport for CentrifugeConnection {
    fn session(&mut self) -> &mut Session {
        self.client().session()
    }

    fn next_message(&mut self, into: &mut Vec<Bytes>, codecs: &mut ThreadCodecs) -> bool {
        self.client().next_delivery_frames(into, codecs)
    }

    fn own_ending(&self) -> Option<ConnectionEnding> {
        self.as_client().pending_close().map(ending_from_close)
    }

    fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        step_from_outcome(Self::receive_bytes(self, bytes, now, codecs, out))
    }

    fn write_ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        self.client().queue_ping(now, out);
    }

    fn handle_due(&mut self, now: Duration, out: &mut VecDeque<Bytes>) -> Option<ConnectionEnding> {
        Self::handle_due(self, now, out).map(|close| ending_from_close(&close))
    }

    fn next_due(&self) -> Option<Duration> {
        Self::next_due(self)
    }

    fn connection_id(&self) -> Option<&Arc<str>> {
        Some(self.as_client().client_id())
    }

    fn resume_receiving(
        &mut self,
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        step_from_outcome(Self::resume_receiving(self, now, codecs, out))
    }

    fn closing_message(&self, why: ConnectionCloseReason) -> Option<Bytes> {
        Some(ConnectionClose::from(disconnect_for_reason(why)).encoded_close_frame())
    }

    fn waits_for_peer_close(&self, why: ConnectionCloseReason) -> bool {
        why != ConnectionCloseReason::Client
    }
}

fn step_from_outcome(flow: ReceiveOutcome) -> ReceiveStep {
    match flow {
        ReceiveOutcome::Ready => ReceiveStep::Ready,
        ReceiveOutcome::Full => ReceiveStep::WhenDrained,
        ReceiveOutcome::Check(token) => ReceiveStep::WhenChecked(token),
        ReceiveOutcome::Close(close) => ReceiveStep::End(ending_from_close(&close)),
    }
}

fn ending_from_close(close: &ConnectionClose) -> ConnectionEnding {
    ConnectionEnding { why: reason_from_code(close.code), last: Some(close.encoded_close_frame()) }
}

fn reason_from_code(code: u16) -> ConnectionCloseReason {
    let is = |disconnect: &DisconnectCode| code == disconnect.code;
    match code {
        _ if is(&codes::SHUTDOWN) => ConnectionCloseReason::Shutdown,
        _ if is(&codes::SLOW) => ConnectionCloseReason::Slow,
        _ if is(&codes::NO_PONG) => ConnectionCloseReason::NoPong,
        _ if is(&codes::FLOOD) => ConnectionCloseReason::Flood,
        _ if is(&codes::EXPIRED) => ConnectionCloseReason::Expired,
        _ if is(&codes::BAD_MESSAGE) => ConnectionCloseReason::Protocol,
        // The codes for broken WebSocket frames; clients leave with 1000 or 1001.
        1002..=1015 => ConnectionCloseReason::Protocol,
        1000..=1001 => ConnectionCloseReason::Client,
        _ => ConnectionCloseReason::Disconnected,
    }
}

/// Returns the close code that a client gets.
fn disconnect_for_reason(why: ConnectionCloseReason) -> &'static DisconnectCode {
    match why {
        ConnectionCloseReason::Shutdown | ConnectionCloseReason::Client => &codes::SHUTDOWN,
        ConnectionCloseReason::Slow => &codes::SLOW,
        ConnectionCloseReason::NoPong => &codes::NO_PONG,
        ConnectionCloseReason::Flood => &codes::FLOOD,
        ConnectionCloseReason::Expired => &codes::EXPIRED,
        ConnectionCloseReason::Protocol => &codes::BAD_MESSAGE,
        ConnectionCloseReason::Disconnected
        | ConnectionCloseReason::Changed
        | ConnectionCloseReason::Fault => &codes::CONNECTION_CLOSED,
    }
}
