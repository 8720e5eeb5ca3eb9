//! All limits of this crate.

use std::time::Duration;

/// Maximum length of a feed id, in characters.
pub const FEED_ID_CHARS_MAX: usize = 64;
/// Default maximum size of a body, in bytes.
pub const BODY_BYTES_MAX_DEFAULT: u64 = 512 << 20;
/// Maximum number of redirects per fetch.
pub(crate) const REDIRECTS_MAX: usize = 5;
/// Maximum time of a whole fetch, however steadily its bytes arrive.
pub(crate) const FETCH_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Minimum average rate, in bytes per second, of a body that takes longer than its feed's timeout.
pub(crate) const BODY_RATE_MIN: u128 = 1024;
/// Maximum time for connecting, including name resolution and TLS, if the feed's timeout is longer.
pub(crate) const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum share of a feed's timeout for connecting, so that time remains for the reply.
pub(crate) const CONNECT_SHARE: f64 = 0.8;
/// Bytes at the beginning of a reply that are stored and shown with a failure.
pub const REPLY_HEAD_BYTES: usize = 512;
/// Maximum time to wait for an error reply's body, of which only the beginning is needed.
pub(crate) const REPLY_HEAD_TIME_MAX: Duration = Duration::from_secs(2);
/// Maximum size of a token reply, in bytes.
pub(crate) const TOKEN_BYTES_MAX: usize = 64 << 10;
/// Lifetime of a token whose reply does not state one.
pub(crate) const TOKEN_LIFETIME_DEFAULT: Duration = Duration::from_secs(5 * 60);
/// Maximum time before expiry at which a token is renewed.
pub(crate) const TOKEN_RENEW_BEFORE_MAX: Duration = Duration::from_secs(60);
/// Initial time after a failed token request before the next one, for all feeds; longer after repeated failures.
pub(crate) const TOKEN_RETRY: Duration = Duration::from_secs(5);
/// Maximum length of an error message, in characters.
pub(crate) const FAILURE_CHARS_MAX: usize = 300;
/// Maximum number of files in a replayed folder.
pub(crate) const REPLAY_FILES_MAX: usize = 100_000;
/// Bytes at the beginning of a body that are examined to detect its format.
pub(crate) const PROBE_BYTES: usize = 4096;
/// Size above which a body is hashed on another thread: this many bytes take some hundred microseconds.
pub(crate) const HASH_CHUNK_BYTES_MAX: usize = 4 << 20;
/// Maximum interval between polls of a failing feed.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(5 * 60);
/// Maximum time for which a declared freshness is respected, in poll intervals.
pub(crate) const FRESH_POLLS_MAX: u32 = 10;
/// Maximum time for which a declared freshness is respected, unless the poll interval is longer.
pub(crate) const FRESH_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum `Retry-After` that is respected, if [`FRESH_POLLS_MAX`] poll intervals are shorter.
pub(crate) const RETRY_AFTER_MIN_MAX: Duration = Duration::from_secs(60 * 60);
/// Interval between the first polls of feeds on one host, shortened if they would not fit into a poll interval.
pub(crate) const HOST_START_GAP: Duration = Duration::from_millis(250);
/// Interval between the first polls of all feeds.
pub(crate) const START_GAP: Duration = Duration::from_millis(2);
/// Size above which bytes are copied on another thread, because that takes over a millisecond.
pub(crate) const COPY_INLINE_BYTES_MAX: usize = 2 << 20;
/// Maximum number of requests in a rate; as many times are stored.
pub const RATE_COUNT_MAX: u32 = 1_000;
/// Minimum poll interval.
pub(crate) const POLL_MIN: Duration = Duration::from_millis(50);
/// Maximum number of polls that wait for a network's writer; a feed task waits for its reply, so usually one per feed.
pub(crate) const INPUTS_MAX: usize = 64;
/// Time after which a feed retries if the writer's queue is full.
pub(crate) const INPUT_RETRY: Duration = Duration::from_millis(20);
/// Maximum time for which a source test waits for the rate limit of its host.
pub(crate) const SOURCE_TEST_WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum number of schedules decoded concurrently; each may hold a whole timetable under construction.
pub(crate) const CONCURRENT_LOADS_MAX: usize = 2;
/// Default memory of all concurrent loads, in bytes, approximately.
pub const LOAD_MEMORY_DEFAULT: u64 = 4 << 30;
/// Maximum bytes of the changes or the state in one message (docs/protocol/messages.md).
pub const MESSAGE_BYTES_MAX: usize = 128 << 10;
/// Maximum size of a record's JSON; a larger record is rejected, since it would fit no message.
pub(crate) const RECORD_BYTES_MAX: usize = 120 << 10;
/// Maximum number of records of one feed; a differential feed could otherwise grow forever.
pub(crate) const RECORDS_MAX: usize = 1_000_000;
/// Maximum number of stop visits of one journey, and of calls in them: more than any journey has. Each is compared with
/// those before it.
pub(crate) const JOURNEY_VISITS_MAX: usize = 1_000;
/// Maximum number of departures in a stop's channel.
pub const BOARD_DEPARTURES: usize = 40;
/// Maximum size of a departure's JSON in a stop's channel: the departures that leave a board and those that replace
/// them must fit into one message together.
pub(crate) const BOARD_RECORD_BYTES_MAX: usize = MESSAGE_BYTES_MAX / (2 * BOARD_DEPARTURES);
/// Maximum number of calls on a trip's page; more than any real trip has.
pub const TRIP_CALLS_MAX: usize = 1_000;
/// Maximum number of vocabulary words that one search compares with misspelled query words, over all networks.
pub(crate) const SPELLING_COMPARISONS_MAX: usize = 200_000;
/// Maximum number of departures of a stop that are searched for a selection.
pub const STOP_DELAYS_MAX: usize = 1_000;
/// Time ahead within which a departure of a reported line counts as unknown if its trip is not reported: few producers
/// report trips that begin later.
pub(crate) const DELAYS_AHEAD: Duration = Duration::from_secs(30 * 60);
/// Maximum number of distinct ids per reason in a match report.
pub(crate) const MATCH_SAMPLES_MAX: usize = 10;
/// Maximum number of timetable ids shown for comparison with unknown ids in a match report.
pub(crate) const MATCH_TIMETABLE_IDS_MAX: usize = 3;
/// Maximum length of an id in a match report, in characters.
pub(crate) const MATCH_ID_CHARS_MAX: usize = 200;
/// Time that a stop's channel looks ahead.
pub const BOARD_HORIZON: Duration = Duration::from_secs(2 * 60 * 60);
/// Time for which a departure remains after it left.
pub const BOARD_LINGER: Duration = Duration::from_secs(60);
/// Maximum age of realtime data that give a departure its times; beyond it only the scheduled time is shown.
pub const BOARD_STALE_MAX: Duration = Duration::from_secs(20 * 60);
/// Maximum delay with which a departure is found under its scheduled time.
pub(crate) const BOARD_LATE_MAX: Duration = Duration::from_secs(3 * 60 * 60);
/// Maximum time by which a departure may be announced earlier than scheduled.
pub(crate) const BOARD_EARLY_MAX: Duration = Duration::from_secs(15 * 60);
/// Maximum time after the last live departure of a line at which a scheduled departure still counts as the same train,
/// if live trips cannot be matched with the timetable.
pub(crate) const LIVE_ONLY_EARLY_MAX: Duration = Duration::from_secs(3 * 60);
/// Scheduled departures that one board looks through.
pub(crate) const BOARD_SCHEDULED_MAX: usize = 4_000;
/// Interval at which boards advance while nothing else changes.
pub const BOARD_TICK: Duration = Duration::from_secs(15);
/// Interval at which a network checks for new subscribers of boards.
pub(crate) const BOARD_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of search results.
pub const SEARCH_LIMIT_MAX: usize = 1_000;
/// Maximum number of characters of a search text that are used.
pub(crate) const SEARCH_CHARS_MAX: usize = 100;
/// Maximum number of words of a search text that are used.
pub(crate) const SEARCH_WORDS_MAX: usize = 8;
/// Maximum time for which `ready` waits for the first poll of every feed.
pub const READY_AFTER: Duration = Duration::from_secs(5);
/// Maximum size of the handoff file, in bytes.
pub const HANDOFF_BYTES_MAX: u64 = 4 << 30;
/// Maximum bytes of all publications in the handoff file; the newest are included.
pub const HANDOFF_PUBLICATIONS_BYTES_MAX: usize = 64 << 20;
/// Approximate size of the record chunks in the handoff file, in bytes.
pub(crate) const HANDOFF_CHUNK_BYTES: usize = 1 << 20;
/// Maximum number of poll bins of all feeds without a disk: about 100 MB.
pub(crate) const MEMORY_BINS_MAX: usize = 2_000_000;
/// Maximum number of polls of one feed without a disk; as many failed ones.
pub(crate) const MEMORY_POLLS_MAX: usize = 200;
/// Maximum number of states of one feed without a disk.
pub(crate) const MEMORY_INCIDENTS_MAX: usize = 200;
/// Maximum time for which new bytes wait to be stored before they are served: a healthy disk takes milliseconds.
pub(crate) const SAVE_TIME_MAX: Duration = Duration::from_secs(2);
/// Additional time per MiB of new bytes.
pub(crate) const SAVE_TIME_PER_MIB: Duration = Duration::from_millis(100);
/// Interval at which a source's confirmation of its bytes is stored. After a crash they appear older by this at most.
pub(crate) const CONFIRM_INTERVAL: Duration = Duration::from_secs(60);
/// Default poll interval of a GBFS file that states no `ttl`.
pub(crate) const GBFS_TTL_DEFAULT: Duration = Duration::from_secs(60);
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
/// Maximum number of characters stored of a publisher's version name.
pub(crate) const VERSION_CHARS_MAX: usize = 200;
/// Maximum number of fetch durations stored per feed.
pub const FETCH_TIMES_MAX: usize = 256;
/// Maximum size of the files that an external program writes, as a multiple of the maximum size of its result.
pub(crate) const PROGRAM_FILE_TIMES: u64 = 4;
/// Bytes stored from the beginning of a program's standard error.
pub(crate) const STDERR_HEAD_BYTES_MAX: usize = 128;
/// Bytes stored from the end of a program's standard error, where the reason usually is. Beginning and end together fit
/// into [`REPLY_HEAD_BYTES`].
pub(crate) const STDERR_TAIL_BYTES_MAX: usize = 320;
/// Maximum number of schedules converted concurrently.
pub(crate) const SCHEDULE_CONVERSIONS_MAX: usize = 2;
/// Maximum number of realtime messages converted concurrently.
pub(crate) const REALTIME_CONVERSIONS_MAX: usize = 4;
