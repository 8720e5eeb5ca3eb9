//! Server-sent events (WHATWG HTML §9.2): `GET /events?channel=…&channel=…`.
//!
//! An event is `data: {"channel","epoch","offset"?,"data"}` and, as soon as the client holds something
//! it could resume from, `id: <network or channel>@<epoch>:<offset>,…`, one entry per sequence. No
//! `event:` field, so `onmessage` sees all.
//!
//! The id after an event says what the client holds *once it has that event*. A browser keeps the last
//! id it saw and comes back with it, wherever the connection was cut; [`Session::held`] sees to it that
//! this is a position from which nothing is missed on any of the sequence's channels.
//!
//! [`Session::held`]: lineside_hub::Session::held_positions

mod event;
mod last_event_id;
mod open;
mod connection;
mod stream;

pub(crate) use connection::SseConnection;
pub use connection::SseSubscriber;
pub use last_event_id::LastEventId;
pub use open::{OpenError, check_channels};
pub use stream::SseStream;

use std::ops::RangeInclusive;
use std::time::Duration;

/// Most channels in one connection.
pub const CHANNELS_MAX: usize = 64;

/// How often a comment shows that the connection lives.
pub const HEARTBEAT_INTERVAL: Duration = crate::centrifuge::PING_INTERVAL;

/// How long a client is asked to wait before it reconnects, in milliseconds; random, so that clients
/// that lost their server together do not come back together.
pub const RETRY_MILLIS: RangeInclusive<u64> = 1_000..=5_000;

/// Longest `Last-Event-ID` that is read; what comes after is ignored.
pub const LAST_EVENT_ID_BYTES_MAX: usize = 48 << 10;
