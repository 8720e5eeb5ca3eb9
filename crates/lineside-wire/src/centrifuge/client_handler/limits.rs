//! The limits of a client, in one place.

use std::time::Duration;

use lineside_hub::SessionLimits;

pub use crate::partition::limits::PING_INTERVAL;
use crate::websocket::MESSAGE_BYTES_MAX;

/// The largest number of publications in one reply; further missed ones follow as pushes.
pub const REPLY_PUBLICATIONS_MAX: usize = 300;

/// The largest total of publications, or of members, in one reply, in bytes. A single larger publication is still
/// included in a history.
pub const REPLY_BYTES_MAX: usize = 64 << 10;

/// The number of members per request to the hub.
pub(super) const PRESENCE_PAGE: usize = 256;

/// The size of the replies in a frame, in bytes, from which on the next reply starts a new frame.
pub(super) const FRAME_BYTES: usize = 64 << 10;

/// The bytes of replies that may wait for the socket; beyond it no further command is answered.
pub(super) const OUTBOX_BYTES: usize = 16 << 10;

/// The bytes of a command that cost as much as the command itself.
pub(super) const BYTES_PER_COMMAND: usize = 1 << 10;

/// The limits of one connection.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// The commands that may come in a burst, each kibibyte beyond the first counting as one more. The default allows
    /// a client to subscribe again to as many channels as a session may have.
    pub commands_burst: u32,
    /// The commands per second in the long run.
    pub commands_per_second: u32,
    /// The time within which a connection must send connect.
    pub connect_within: Duration,
    /// The time within which a connection must answer a ping.
    pub pong_within: Duration,
    /// The delay from a token's expiry to the close of the connection: a client asks for a new token only at the
    /// expiry.
    pub expired_delay: Duration,
    /// The largest message in bytes.
    pub message_bytes_max: usize,
    pub session: SessionLimits,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            commands_burst: 2_048,
            commands_per_second: 64,
            connect_within: Duration::from_secs(10),
            pong_within: Duration::from_secs(10),
            expired_delay: Duration::from_secs(25),
            message_bytes_max: MESSAGE_BYTES_MAX,
            session: SessionLimits::default(),
        }
    }
}
