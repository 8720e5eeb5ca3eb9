//! All limits of this crate.

use std::time::Duration;

pub use lineside_fetch::limits::*;

/// Size above which a body is hashed on another thread: this many bytes take some hundred microseconds.
pub(crate) const HASH_CHUNK_BYTES_MAX: usize = 4 << 20;
/// Size above which bytes are copied on another thread, because that takes over a millisecond.
pub(crate) const COPY_INLINE_BYTES_MAX: usize = 2 << 20;
/// Maximum number of polls that wait for a network's writer; a feed task waits for its reply, so usually one per feed.
pub(crate) const INPUTS_MAX: usize = 64;
/// Maximum time for which a source test waits for the rate limit of its host.
pub(crate) const SOURCE_TEST_WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum number of schedules decoded concurrently; each may hold a whole timetable under construction.
pub(crate) const CONCURRENT_LOADS_MAX: usize = 2;
/// Maximum size of a record's JSON; a larger record is rejected, since it would fit no message.
pub(crate) const RECORD_BYTES_MAX: usize = 120 << 10;
/// Maximum number of records of one feed; a differential feed could otherwise grow forever.
pub(crate) const RECORDS_MAX: usize = 1_000_000;
/// Maximum number of stop visits of one journey, and of calls in them: more than any journey has. Each is compared with
/// those before it.
pub(crate) const JOURNEY_VISITS_MAX: usize = 1_000;
/// Interval at which boards advance while nothing else changes.
pub const BOARD_TICK: Duration = Duration::from_secs(15);
/// Interval at which a network checks for new subscribers of boards.
pub(crate) const BOARD_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of search results.
pub const SEARCH_LIMIT_MAX: usize = 1_000;
/// Maximum time for which `ready` waits for the first poll of every feed.
pub const READY_AFTER: Duration = Duration::from_secs(5);
/// Maximum size of the handoff file, in bytes.
pub const HANDOFF_BYTES_MAX: u64 = 4 << 30;
/// Maximum bytes of all publications in the handoff file; the newest are included.
pub const HANDOFF_PUBLICATIONS_BYTES_MAX: usize = 64 << 20;
/// Approximate size of the record chunks in the handoff file, in bytes.
pub(crate) const HANDOFF_CHUNK_BYTES: usize = 1 << 20;
/// Maximum time for which new bytes wait to be stored before they are served: a healthy disk takes milliseconds.
pub(crate) const SAVE_TIME_MAX: Duration = Duration::from_secs(2);
/// Additional time per MiB of new bytes.
pub(crate) const SAVE_TIME_PER_MIB: Duration = Duration::from_millis(100);
/// Interval at which a source's confirmation of its bytes is stored. After a crash they appear older by this at most.
pub(crate) const CONFIRM_INTERVAL: Duration = Duration::from_secs(60);
/// Minimum poll interval of a GBFS file by its `ttl`.
pub(crate) const GBFS_TTL_SHORTEST: Duration = Duration::from_secs(10);
/// Maximum poll interval of a GBFS file by its `ttl`.
pub(crate) const GBFS_TTL_LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum size of a GBFS file, in bytes, even if its feed allows more.
pub(crate) const GBFS_FILE_BYTES_MAX: u64 = 64 << 20;
/// Size above which a GBFS file is decoded on a blocking thread.
pub(crate) const GBFS_INLINE_BYTES_MAX: usize = 64 << 10;
/// Maximum size of a GBFS file's data about one station or vehicle: two of them make a record.
pub(crate) const SYSTEM_PIECE_BYTES_MAX: usize = RECORD_BYTES_MAX / 2 - 1_024;
/// Maximum number of hosts, besides that of the discovery file, from which GBFS files are fetched.
pub(crate) const GBFS_OTHER_HOSTS_MAX: usize = 4;
/// Maximum number of fetch durations stored per feed.
pub const FETCH_TIMES_MAX: usize = 256;
/// Maximum number of schedules converted concurrently.
pub(crate) const SCHEDULE_CONVERSIONS_MAX: usize = 2;
/// Maximum number of realtime messages converted concurrently.
pub(crate) const REALTIME_CONVERSIONS_MAX: usize = 4;
