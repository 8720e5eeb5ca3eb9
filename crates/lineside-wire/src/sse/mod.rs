//! Server-sent events (WHATWG HTML §9.2): `GET /events?channel=…&channel=…`.
//!
//! An event is `data: {"channel","epoch","offset"?,"data"}`. As soon as the client could resume, it also has `id:
//! <network or channel>@<epoch>:<offset>,…`, one entry per sequence. There is no `event:` field, so `onmessage`
//! receives all events.
//!
//! The id of an event is the client's position *after that event*. A browser remembers its last id and reconnects with
//! it, wherever the connection was cut. [`Session::client_positions`] guarantees that the position misses nothing on
//! any of the sequence's channels.
//!
//! [`Session::client_positions`]: lineside_hub::Session::client_positions

mod event;
mod last_event_id;
mod open;
mod connection;
mod stream;
mod transport;

use connection::SseConnection;
pub use connection::SseSubscriber;
pub use last_event_id::LastEventId;
pub use open::{SseOpenError, check_channels_exist};
pub use stream::SseStream;
pub use transport::SseRequest;

use std::ops::RangeInclusive;
use std::time::Duration;

/// The largest number of channels in one connection.
pub const CHANNELS_MAX: usize = 64;

pub const HEARTBEAT_INTERVAL: Duration = crate::centrifuge::PING_INTERVAL;

/// The range of the reconnect delay in milliseconds; random, so that clients that lost their server together do not
/// reconnect together.
pub const RETRY_MILLIS: RangeInclusive<u64> = 1_000..=5_000;

/// The largest `Last-Event-ID` that is read, in bytes; the rest is ignored.
pub const LAST_EVENT_ID_BYTES_MAX: usize = 48 << 10;
