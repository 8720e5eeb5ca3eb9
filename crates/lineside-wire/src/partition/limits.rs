//! Every bound of a partition, in one place.

use std::time::Duration;

pub use crate::centrifuge::PING_INTERVAL;

/// How long a socket may take nothing while something waits for it.
pub const STALL_MAX: Duration = Duration::from_secs(30);

/// How long a closed connection may take to read what was said last.
pub const FAREWELL_MAX: Duration = Duration::from_secs(3);

/// Bytes that a socket is given at once before others have their turn; one message may pass it.
pub(super) const SLICE_BYTES: usize = 64 << 10;

/// Pieces in one write; what the system takes at least (`IOV_MAX` is 1,024).
pub(super) const PIECES_MAX: usize = 64;

/// Bytes read from one socket before others have their turn.
pub(super) const READ_SLICE_BYTES: usize = 64 << 10;

/// Replies that may wait for a socket; beyond it the session is not read.
pub(super) const OUTBOX_BYTES: usize = 16 << 10;

/// Rows written to before other rooms, reads and newcomers have their turn.
pub(super) const ROWS_PER_SLICE: usize = 64;

/// Slices of live writes before the sockets are looked at again.
pub(super) const SLICES_PER_TURN: usize = 16;

/// Rows with much to write that are given a slice before news are looked at again: half a millisecond's worth.
pub(super) const BUSY_PER_TURN: usize = 8;

/// The longest that publications wait for each other where a partition is behind.
pub const COALESCE: Duration = Duration::from_millis(10);

/// Rows that are given a state at the same time: each has a slice in hand and about as much in the
/// kernel's buffer, so that 64 MiB are under way at most.
pub(super) const STATES_AT_ONCE: usize = 512;

/// Newcomers that wait to be taken in; beyond it who brings one waits.
pub(super) const NEWCOMERS_MAX: usize = 4_096;

/// Newcomers taken in before news are looked at again.
pub(super) const NEWCOMERS_PER_TURN: usize = 32;

/// Sockets of which the system tells at once, all of which are seen to before news are looked at again.
pub(super) const EVENTS_AT_ONCE: usize = 64;

/// Bytes not yet sent that the kernel takes from a socket before it says that it is full, so that a reader's
/// lag is ours to see.
#[cfg(target_os = "linux")]
pub(super) const NOT_SENT_BYTES: u32 = 64 << 10;

/// Bytes that TLS encrypts before the socket has taken them: one record.
pub(super) const TLS_BUFFER_BYTES: usize = 16 << 10;
