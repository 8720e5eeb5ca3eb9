//! One connection of a partition: a socket, what is sent over it, and what the socket has not taken yet.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;

use super::limits::{
    FAREWELL_MAX, OUTBOX_BYTES, PIECES_MAX, PING_INTERVAL, SLICE_BYTES, STALL_MAX,
};
use super::metrics::CloseReason;
use super::socket::ConnectionSocket;
use super::transport::{ConnectionEnding, ConnectionTransport, ReceiveStep};
use crate::centrifuge::ThreadCodecs;

/// Held as long as the connection is open: its place among those allowed.
pub(super) type Place = Box<dyn Any + Send>;

pub(super) struct Connection {
    socket: ConnectionSocket,
    pub(super) transport: ConnectionTransport,
    /// Begun, and not yet taken by the socket. Bound: a slice of deliveries, or the replies of an outbox.
    out: VecDeque<Bytes>,
    /// Since when the socket has taken nothing although something waits for it.
    stalled_since: Option<Duration>,
    /// When a sign of life is due.
    ping_at: Duration,
    /// Nothing more is read or pulled; the socket is closed when `out` is empty, or then.
    closing: Option<(CloseReason, Duration)>,
    /// The second for which it stands in the wheel.
    pub(super) due: u32,
    /// The socket takes nothing at present; the system says when it does.
    is_blocked: bool,
    /// It is among those that are given a state.
    pub(super) has_state_place: bool,
    /// It is among those that wait for it.
    pub(super) waits_for_state: bool,
    /// It stands among those that have more to write.
    pub(super) is_busy: bool,
    /// It is to be read when the socket has taken the replies.
    pub(super) is_put_off: bool,
    /// What it waits for before it is read on.
    waits: ResumeCondition,
    /// It has been said that nothing more will be written.
    is_finished: bool,
    _place: Place,
}

/// What is kept from one row to the next.
#[derive(Default)]
pub(super) struct ConnectionScratch {
    /// Pieces on their way to a socket.
    scratch: Vec<Bytes>,
    pub(super) codecs: ThreadCodecs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResumeCondition {
    No,
    Drained,
    Checked,
}

/// How far a row came with its writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushOutcome {
    /// Everything has been taken.
    Drained,
    /// The socket takes no more for now.
    Blocked,
    /// There is more; others first.
    More,
    /// The next thing is a state, and there is no place.
    NeedsStatePlace,
    /// It is over.
    Gone(CloseReason),
}

impl Connection {
    pub(super) fn new(
        socket: ConnectionSocket,
        transport: ConnectionTransport,
        first: impl IntoIterator<Item = Bytes>,
        ping_at: Duration,
        place: Place,
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
            has_state_place: false,
            waits_for_state: false,
            is_busy: false,
            is_put_off: false,
            waits: ResumeCondition::No,
            is_finished: false,
            _place: place,
        }
    }

    pub(super) fn socket(&mut self) -> &mut ConnectionSocket {
        &mut self.socket
    }

    /// The socket takes something again.
    pub(super) fn note_writable(&mut self) {
        self.is_blocked = false;
    }

    /// Whether it has been told to close.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Writes what it has for the socket until that takes no more, there is no more, or a slice is full.
    /// `may_state` gives a place among those that are given a state, if there is one.
    pub(super) fn flush_output(
        &mut self,
        tools: &mut ConnectionScratch,
        now: Duration,
        mut may_state: impl FnMut() -> bool,
    ) -> FlushOutcome {
        if self.is_blocked {
            return FlushOutcome::Blocked;
        }
        let ConnectionScratch { scratch, codecs } = tools;
        scratch.clear();
        scratch.extend(self.out.drain(..));
        let mut bytes: usize = scratch.iter().map(Bytes::len).sum();
        let mut rest = FlushOutcome::More;
        while bytes < SLICE_BYTES && scratch.len() + 4 <= PIECES_MAX && self.closing.is_none() {
            if !self.has_state_place && self.transport.session().is_receiving_state() {
                self.has_state_place = may_state();
                if !self.has_state_place {
                    rest = FlushOutcome::NeedsStatePlace;
                    break;
                }
            }
            let before = scratch.len();
            if !self.transport.next_message(scratch, codecs) {
                rest = FlushOutcome::Drained;
                break;
            }
            bytes += scratch[before..].iter().map(Bytes::len).sum::<usize>();
        }
        if self.closing.is_none()
            && let Some(ConnectionEnding { why, last }) = self.transport.own_ending()
        {
            scratch.extend(last);
            self.closing = Some((why, now + FAREWELL_MAX));
        }
        if let Some(flushed) = self.write_output(scratch, now) {
            return flushed;
        }
        self.closing.map_or(rest, |(why, _)| self.finish_output(why))
    }

    /// `None` when all was taken.
    fn write_output(&mut self, scratch: &mut Vec<Bytes>, now: Duration) -> Option<FlushOutcome> {
        while !scratch.is_empty() {
            match self.socket.write_pieces(scratch) {
                Ok(0) => return Some(FlushOutcome::Gone(CloseReason::Client)),
                Ok(_) => self.stalled_since = None,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.out.extend(scratch.drain(..));
                    self.is_blocked = true;
                    self.stalled_since.get_or_insert(now);
                    return Some(FlushOutcome::Blocked);
                }
                Err(_) => return Some(FlushOutcome::Gone(CloseReason::Client)),
            }
        }
        match self.socket.flush_tls() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_blocked = true;
                self.stalled_since.get_or_insert(now);
                return Some(FlushOutcome::Blocked);
            }
            Err(_) => return Some(FlushOutcome::Gone(CloseReason::Client)),
        }
        self.stalled_since = None;
        // An idle row keeps no buffer.
        self.out = VecDeque::new();
        None
    }

    /// Everything has been said. Who closes first waits for the other: what is unread must not reset what was
    /// written.
    fn finish_output(&mut self, why: CloseReason) -> FlushOutcome {
        if !self.transport.waits_for_peer_close(why) {
            return FlushOutcome::Gone(why);
        }
        if !self.is_finished {
            self.is_finished = true;
            self.socket.shutdown_write();
        }
        FlushOutcome::Drained
    }

    /// Takes what was read. The token that a worker is to check, if there is one.
    pub(super) fn receive_bytes(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        tools: &mut ConnectionScratch,
    ) -> Option<Box<str>> {
        if self.closing.is_some() {
            return None;
        }
        let next = self.transport.receive_bytes(bytes, now, &mut tools.codecs, &mut self.out);
        self.apply_step(next, now)
    }

    /// Goes on where receiving stopped short; as [`receive`](Self::receive_bytes).
    pub(super) fn resume_receiving(
        &mut self,
        now: Duration,
        tools: &mut ConnectionScratch,
    ) -> Option<Box<str>> {
        self.waits = ResumeCondition::No;
        if self.closing.is_some() {
            return None;
        }
        let next = self.transport.resume_receiving(now, &mut tools.codecs, &mut self.out);
        self.apply_step(next, now)
    }

    fn apply_step(&mut self, next: ReceiveStep, now: Duration) -> Option<Box<str>> {
        match next {
            ReceiveStep::Ready => None,
            ReceiveStep::WhenDrained => {
                self.waits = ResumeCondition::Drained;
                None
            }
            ReceiveStep::WhenChecked(token) => {
                self.waits = ResumeCondition::Checked;
                Some(token)
            }
            ReceiveStep::End(ending) => {
                self.close_with_ending(ending, now);
                None
            }
        }
    }

    fn close_with_ending(
        &mut self,
        ConnectionEnding { why, last }: ConnectionEnding,
        now: Duration,
    ) {
        self.out.extend(last);
        self.closing = Some((why, now + FAREWELL_MAX));
    }

    /// Whether it is not to be read at present: it waits to be resumed, or replies have piled up.
    pub(super) fn is_read_paused(&self) -> bool {
        let piled_up = || self.out.iter().map(Bytes::len).sum::<usize>() > OUTBOX_BYTES;
        self.waits != ResumeCondition::No || piled_up()
    }

    /// Whether it waits only for the socket to take the replies.
    pub(super) fn is_waiting_for_drain(&self) -> bool {
        self.waits == ResumeCondition::Drained
    }

    /// Ends it from our side: a farewell, then the socket is closed.
    pub(super) fn close_with_reason(&mut self, why: CloseReason, now: Duration) {
        if self.closing.is_none() {
            let last = self.transport.closing_message(why);
            self.close_with_ending(ConnectionEnding { why, last }, now);
        }
    }

    /// Why it is over now that the other side has closed.
    pub(super) fn peer_close_reason(&self) -> CloseReason {
        self.closing.map_or(CloseReason::Client, |(why, _)| why)
    }

    /// Looks at its deadlines. Says why it is over, if one has passed.
    pub(super) fn check_deadlines(&mut self, now: Duration) -> Option<CloseReason> {
        if let Some((why, by)) = self.closing {
            return (now >= by).then_some(why);
        }
        if self.stalled_since.is_some_and(|since| now >= since + STALL_MAX) {
            return Some(CloseReason::Slow);
        }
        if let Some(ending) = self.transport.handle_due(now, &mut self.out) {
            self.close_with_ending(ending, now);
            return None;
        }
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            // Where something waits for the socket already, that is the sign of life.
            if self.out.is_empty() {
                self.transport.write_ping(now, &mut self.out);
            }
        }
        None
    }

    /// The earliest of its deadlines.
    pub(super) fn next_due(&self) -> Duration {
        if let Some((_, by)) = self.closing {
            return by;
        }
        let stalled = self.stalled_since.map(|since| since + STALL_MAX);
        [stalled, self.transport.next_due()].into_iter().flatten().fold(self.ping_at, Duration::min)
    }
}
