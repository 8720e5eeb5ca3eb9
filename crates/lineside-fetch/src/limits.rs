//! All limits of this crate.

use std::time::Duration;

pub use lineside_model::limits::*;

/// Maximum number of redirects per fetch.
pub const REDIRECTS_MAX: usize = 5;
/// Maximum time of a whole fetch, however steadily its bytes arrive.
pub const FETCH_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Minimum average rate, in bytes per second, of a body that takes longer than its feed's timeout.
pub const BODY_RATE_MIN: u128 = 1024;
/// Maximum time for connecting, including name resolution and TLS, if the feed's timeout is longer.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum share of a feed's timeout for connecting, so that time remains for the reply.
pub const CONNECT_SHARE: f64 = 0.8;
/// Maximum time to wait for an error reply's body, of which only the beginning is needed.
pub const REPLY_HEAD_TIME_MAX: Duration = Duration::from_secs(2);
/// Maximum size of a token reply, in bytes.
pub const TOKEN_BYTES_MAX: usize = 64 << 10;
/// Lifetime of a token whose reply does not state one.
pub const TOKEN_LIFETIME_DEFAULT: Duration = Duration::from_secs(5 * 60);
/// Maximum time before expiry at which a token is renewed.
pub const TOKEN_RENEW_BEFORE_MAX: Duration = Duration::from_secs(60);
/// Initial time after a failed token request before the next one, for all feeds; longer after repeated failures.
pub const TOKEN_RETRY: Duration = Duration::from_secs(5);
/// Maximum number of files in a replayed folder.
pub const REPLAY_FILES_MAX: usize = 100_000;
/// Bytes at the beginning of a body that are examined to detect its format.
pub const PROBE_BYTES: usize = 4096;
/// Maximum interval between polls of a failing feed.
pub const BACKOFF_MAX: Duration = Duration::from_secs(5 * 60);
/// Maximum time for which a declared freshness is respected, in poll intervals.
pub const FRESH_POLLS_MAX: u32 = 10;
/// Maximum time for which a declared freshness is respected, unless the poll interval is longer.
pub const FRESH_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum `Retry-After` that is respected, if [`FRESH_POLLS_MAX`] poll intervals are shorter.
pub const RETRY_AFTER_MIN_MAX: Duration = Duration::from_secs(60 * 60);
/// Interval between the first polls of feeds on one host, shortened if they would not fit into a poll interval.
pub const HOST_START_GAP: Duration = Duration::from_millis(250);
/// Interval between the first polls of all feeds.
pub const START_GAP: Duration = Duration::from_millis(2);
/// Minimum poll interval.
pub const POLL_MIN: Duration = Duration::from_millis(50);
/// Maximum size of the files that an external program writes, as a multiple of the maximum size of its result.
pub const PROGRAM_FILE_TIMES: u64 = 4;
/// Bytes stored from the beginning of a program's standard error.
pub const STDERR_HEAD_BYTES_MAX: usize = 128;
/// Bytes stored from the end of a program's standard error, where the reason usually is. Beginning and end together fit
/// into [`REPLY_HEAD_BYTES`].
pub const STDERR_TAIL_BYTES_MAX: usize = 320;
