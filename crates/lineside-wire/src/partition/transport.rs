//! The transport of a connection: the protocol over its socket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Session;

use crate::centrifuge::{CentrifugeConnection, ConnectionClose, ReceiveOutcome, ThreadCodecs};
use crate::close_reason::CloseReason;
use crate::codes::{self, DisconnectCode};
use crate::sse::SseConnection;

/// A connection's protocol.
#[derive(Debug)]
pub(super) enum ConnectionTransport {
    Sse(SseConnection),
    WebSocket(Box<CentrifugeConnection>),
}

/// The end of a connection: the reason and the last output.
#[derive(Debug)]
pub(super) struct ConnectionEnding {
    pub(super) why: CloseReason,
    pub(super) last: Option<Bytes>,
}

/// The next step after input was processed. Not `Debug`, because it may contain a token.
pub(super) enum ReceiveStep {
    /// More input may be received.
    Ready,
    /// Nothing may be received until the socket has accepted the replies and the connection was resumed.
    WhenDrained,
    /// Nothing may be received until a worker has checked this token and the connection was resumed.
    WhenChecked(Box<str>),
    /// The connection must end.
    End(ConnectionEnding),
}

impl ConnectionTransport {
    pub(super) fn session(&mut self) -> &mut Session {
        match self {
            Self::Sse(row) => row.session(),
            Self::WebSocket(connection) => connection.client().session(),
        }
    }

    /// Returns the connection's id, if it has one.
    pub(super) fn connection_id(&self) -> Option<&Arc<str>> {
        match self {
            Self::Sse(_) => None,
            Self::WebSocket(connection) => Some(connection.as_client().client_id()),
        }
    }

    /// Adds the pieces of the next message, or of several messages as one piece; returns false if there is none now.
    /// Bound: four pieces.
    pub(super) fn next_message(
        &mut self,
        into: &mut Vec<Bytes>,
        codecs: &mut ThreadCodecs,
    ) -> bool {
        match self {
            Self::Sse(row) => row.next_event(into, &mut codecs.runs),
            Self::WebSocket(connection) => connection.client().next_frames(into, codecs),
        }
    }

    /// Returns the end of the connection, if the protocol has ended it.
    pub(super) fn own_ending(&self) -> Option<ConnectionEnding> {
        match self {
            // The stream has already sent the reason.
            Self::Sse(row) => row.close_reason().map(|why| ConnectionEnding { why, last: None }),
            Self::WebSocket(connection) => {
                connection.as_client().pending_close().map(ending_from_close)
            }
        }
    }

    /// Processes input; adds replies to `out`.
    pub(super) fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        match self {
            // Input after the request is ignored: the connection ends with the stream.
            Self::Sse(row) => match row.note_input(bytes.len()) {
                true => ReceiveStep::Ready,
                false => ReceiveStep::End(ConnectionEnding { why: CloseReason::Flood, last: None }),
            },
            Self::WebSocket(connection) => {
                step_from_outcome(connection.receive_bytes(bytes, now, codecs, out))
            }
        }
    }

    /// Continues where receiving stopped.
    pub(super) fn resume_receiving(
        &mut self,
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        match self {
            Self::Sse(_) => ReceiveStep::Ready,
            Self::WebSocket(connection) => {
                step_from_outcome(connection.resume_receiving(now, codecs, out))
            }
        }
    }

    /// Adds a ping or heartbeat.
    pub(super) fn write_ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        match self {
            Self::Sse(row) => out.push_back(row.next_heartbeat()),
            Self::WebSocket(connection) => connection.client().send_ping(now, out),
        }
    }

    /// Returns the last message of a connection that the server closes.
    pub(super) fn closing_message(&self, why: CloseReason) -> Option<Bytes> {
        match self {
            // The client reconnects by itself, with its last id.
            Self::Sse(_) => None,
            Self::WebSocket(_) => {
                Some(ConnectionClose::from(disconnect_for_reason(why)).close_frame())
            }
        }
    }

    /// Returns true if the client must close its side before the socket is closed.
    pub(super) fn waits_for_peer_close(&self, why: CloseReason) -> bool {
        match self {
            Self::Sse(_) => false,
            Self::WebSocket(_) => why != CloseReason::Client,
        }
    }

    /// Handles due events; returns the end of the connection, if there is one.
    pub(super) fn handle_due(
        &mut self,
        now: Duration,
        out: &mut VecDeque<Bytes>,
    ) -> Option<ConnectionEnding> {
        match self {
            Self::Sse(row) => row
                .close_if_expired(now)
                .map(|last| ConnectionEnding { why: CloseReason::Expired, last: Some(last) }),
            Self::WebSocket(connection) => {
                connection.handle_due(now, out).map(|close| ending_from_close(&close))
            }
        }
    }

    /// Returns the next time at which [`handle_due`](Self::handle_due) must be called.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match self {
            Self::Sse(row) => row.expires_at(),
            Self::WebSocket(connection) => connection.next_due(),
        }
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
    ConnectionEnding { why: reason_from_code(close.code), last: Some(close.close_frame()) }
}

fn reason_from_code(code: u16) -> CloseReason {
    let is = |disconnect: &DisconnectCode| code == disconnect.code;
    match code {
        _ if is(&codes::SHUTDOWN) => CloseReason::Shutdown,
        _ if is(&codes::SLOW) => CloseReason::Slow,
        _ if is(&codes::NO_PONG) => CloseReason::NoPong,
        _ if is(&codes::FLOOD) => CloseReason::Flood,
        _ if is(&codes::EXPIRED) => CloseReason::Expired,
        _ if is(&codes::BAD_MESSAGE) => CloseReason::Protocol,
        // The codes for broken WebSocket frames; clients leave with 1000 or 1001.
        1002..=1015 => CloseReason::Protocol,
        1000..=1001 => CloseReason::Client,
        _ => CloseReason::Disconnected,
    }
}

/// Returns the close code that a client gets.
fn disconnect_for_reason(why: CloseReason) -> &'static DisconnectCode {
    match why {
        CloseReason::Shutdown | CloseReason::Client => &codes::SHUTDOWN,
        CloseReason::Slow => &codes::SLOW,
        CloseReason::NoPong => &codes::NO_PONG,
        CloseReason::Flood => &codes::FLOOD,
        CloseReason::Expired => &codes::EXPIRED,
        CloseReason::Protocol => &codes::BAD_MESSAGE,
        CloseReason::Disconnected | CloseReason::Changed | CloseReason::Fault => {
            &codes::CONNECTION_CLOSED
        }
    }
}
