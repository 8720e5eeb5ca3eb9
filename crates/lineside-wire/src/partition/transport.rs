//! What is spoken over a row's socket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Session;

use super::metrics::CloseReason;
use crate::centrifuge::codes::{self, DisconnectCode};
use crate::centrifuge::{CentrifugeConnection, ConnectionClose, ReceiveOutcome, ThreadCodecs};
use crate::sse::SseConnection;

/// What a partition's rows speak.
#[derive(Debug)]
pub(super) enum ConnectionTransport {
    Sse(SseConnection),
    WebSocket(Box<CentrifugeConnection>),
}

/// How a connection ends, and what is said last.
#[derive(Debug)]
pub(super) struct ConnectionEnding {
    pub(super) why: CloseReason,
    pub(super) last: Option<Bytes>,
}

/// How it goes on after something was received. Not to be printed: tokens are nobody else's business.
pub(super) enum ReceiveStep {
    /// More may be received.
    Ready,
    /// Nothing is to be received until the socket has taken the replies and the row was resumed.
    WhenDrained,
    /// Nothing is to be received until a worker has checked this token and the row was resumed.
    WhenChecked(Box<str>),
    /// It is over.
    End(ConnectionEnding),
}

impl ConnectionTransport {
    pub(super) fn session(&mut self) -> &mut Session {
        match self {
            Self::Sse(row) => row.session(),
            Self::WebSocket(connection) => connection.client().session(),
        }
    }

    /// The connection's name, where it has one.
    pub(super) fn connection_id(&self) -> Option<&Arc<str>> {
        match self {
            Self::Sse(_) => None,
            Self::WebSocket(connection) => Some(connection.as_client().client_id()),
        }
    }

    /// Adds the pieces of the next message, or several messages as one piece; false when there is none now. Bound:
    /// four pieces.
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

    /// How it ends by itself, if it does.
    pub(super) fn own_ending(&self) -> Option<ConnectionEnding> {
        match self {
            // What a reader is told of it has been said as an event.
            Self::Sse(row) => row.close_reason().map(|why| ConnectionEnding { why, last: None }),
            Self::WebSocket(connection) => {
                connection.as_client().pending_close().map(ending_from_close)
            }
        }
    }

    /// Takes what the client sent; replies are added to `out`.
    pub(super) fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        match self {
            // Whatever a client says after its request is not for us: the connection ends with the stream.
            Self::Sse(row) => match row.note_input(bytes.len()) {
                true => ReceiveStep::Ready,
                false => ReceiveStep::End(ConnectionEnding { why: CloseReason::Flood, last: None }),
            },
            Self::WebSocket(connection) => {
                step_from_outcome(connection.receive_bytes(bytes, now, codecs, out))
            }
        }
    }

    /// Goes on where receiving stopped short.
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

    /// Adds what shows that the connection lives.
    pub(super) fn write_ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        match self {
            Self::Sse(row) => out.push_back(row.next_heartbeat()),
            Self::WebSocket(connection) => connection.client().send_ping(now, out),
        }
    }

    /// What is said last when the connection is ended from outside.
    pub(super) fn closing_message(&self, why: CloseReason) -> Option<Bytes> {
        match self {
            // The client comes back by itself, with its last id.
            Self::Sse(_) => None,
            Self::WebSocket(_) => {
                Some(ConnectionClose::from(disconnect_for_reason(why)).close_frame())
            }
        }
    }

    /// Whether the client is to close its side, too, before the socket is closed.
    pub(super) fn waits_for_peer_close(&self, why: CloseReason) -> bool {
        match self {
            Self::Sse(_) => false,
            Self::WebSocket(_) => why != CloseReason::Client,
        }
    }

    /// Sees to what is due.
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

    /// When something is due that [`look_in`](Self::handle_due) sees to.
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

/// What a close code says about why.
fn reason_from_code(code: u16) -> CloseReason {
    let is = |disconnect: &DisconnectCode| code == disconnect.code;
    match code {
        _ if is(&codes::SHUTDOWN) => CloseReason::Shutdown,
        _ if is(&codes::SLOW) => CloseReason::Slow,
        _ if is(&codes::NO_PONG) => CloseReason::NoPong,
        _ if is(&codes::FLOOD) => CloseReason::Flood,
        _ if is(&codes::EXPIRED) => CloseReason::Expired,
        _ if is(&codes::BAD_MESSAGE) => CloseReason::Protocol,
        // What a WebSocket says of broken frames; 1000 and 1001 are how clients go.
        1002..=1015 => CloseReason::Protocol,
        1000..=1001 => CloseReason::Client,
        _ => CloseReason::Disconnected,
    }
}

/// What a client is told.
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
