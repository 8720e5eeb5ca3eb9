//! Every bound of a client, in one place.

use std::time::Duration;

use crate::websocket::MESSAGE_BYTES_MAX;

/// How often clients are told that a ping comes.
pub const PING_INTERVAL: Duration = Duration::from_secs(25);

/// Most publications in one reply; what was missed beyond it follows as pushes.
pub const REPLY_PUBLICATIONS_MAX: usize = 300;

/// Most bytes of publications, or of members, in one reply. A publication that is larger alone stands in a history
/// all the same.
pub const REPLY_BYTES_MAX: usize = 64 << 10;

/// Members asked for at once.
pub(super) const PRESENCE_PAGE: usize = 256;

/// Replies from which on a frame is begun anew.
pub(super) const FRAME_BYTES: usize = 64 << 10;

/// Replies that a socket is given before it has taken some: then no further command is answered.
pub(super) const OUTBOX_BYTES: usize = 16 << 10;

/// Bytes of a command that cost as much as the command itself.
pub(super) const BYTES_PER_COMMAND: usize = 1 << 10;

/// What one connection may do.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Commands at once, each kibibyte beyond the first counting as one more: enough to subscribe again to as many
    /// channels as a session may have.
    pub commands_burst: u32,
    /// Commands a second in the long run.
    pub commands_per_second: u32,
    /// By when a connection has to say who it is.
    pub connect_within: Duration,
    /// By when it has to answer a ping.
    pub pong_within: Duration,
    /// How long after its token's expiry it is closed: a client asks for a new one only then.
    pub expired_delay: Duration,
    /// Bytes of its largest message.
    pub message_bytes_max: usize,
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
        }
    }
}
