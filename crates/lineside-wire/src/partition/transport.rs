//! The transport of a connection: the protocol over its socket. A partition knows transports only by these traits.
//!
//! A transport owns its session, but no socket and no timer. The partition pulls messages while the socket accepts
//! them, passes in what it receives, and calls the transport when something is due.
//!
//! - [`TransportRequest`]: made by the handler of an HTTP request; a partition opens it
//! - [`Transport`]: the transport of an open connection

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{Hub, PartitionListener, Session, SessionLimits};

use crate::close_reason::ConnectionCloseReason;
use crate::thread_codecs::ThreadCodecs;

/// A transport that a connection requested.
pub trait TransportRequest: fmt::Debug + Send + Sync {
    /// Opens the transport on the partition's thread. Returns `None` if the connection must get the refusal of a full
    /// node instead.
    fn open_transport(&self, opening: TransportOpening<'_>) -> Option<OpenedTransport>;
}

/// The partition's side of a transport that is being opened.
#[derive(Debug)]
pub struct TransportOpening<'a> {
    pub(super) listener: &'a PartitionListener,
    pub(super) row: u32,
    /// The current time, on the clock of the sockets' deadlines.
    pub now: Duration,
    /// The source of random values.
    pub rng: &'a mut fastrand::Rng,
}

impl TransportOpening<'_> {
    /// Returns the hub of all sessions.
    pub fn hub(&self) -> &Hub {
        self.listener.hub()
    }

    /// Opens the connection's session, whose news the partition serves.
    pub fn open_session(&self, limits: SessionLimits) -> Session {
        self.listener.open_session(self.row, limits)
    }
}

/// An open transport and its first output.
pub struct OpenedTransport {
    pub transport: Box<dyn Transport>,
    /// The output after the head of the reply; may be empty.
    pub first: Bytes,
}

impl fmt::Debug for OpenedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedTransport").field("first", &self.first).finish_non_exhaustive()
    }
}

/// The end of a connection: the reason and the last output.
#[derive(Debug)]
pub struct ConnectionEnding {
    pub why: ConnectionCloseReason,
    /// The last output.
    pub last: Option<Bytes>,
}

/// The next step after input was processed.
pub enum ReceiveStep {
    /// More input may be received.
    Ready,
    /// Nothing may be received until the socket has accepted the replies and the connection was resumed.
    WhenDrained,
    /// Nothing may be received until a worker has checked this token and the connection was resumed. Only for
    /// transports with a [`connection_id`](Transport::connection_id).
    WhenChecked(Box<str>),
    /// The connection must end.
    End(ConnectionEnding),
}

impl fmt::Debug for ReceiveStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("Ready"),
            Self::WhenDrained => f.write_str("WhenDrained"),
            // A token is a secret.
            Self::WhenChecked(_) => f.write_str("WhenChecked(…)"),
            Self::End(ending) => f.debug_tuple("End").field(ending).finish(),
        }
    }
}

/// A connection's protocol, without its socket. The provided methods are right for a transport that only sends.
pub trait Transport: Send {
    fn session(&mut self) -> &mut Session;

    /// Adds the pieces of the next message, or of several messages as one piece; returns false if there is none now.
    /// Bound: four pieces.
    fn next_message(&mut self, into: &mut Vec<Bytes>, codecs: &mut ThreadCodecs) -> bool;

    /// Returns the end of the connection, if the protocol has ended it.
    fn own_ending(&self) -> Option<ConnectionEnding>;

    /// Processes input; adds replies to `out`.
    fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut ThreadCodecs,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep;

    /// Adds a ping or heartbeat.
    fn write_ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>);

    /// Handles due events; returns the end of the connection, if there is one.
    fn handle_due(&mut self, now: Duration, out: &mut VecDeque<Bytes>) -> Option<ConnectionEnding>;

    /// Returns the next time at which [`handle_due`](Self::handle_due) must be called.
    fn next_due(&self) -> Option<Duration>;

    /// Returns the connection's id, if it has one.
    fn connection_id(&self) -> Option<&Arc<str>> {
        None
    }

    /// Continues where receiving stopped.
    fn resume_receiving(
        &mut self,
        _now: Duration,
        _codecs: &mut ThreadCodecs,
        _out: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        ReceiveStep::Ready
    }

    /// Returns the last message of a connection that the server closes.
    fn closing_message(&self, _why: ConnectionCloseReason) -> Option<Bytes> {
        None
    }

    /// Returns true if the client must close its side before the socket is closed.
    fn waits_for_peer_close(&self, _why: ConnectionCloseReason) -> bool {
        false
    }
}
