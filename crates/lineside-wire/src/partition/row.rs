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
use super::transport::{Ending, Next, Transport};
use crate::centrifuge::Codecs;

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
    /// What it waits for before it is read on.
    waits: Waits,
    /// It has been said that nothing more will be written.
    is_finished: bool,
    _place: Place,
}

/// What is kept from one row to the next.
#[derive(Default)]
pub(super) struct Tools {
    /// Pieces on their way to a socket.
    scratch: Vec<Bytes>,
    pub(super) codecs: Codecs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    No,
    Drained,
    Checked,
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
            waits: Waits::No,
            is_finished: false,
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
        tools: &mut Tools,
        now: Duration,
        mut may_state: impl FnMut() -> bool,
    ) -> Flushed {
        if self.is_blocked {
            return Flushed::Blocked;
        }
        let Tools { scratch, codecs } = tools;
        scratch.clear();
        scratch.extend(self.out.drain(..));
        let mut bytes: usize = scratch.iter().map(Bytes::len).sum();
        let mut rest = Flushed::More;
        while bytes < SLICE_BYTES && scratch.len() + 4 <= PIECES_MAX && self.closing.is_none() {
            if !self.has_state_place && self.transport.session().is_given_state() {
                self.has_state_place = may_state();
                if !self.has_state_place {
                    rest = Flushed::NeedsStatePlace;
                    break;
                }
            }
            let before = scratch.len();
            if !self.transport.next(scratch, codecs) {
                rest = Flushed::Drained;
                break;
            }
            bytes += scratch[before..].iter().map(Bytes::len).sum::<usize>();
        }
        if self.closing.is_none()
            && let Some(Ending { why, last }) = self.transport.ended()
        {
            scratch.extend(last);
            self.closing = Some((why, now + FAREWELL_MAX));
        }
        if let Some(flushed) = self.write(scratch, now) {
            return flushed;
        }
        self.closing.map_or(rest, |(why, _)| self.said_last(why))
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
        match self.socket.flush() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_blocked = true;
                self.stalled_since.get_or_insert(now);
                return Some(Flushed::Blocked);
            }
            Err(_) => return Some(Flushed::Gone(Closed::Client)),
        }
        self.stalled_since = None;
        // An idle row keeps no buffer.
        self.out = VecDeque::new();
        None
    }

    /// Everything has been said. Who closes first waits for the other: what is unread must not reset what was
    /// written.
    fn said_last(&mut self, why: Closed) -> Flushed {
        if !self.transport.waits_for_farewell(why) {
            return Flushed::Gone(why);
        }
        if !self.is_finished {
            self.is_finished = true;
            self.socket.finish();
        }
        Flushed::Drained
    }

    /// Takes what was read. The token that a worker is to check, if there is one.
    pub(super) fn receive(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        tools: &mut Tools,
    ) -> Option<Box<str>> {
        if self.closing.is_some() {
            return None;
        }
        let next = self.transport.receive(bytes, now, &mut tools.codecs, &mut self.out);
        self.go_on(next, now)
    }

    /// Goes on where receiving stopped short; as [`receive`](Self::receive).
    pub(super) fn resume(&mut self, now: Duration, tools: &mut Tools) -> Option<Box<str>> {
        self.waits = Waits::No;
        if self.closing.is_some() {
            return None;
        }
        let next = self.transport.resume(now, &mut tools.codecs, &mut self.out);
        self.go_on(next, now)
    }

    fn go_on(&mut self, next: Next, now: Duration) -> Option<Box<str>> {
        match next {
            Next::Ready => None,
            Next::WhenDrained => {
                self.waits = Waits::Drained;
                None
            }
            Next::WhenChecked(token) => {
                self.waits = Waits::Checked;
                Some(token)
            }
            Next::End(ending) => {
                self.end(ending, now);
                None
            }
        }
    }

    fn end(&mut self, Ending { why, last }: Ending, now: Duration) {
        self.out.extend(last);
        self.closing = Some((why, now + FAREWELL_MAX));
    }

    /// Whether it is not to be read at present: it waits to be resumed, or replies have piled up.
    pub(super) fn is_full(&self) -> bool {
        let piled_up = || self.out.iter().map(Bytes::len).sum::<usize>() > OUTBOX_BYTES;
        self.waits != Waits::No || piled_up()
    }

    /// Whether it waits only for the socket to take the replies.
    pub(super) fn resumes_when_drained(&self) -> bool {
        self.waits == Waits::Drained
    }

    /// Ends it from our side: a farewell, then the socket is closed.
    pub(super) fn close(&mut self, why: Closed, now: Duration) {
        if self.closing.is_none() {
            let last = self.transport.farewell(why);
            self.end(Ending { why, last }, now);
        }
    }

    /// Why it is over now that the other side has closed.
    pub(super) fn gone(&self) -> Closed {
        self.closing.map_or(Closed::Client, |(why, _)| why)
    }

    /// Looks at its deadlines. Says why it is over, if one has passed.
    pub(super) fn tick(&mut self, now: Duration) -> Option<Closed> {
        if let Some((why, by)) = self.closing {
            return (now >= by).then_some(why);
        }
        if self.stalled_since.is_some_and(|since| now >= since + STALL_MAX) {
            return Some(Closed::Slow);
        }
        if let Some(ending) = self.transport.look_in(now, &mut self.out) {
            self.end(ending, now);
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
