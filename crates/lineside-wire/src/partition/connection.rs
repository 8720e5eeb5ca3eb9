//! One connection of a partition: a socket, its transport, and the output that the socket has not accepted yet.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;

use super::limits::{
    CLOSE_TIMEOUT, OUTBOX_BYTES, PIECES_MAX, PING_INTERVAL, SLICE_BYTES, STALL_MAX,
};
use super::socket::ConnectionSocket;
use super::transport::{ConnectionEnding, ReceiveStep, Transport};
use crate::close_reason::ConnectionCloseReason;
use crate::thread_codecs::ThreadCodecs;

/// The connection's place among those allowed, held while the connection is open.
pub(super) type HeldConnectionPermit = Box<dyn Any + Send>;

pub(super) struct PartitionConnection {
    socket: ConnectionSocket,
    pub(super) transport: Box<dyn Transport>,
    /// Output that the socket has not accepted yet. Bound: a slice of deliveries, or the replies of an outbox.
    out: VecDeque<Bytes>,
    /// The time since which the socket has accepted nothing although output waits.
    stalled_since: Option<Duration>,
    /// The time of the next ping.
    ping_at: Duration,
    /// The reason of a close, and its deadline. Nothing more is read or pulled; the socket is closed when `out` is
    /// empty, or at the deadline.
    closing: Option<(ConnectionCloseReason, Duration)>,
    /// The connection's second in the timer wheel.
    pub(super) due: u32,
    /// True while the socket accepts no output; the system reports when it does again.
    is_blocked: bool,
    /// True while the connection holds a place for a state transfer.
    pub(super) has_state_permit: bool,
    /// True while the connection waits for such a place.
    pub(super) is_waiting_for_state: bool,
    /// True while the connection is in the queue of those with more to write.
    pub(super) is_busy: bool,
    /// True if the socket must be read once it has accepted the replies.
    pub(super) is_read_deferred: bool,
    /// The condition for processing more input.
    resume_condition: ResumeCondition,
    /// True once the write side of the socket is shut down.
    is_finished: bool,
    _permit: HeldConnectionPermit,
}

/// Buffers shared by the connections of a thread.
#[derive(Default)]
pub(super) struct ConnectionScratch {
    /// The pieces of the current write.
    pieces: Vec<Bytes>,
    pub(super) codecs: ThreadCodecs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResumeCondition {
    No,
    Drained,
    Checked,
}

/// The result of writing a connection's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushOutcome {
    /// The socket has accepted everything.
    Drained,
    /// The socket accepts no more for now.
    Blocked,
    /// There is more output, but other connections come first.
    More,
    /// The next delivery is a state, and there is no place for its transfer.
    NeedsStatePermit,
    /// The connection has ended.
    Gone(ConnectionCloseReason),
}

impl PartitionConnection {
    pub(super) fn new(
        socket: ConnectionSocket,
        transport: Box<dyn Transport>,
        first: impl IntoIterator<Item = Bytes>,
        ping_at: Duration,
        permit: HeldConnectionPermit,
    ) -> Self {
        let out = first.into_iter().filter(|piece| !piece.is_empty()).collect();
        Self {
            socket,
            transport,
            out,
            stalled_since: None,
            ping_at,
            closing: None,
            due: 0,
            is_blocked: false,
            has_state_permit: false,
            is_waiting_for_state: false,
            is_busy: false,
            is_read_deferred: false,
            resume_condition: ResumeCondition::No,
            is_finished: false,
            _permit: permit,
        }
    }

    pub(super) fn socket(&mut self) -> &mut ConnectionSocket {
        &mut self.socket
    }

    /// Notes that the socket accepts output again.
    pub(super) fn mark_socket_writable(&mut self) {
        self.is_blocked = false;
    }

    /// Returns true if the connection is being closed.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Writes output until the socket accepts no more, there is no more, or a slice is full. `may_send_state` returns
    /// true if there is a place for a state transfer.
    pub(super) fn flush_output(
        &mut self,
        scratch: &mut ConnectionScratch,
        now: Duration,
        mut may_send_state: impl FnMut() -> bool,
    ) -> FlushOutcome {
        if self.is_blocked {
            return FlushOutcome::Blocked;
        }
        let ConnectionScratch { pieces, codecs } = scratch;
        pieces.clear();
        pieces.extend(self.out.drain(..));
        let mut bytes: usize = pieces.iter().map(Bytes::len).sum();
        let mut rest = FlushOutcome::More;
        while bytes < SLICE_BYTES && pieces.len() + 4 <= PIECES_MAX && self.closing.is_none() {
            if !self.has_state_permit && self.transport.session().is_receiving_state() {
                self.has_state_permit = may_send_state();
                if !self.has_state_permit {
                    rest = FlushOutcome::NeedsStatePermit;
                    break;
                }
            }
            let before = pieces.len();
            if !self.transport.next_message(pieces, codecs) {
                rest = FlushOutcome::Drained;
                break;
            }
            bytes += pieces[before..].iter().map(Bytes::len).sum::<usize>();
        }
        if self.closing.is_none()
            && let Some(ConnectionEnding { why, last }) = self.transport.own_ending()
        {
            pieces.extend(last);
            self.closing = Some((why, now + CLOSE_TIMEOUT));
        }
        if let Some(flushed) = self.write_pieces_to_socket(pieces, now) {
            return flushed;
        }
        self.closing.map_or(rest, |(why, _)| self.end_output(why))
    }

    /// Writes the pieces; returns `None` if the socket has accepted all.
    fn write_pieces_to_socket(
        &mut self,
        pieces: &mut Vec<Bytes>,
        now: Duration,
    ) -> Option<FlushOutcome> {
        while !pieces.is_empty() {
            match self.socket.write_pieces(pieces) {
                Ok(0) => return Some(FlushOutcome::Gone(ConnectionCloseReason::Client)),
                Ok(_) => self.stalled_since = None,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.out.extend(pieces.drain(..));
                    self.is_blocked = true;
                    self.stalled_since.get_or_insert(now);
                    return Some(FlushOutcome::Blocked);
                }
                Err(_) => return Some(FlushOutcome::Gone(ConnectionCloseReason::Client)),
            }
        }
        match self.socket.flush_tls() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_blocked = true;
                self.stalled_since.get_or_insert(now);
                return Some(FlushOutcome::Blocked);
            }
            Err(_) => return Some(FlushOutcome::Gone(ConnectionCloseReason::Client)),
        }
        self.stalled_since = None;
        // An idle connection has no buffer.
        self.out = VecDeque::new();
        None
    }

    /// Finishes the output. The side that closes first waits for the other, because unread input would reset the
    /// connection and lose what was written.
    fn end_output(&mut self, why: ConnectionCloseReason) -> FlushOutcome {
        if !self.transport.waits_for_peer_close(why) {
            return FlushOutcome::Gone(why);
        }
        if !self.is_finished {
            self.is_finished = true;
            self.socket.shutdown_write();
        }
        FlushOutcome::Drained
    }

    /// Processes received bytes. Returns the token that a worker must check, if there is one.
    pub(super) fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        scratch: &mut ConnectionScratch,
    ) -> Option<Box<str>> {
        if self.closing.is_some() {
            return None;
        }
        let next = self.transport.receive_bytes(bytes, now, &mut scratch.codecs, &mut self.out);
        self.apply_receive_step(next, now)
    }

    /// Continues where receiving stopped; returns a token like [`receive_bytes`](Self::receive_bytes).
    pub(super) fn resume_receiving(
        &mut self,
        now: Duration,
        scratch: &mut ConnectionScratch,
    ) -> Option<Box<str>> {
        self.resume_condition = ResumeCondition::No;
        if self.closing.is_some() {
            return None;
        }
        let next = self.transport.resume_receiving(now, &mut scratch.codecs, &mut self.out);
        self.apply_receive_step(next, now)
    }

    fn apply_receive_step(&mut self, next: ReceiveStep, now: Duration) -> Option<Box<str>> {
        match next {
            ReceiveStep::Ready => None,
            ReceiveStep::WhenDrained => {
                self.resume_condition = ResumeCondition::Drained;
                None
            }
            ReceiveStep::WhenChecked(token) => {
                self.resume_condition = ResumeCondition::Checked;
                Some(token)
            }
            ReceiveStep::End(ending) => {
                self.start_closing(ending, now);
                None
            }
        }
    }

    fn start_closing(&mut self, ConnectionEnding { why, last }: ConnectionEnding, now: Duration) {
        self.out.extend(last);
        self.closing = Some((why, now + CLOSE_TIMEOUT));
    }

    /// Returns true if the socket must not be read now: the connection waits to be resumed, or replies have piled up.
    pub(super) fn is_read_paused(&self) -> bool {
        let piled_up = || self.out.iter().map(Bytes::len).sum::<usize>() > OUTBOX_BYTES;
        self.resume_condition != ResumeCondition::No || piled_up()
    }

    /// Returns true if the connection only waits for the socket to accept the replies.
    pub(super) fn is_waiting_for_drain(&self) -> bool {
        self.resume_condition == ResumeCondition::Drained
    }

    /// Closes the connection from the server's side: sends a closing message, then closes the socket.
    pub(super) fn close_from_server(&mut self, why: ConnectionCloseReason, now: Duration) {
        if self.closing.is_none() {
            let last = self.transport.closing_message(why);
            self.start_closing(ConnectionEnding { why, last }, now);
        }
    }

    /// Returns the reason of the end, now that the client has closed.
    pub(super) fn reason_after_peer_closed(&self) -> ConnectionCloseReason {
        self.closing.map_or(ConnectionCloseReason::Client, |(why, _)| why)
    }

    /// Checks the deadlines. Returns the reason if the connection has ended.
    pub(super) fn check_connection_deadlines(
        &mut self,
        now: Duration,
    ) -> Option<ConnectionCloseReason> {
        if let Some((why, by)) = self.closing {
            return (now >= by).then_some(why);
        }
        if self.stalled_since.is_some_and(|since| now >= since + STALL_MAX) {
            return Some(ConnectionCloseReason::Slow);
        }
        if let Some(ending) = self.transport.handle_due(now, &mut self.out) {
            self.start_closing(ending, now);
            return None;
        }
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            // Waiting output serves as the ping.
            if self.out.is_empty() {
                self.transport.write_ping(now, &mut self.out);
            }
        }
        None
    }

    /// Returns the earliest deadline.
    pub(super) fn next_deadline(&self) -> Duration {
        if let Some((_, by)) = self.closing {
            return by;
        }
        let stalled = self.stalled_since.map(|since| since + STALL_MAX);
        [stalled, self.transport.next_due()].into_iter().flatten().fold(self.ping_at, Duration::min)
    }
}
