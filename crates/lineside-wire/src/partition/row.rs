//! One connection of a partition: a socket, what is sent over it, and what the socket has not taken yet.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;

use super::limits::{
    FAREWELL_MAX, OUTBOX_BYTES, PIECES_MAX, PING_INTERVAL, SLICE_BYTES, STALL_MAX,
};
use super::metrics::Closed;
use super::socket::Socket;
use super::transport::Transport;

/// Held as long as the connection is open: its place among those allowed.
pub(super) type Place = Box<dyn Any + Send>;

pub(super) struct Row {
    socket: Socket,
    pub(super) transport: Transport,
    /// Begun, and not yet taken by the socket. Bound: a slice of deliveries, or the replies of an outbox.
    out: VecDeque<Bytes>,
    /// Since when the socket has taken nothing although something waits for it.
    stalled_since: Option<Duration>,
    /// When a sign of life is due.
    ping_at: Duration,
    /// Nothing more is read or pulled; the socket is closed when `out` is empty, or then.
    closing: Option<(Closed, Duration)>,
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
    _place: Place,
}

/// How far a row came with its writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flushed {
    /// Everything has been taken.
    Drained,
    /// The socket takes no more for now.
    Blocked,
    /// There is more; others first.
    More,
    /// The next thing is a state, and there is no place.
    NeedsStatePlace,
    /// It is over.
    Gone(Closed),
}

impl Row {
    pub(super) fn new(
        socket: Socket,
        transport: Transport,
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
            _place: place,
        }
    }

    pub(super) fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// The socket takes something again.
    pub(super) fn unblock(&mut self) {
        self.is_blocked = false;
    }

    /// Whether it has been told to close.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Writes what it has for the socket until that takes no more, there is no more, or a slice is full.
    /// `may_state` gives a place among those that are given a state, if there is one.
    pub(super) fn flush(
        &mut self,
        scratch: &mut Vec<Bytes>,
        now: Duration,
        mut may_state: impl FnMut() -> bool,
    ) -> Flushed {
        if self.is_blocked {
            return Flushed::Blocked;
        }
        scratch.clear();
        scratch.extend(self.out.drain(..));
        let mut bytes: usize = scratch.iter().map(Bytes::len).sum();
        let mut rest = None;
        while bytes < SLICE_BYTES && scratch.len() + 4 <= PIECES_MAX && self.closing.is_none() {
            if !self.has_state_place && self.transport.session().is_given_state() {
                self.has_state_place = may_state();
                if !self.has_state_place {
                    rest = Some(Flushed::NeedsStatePlace);
                    break;
                }
            }
            let before = scratch.len();
            if !self.transport.next(scratch) {
                rest = Some(Flushed::Drained);
                break;
            }
            bytes += scratch[before..].iter().map(Bytes::len).sum::<usize>();
        }
        if let Some(why) = self.transport.ended()
            && self.closing.is_none()
        {
            self.closing = Some((why, now + FAREWELL_MAX));
        }
        self.write(scratch, now).unwrap_or(match (rest, self.closing) {
            (_, Some((why, _))) => self.said_last(why),
            (Some(rest), None) => rest,
            (None, None) => Flushed::More,
        })
    }

    /// `None` when all was taken.
    fn write(&mut self, scratch: &mut Vec<Bytes>, now: Duration) -> Option<Flushed> {
        while !scratch.is_empty() {
            match self.socket.write(scratch) {
                Ok(0) => return Some(Flushed::Gone(Closed::Client)),
                Ok(_) => self.stalled_since = None,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.out.extend(scratch.drain(..));
                    self.is_blocked = true;
                    self.stalled_since.get_or_insert(now);
                    return Some(Flushed::Blocked);
                }
                Err(_) => return Some(Flushed::Gone(Closed::Client)),
            }
        }
        // An idle row keeps no buffer.
        self.out = VecDeque::new();
        None
    }

    /// Everything has been said. Who closes first waits for the other: what is unread must not reset what was
    /// written.
    fn said_last(&mut self, why: Closed) -> Flushed {
        self.socket.finish();
        if self.transport.waits_for_farewell() {
            return Flushed::Drained;
        }
        Flushed::Gone(why)
    }

    /// Takes what was read.
    pub(super) fn receive(&mut self, bytes: &mut [u8], now: Duration) {
        if self.closing.is_some() {
            return;
        }
        if let Some(why) = self.transport.receive(bytes, now, &mut self.out) {
            self.closing = Some((why, now + FAREWELL_MAX));
        }
    }

    /// Whether replies have piled up: the client reads first, and asks then.
    pub(super) fn is_full(&self) -> bool {
        !self.out.is_empty() && self.out.iter().map(Bytes::len).sum::<usize>() > OUTBOX_BYTES
    }

    /// Ends it from our side: a farewell, then the socket is closed.
    pub(super) fn close(&mut self, why: Closed, now: Duration) {
        if self.closing.is_none() {
            self.transport.farewell(why, &mut self.out);
            self.closing = Some((why, now + FAREWELL_MAX));
        }
    }

    /// Looks at its deadlines. Says why it is over, if one has passed.
    pub(super) fn tick(&mut self, now: Duration) -> Option<Closed> {
        if let Some((why, by)) = self.closing {
            return (now >= by).then_some(why);
        }
        if self.stalled_since.is_some_and(|since| now >= since + STALL_MAX) {
            return Some(Closed::Slow);
        }
        if let Some(why) = self.transport.overdue(now) {
            self.close(why, now);
            return None;
        }
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            // Where something waits for the socket already, that is the sign of life.
            if self.out.is_empty() {
                self.transport.ping(now, &mut self.out);
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
