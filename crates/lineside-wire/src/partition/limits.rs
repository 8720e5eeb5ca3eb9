//! The limits of a partition, in one place.

use std::time::Duration;

/// The interval of pings, as announced to clients.
pub const PING_INTERVAL: Duration = Duration::from_secs(25);

/// The longest time that a socket may accept nothing while output waits for it.
pub const STALL_MAX: Duration = Duration::from_secs(30);

/// The time that a closing connection has to read the last output.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The bytes that a socket is given before others have their turn; one message may exceed it.
pub(super) const SLICE_BYTES: usize = 64 << 10;

/// The pieces in one write; every system accepts at least as many (`IOV_MAX` is 1,024).
pub(super) const PIECES_MAX: usize = 64;

/// The bytes read from one socket before others have their turn.
pub(super) const READ_SLICE_BYTES: usize = 64 << 10;

/// The bytes of replies that may wait for a socket; beyond it the socket is not read.
pub(super) const OUTBOX_BYTES: usize = 16 << 10;

/// The connections written to before other rooms, reads and new connections have their turn.
pub(super) const ROWS_PER_SLICE: usize = 64;

/// The slices of live writes before the sockets are polled again.
pub(super) const SLICES_PER_TURN: usize = 16;

/// The connections with much output that get a slice before news is checked again: about half a millisecond.
pub(super) const BUSY_PER_TURN: usize = 8;

/// The longest time that publications are coalesced when a room is behind.
pub const COALESCE: Duration = Duration::from_millis(10);

/// The connections that may receive a state at the same time: each has a slice in the process and about as much in the
/// kernel's buffer, so that at most 64 MiB are in transfer.
pub(super) const STATES_AT_ONCE: usize = 512;

/// The connections that may wait to be accepted by a partition; beyond it they are refused.
pub(super) const PENDING_CONNECTIONS_MAX: usize = 4_096;

/// The connections accepted before news is checked again.
pub(super) const ACCEPTS_PER_TURN: usize = 32;

/// The socket events per poll, all of which are handled before news is checked again.
pub(super) const EVENTS_AT_ONCE: usize = 64;

/// The unsent bytes that the kernel accepts from a socket before it reports the socket as full, so that a reader's lag
/// is visible here.
#[cfg(target_os = "linux")]
pub(super) const NOT_SENT_BYTES: u32 = 64 << 10;

/// The bytes that TLS encrypts before the socket has accepted them: one record.
pub(super) const TLS_BUFFER_BYTES: usize = 16 << 10;
