//! All limits of this crate.

use std::time::Duration;

/// Maximum length of a feed id, in characters.
pub const FEED_ID_CHARS_MAX: usize = 64;
/// Default maximum size of a body, in bytes.
pub const BODY_BYTES_MAX_DEFAULT: u64 = 512 << 20;
/// Bytes at the beginning of a reply that are stored and shown with a failure.
pub const REPLY_HEAD_BYTES: usize = 512;
/// Maximum length of an error message, in characters.
pub const FAILURE_CHARS_MAX: usize = 300;
/// Maximum number of requests in a rate; as many times are stored.
pub const RATE_COUNT_MAX: u32 = 1_000;
/// Default memory of all concurrent loads, in bytes, approximately.
pub const LOAD_MEMORY_DEFAULT: u64 = 4 << 30;
/// Maximum bytes of the changes or the state in one message (docs/protocol/messages.md).
pub const MESSAGE_BYTES_MAX: usize = 128 << 10;
/// Maximum number of departures in a stop's channel.
pub const BOARD_DEPARTURES: usize = 40;
/// Maximum size of a departure's JSON in a stop's channel: the departures that leave a board and those that replace
/// them must fit into one message together.
pub const BOARD_RECORD_BYTES_MAX: usize = MESSAGE_BYTES_MAX / (2 * BOARD_DEPARTURES);
/// Maximum number of calls on a trip's page; more than any real trip has.
pub const TRIP_CALLS_MAX: usize = 1_000;
/// Maximum number of vocabulary words that one search compares with misspelled query words, over all networks.
pub const SPELLING_COMPARISONS_MAX: usize = 200_000;
/// Maximum number of departures of a stop that are searched for a selection.
pub const STOP_DELAYS_MAX: usize = 1_000;
/// Time ahead within which a departure of a reported line counts as unknown if its trip is not reported: few producers
/// report trips that begin later.
pub const DELAYS_AHEAD: Duration = Duration::from_secs(30 * 60);
/// Maximum number of distinct ids per reason in a match report.
pub const MATCH_SAMPLES_MAX: usize = 10;
/// Maximum number of timetable ids shown for comparison with unknown ids in a match report.
pub const MATCH_TIMETABLE_IDS_MAX: usize = 3;
/// Maximum length of an id in a match report, in characters.
pub const MATCH_ID_CHARS_MAX: usize = 200;
/// Time that a stop's channel looks ahead.
pub const BOARD_HORIZON: Duration = Duration::from_secs(2 * 60 * 60);
/// Time for which a departure remains after it left.
pub const BOARD_LINGER: Duration = Duration::from_secs(60);
/// Maximum age of realtime data that give a departure its times; beyond it only the scheduled time is shown.
pub const BOARD_STALE_MAX: Duration = Duration::from_secs(20 * 60);
/// Maximum delay with which a departure is found under its scheduled time.
pub const BOARD_LATE_MAX: Duration = Duration::from_secs(3 * 60 * 60);
/// Maximum time by which a departure may be announced earlier than scheduled.
pub const BOARD_EARLY_MAX: Duration = Duration::from_secs(15 * 60);
/// Maximum time after the last live departure of a line at which a scheduled departure still counts as the same train,
/// if live trips cannot be matched with the timetable.
pub const LIVE_ONLY_EARLY_MAX: Duration = Duration::from_secs(3 * 60);
/// Scheduled departures that one board looks through.
pub const BOARD_SCHEDULED_MAX: usize = 4_000;
/// Maximum number of characters of a search text that are used.
pub const SEARCH_CHARS_MAX: usize = 100;
/// Maximum number of words of a search text that are used.
pub const SEARCH_WORDS_MAX: usize = 8;
/// Maximum number of poll bins of all feeds without a disk: about 100 MB.
pub const MEMORY_BINS_MAX: usize = 2_000_000;
/// Maximum number of polls of one feed without a disk; as many failed ones.
pub const MEMORY_POLLS_MAX: usize = 200;
/// Maximum number of states of one feed without a disk.
pub const MEMORY_INCIDENTS_MAX: usize = 200;
/// Default poll interval of a GBFS file that states no `ttl`.
pub const GBFS_TTL_DEFAULT: Duration = Duration::from_secs(60);
/// Maximum number of characters stored of a publisher's version name.
pub const VERSION_CHARS_MAX: usize = 200;
