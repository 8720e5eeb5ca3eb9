//! What is spoken over a row's socket.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{Ended, Session};

use super::metrics::Closed;
use crate::sse::SseRow;

/// What a partition's rows speak.
#[derive(Debug)]
pub(super) enum Transport {
    Sse(SseRow),
}

impl Transport {
    pub(super) fn session(&mut self) -> &mut Session {
        match self {
            Self::Sse(row) => row.session(),
        }
    }

    /// Adds the pieces of the next message; false when there is none now. Bound: four pieces.
    pub(super) fn next(&mut self, into: &mut Vec<Bytes>) -> bool {
        match self {
            Self::Sse(row) => row.next(into),
        }
    }

    /// Why it said its last by itself.
    pub(super) fn ended(&self) -> Option<Closed> {
        match self {
            Self::Sse(row) => row.ended().map(|why| match why {
                Ended::Slow | Ended::Lost => Closed::Slow,
            }),
        }
    }

    /// Takes what the client sent; replies are added to `out`. Says why, when that ends the connection.
    pub(super) fn receive(
        &mut self,
        _bytes: &mut [u8],
        _now: Duration,
        _out: &mut VecDeque<Bytes>,
    ) -> Option<Closed> {
        match self {
            // Whatever a client says after its request is not for us: the connection ends with the stream.
            Self::Sse(_) => None,
        }
    }

    /// Adds what shows that the connection lives.
    pub(super) fn ping(&mut self, _now: Duration, out: &mut VecDeque<Bytes>) {
        match self {
            Self::Sse(row) => out.push_back(row.heartbeat()),
        }
    }

    /// Adds the last that is said, before the socket is closed.
    pub(super) fn farewell(&mut self, _why: Closed, _out: &mut VecDeque<Bytes>) {
        match self {
            // The client comes back by itself, with its last id.
            Self::Sse(_) => {}
        }
    }

    /// Whether the client is to close its side, too, before the socket is closed.
    pub(super) fn waits_for_farewell(&self) -> bool {
        match self {
            Self::Sse(_) => false,
        }
    }

    /// What the client should have done by now.
    pub(super) fn overdue(&self, _now: Duration) -> Option<Closed> {
        match self {
            Self::Sse(_) => None,
        }
    }

    /// When it is to be looked at for that.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match self {
            Self::Sse(_) => None,
        }
    }
}
