//! What is spoken over a row's socket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Session;

use super::metrics::Closed;
use crate::centrifuge::codes::{self, Disconnect};
use crate::centrifuge::{Close, Codecs, Connection, Flow};
use crate::sse::SseRow;

/// What a partition's rows speak.
#[derive(Debug)]
pub(super) enum Transport {
    Sse(SseRow),
    WebSocket(Box<Connection>),
}

/// How a connection ends, and what is said last.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) why: Closed,
    pub(super) last: Option<Bytes>,
}

/// How it goes on after something was received. Not to be printed: tokens are nobody else's business.
pub(super) enum Next {
    /// More may be received.
    Ready,
    /// Nothing is to be received until the socket has taken the replies and the row was resumed.
    WhenDrained,
    /// Nothing is to be received until a worker has checked this token and the row was resumed.
    WhenChecked(Box<str>),
    /// It is over.
    End(Ending),
}

impl Transport {
    pub(super) fn session(&mut self) -> &mut Session {
        match self {
            Self::Sse(row) => row.session(),
            Self::WebSocket(connection) => connection.client().session(),
        }
    }

    /// The connection's name, where it has one.
    pub(super) fn id(&self) -> Option<&Arc<str>> {
        match self {
            Self::Sse(_) => None,
            Self::WebSocket(connection) => Some(connection.as_client().id()),
        }
    }

    /// Adds the pieces of the next message, or several messages as one piece; false when there is none now. Bound:
    /// four pieces.
    pub(super) fn next(&mut self, into: &mut Vec<Bytes>, codecs: &mut Codecs) -> bool {
        match self {
            Self::Sse(row) => row.next(into, &mut codecs.runs),
            Self::WebSocket(connection) => connection.client().next(into, codecs),
        }
    }

    /// How it ends by itself, if it does.
    pub(super) fn ended(&self) -> Option<Ending> {
        match self {
            // What a reader is told of it has been said as an event.
            Self::Sse(row) => row.ended().map(|why| Ending { why, last: None }),
            Self::WebSocket(connection) => connection.as_client().closing().map(ending),
        }
    }

    /// Takes what the client sent; replies are added to `out`.
    pub(super) fn receive(
        &mut self,
        bytes: &mut [u8],
        now: Duration,
        codecs: &mut Codecs,
        out: &mut VecDeque<Bytes>,
    ) -> Next {
        match self {
            // Whatever a client says after its request is not for us: the connection ends with the stream.
            Self::Sse(row) => match row.hear(bytes.len()) {
                true => Next::Ready,
                false => Next::End(Ending { why: Closed::Flood, last: None }),
            },
            Self::WebSocket(connection) => next(connection.receive(bytes, now, codecs, out)),
        }
    }

    /// Goes on where receiving stopped short.
    pub(super) fn resume(
        &mut self,
        now: Duration,
        codecs: &mut Codecs,
        out: &mut VecDeque<Bytes>,
    ) -> Next {
        match self {
            Self::Sse(_) => Next::Ready,
            Self::WebSocket(connection) => next(connection.resume(now, codecs, out)),
        }
    }

    /// Adds what shows that the connection lives.
    pub(super) fn ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        match self {
            Self::Sse(row) => out.push_back(row.heartbeat()),
            Self::WebSocket(connection) => connection.client().ping(now, out),
        }
    }

    /// What is said last when the connection is ended from outside.
    pub(super) fn farewell(&self, why: Closed) -> Option<Bytes> {
        match self {
            // The client comes back by itself, with its last id.
            Self::Sse(_) => None,
            Self::WebSocket(_) => Some(Close::from(disconnect(why)).frame()),
        }
    }

    /// Whether the client is to close its side, too, before the socket is closed.
    pub(super) fn waits_for_farewell(&self, why: Closed) -> bool {
        match self {
            Self::Sse(_) => false,
            Self::WebSocket(_) => why != Closed::Client,
        }
    }

    /// Sees to what is due.
    pub(super) fn look_in(&mut self, now: Duration, out: &mut VecDeque<Bytes>) -> Option<Ending> {
        match self {
            Self::Sse(row) => {
                row.expire(now).map(|last| Ending { why: Closed::Expired, last: Some(last) })
            }
            Self::WebSocket(connection) => connection.look_in(now, out).map(|close| ending(&close)),
        }
    }

    /// When something is due that [`look_in`](Self::look_in) sees to.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match self {
            Self::Sse(row) => row.expires(),
            Self::WebSocket(connection) => connection.next_due(),
        }
    }
}

fn next(flow: Flow) -> Next {
    match flow {
        Flow::Ready => Next::Ready,
        Flow::Full => Next::WhenDrained,
        Flow::Check(token) => Next::WhenChecked(token),
        Flow::Close(close) => Next::End(ending(&close)),
    }
}

fn ending(close: &Close) -> Ending {
    Ending { why: closed(close.code), last: Some(close.frame()) }
}

/// What a close code says about why.
fn closed(code: u16) -> Closed {
    let is = |disconnect: &Disconnect| code == disconnect.code;
    match code {
        _ if is(&codes::SHUTDOWN) => Closed::Shutdown,
        _ if is(&codes::SLOW) => Closed::Slow,
        _ if is(&codes::NO_PONG) => Closed::NoPong,
        _ if is(&codes::FLOOD) => Closed::Flood,
        _ if is(&codes::EXPIRED) => Closed::Expired,
        _ if is(&codes::BAD_MESSAGE) => Closed::Protocol,
        // What a WebSocket says of broken frames; 1000 and 1001 are how clients go.
        1002..=1015 => Closed::Protocol,
        1000..=1001 => Closed::Client,
        _ => Closed::Disconnected,
    }
}

/// What a client is told.
fn disconnect(why: Closed) -> &'static Disconnect {
    match why {
        Closed::Shutdown | Closed::Client => &codes::SHUTDOWN,
        Closed::Slow => &codes::SLOW,
        Closed::NoPong => &codes::NO_PONG,
        Closed::Flood => &codes::FLOOD,
        Closed::Expired => &codes::EXPIRED,
        Closed::Protocol => &codes::BAD_MESSAGE,
        Closed::Disconnected | Closed::Changed | Closed::Fault => &codes::CONNECTION_CLOSED,
    }
}
