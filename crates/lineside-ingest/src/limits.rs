//! Every bound of this crate, named once.

use std::time::Duration;

/// Longest feed id, in characters.
pub const FEED_ID_CHARS_MAX: usize = 64;
/// Bytes that a body may have unless its feed says otherwise.
pub const BODY_BYTES_MAX_DEFAULT: u64 = 512 << 20;
/// Redirects that are followed for one fetch.
pub(crate) const REDIRECTS_MAX: usize = 5;
/// A whole fetch ends here, however steadily its bytes drip.
pub(crate) const FETCH_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Bytes per second that a body brings on average once it takes longer than its feed's timeout.
pub(crate) const BODY_RATE_MIN: u128 = 1024;
/// Connecting, with name lookup and TLS, ends here even where the feed's timeout is longer.
pub(crate) const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Of a feed's timeout, connecting may take this part at most, so that what follows it has some.
pub(crate) const CONNECT_SHARE: f64 = 0.8;
/// Bytes at the head of a reply that are kept and shown with a failure.
pub const REPLY_HEAD_BYTES: usize = 512;
/// How long a refusal's body is waited for, of which only the head is wanted.
pub(crate) const REPLY_HEAD_TIME_MAX: Duration = Duration::from_secs(2);
/// Bytes of an answer that has a token in it.
pub(crate) const TOKEN_BYTES_MAX: usize = 64 << 10;
/// How long a token is good whose answer does not say so.
pub(crate) const TOKEN_LIFE_USUAL: Duration = Duration::from_secs(5 * 60);
/// A token is renewed at most this long before it expires.
pub(crate) const TOKEN_RENEW_BEFORE_MAX: Duration = Duration::from_secs(60);
/// Whoever gave no token is not asked again for this time, by whatever feeds, and for longer if there is none again.
pub(crate) const TOKEN_RETRY: Duration = Duration::from_secs(5);
/// Longest text of one failure that is kept and shown, in characters.
pub(crate) const FAILURE_CHARS_MAX: usize = 300;
/// Files of one folder of successive snapshots.
pub(crate) const REPLAY_FILES_MAX: usize = 100_000;
/// Bytes at the head of a body that are looked at to find its format.
pub(crate) const PROBE_BYTES: usize = 4096;
/// A larger body is not hashed between other work: this many bytes take some hundred microseconds.
pub(crate) const HASHED_AT_ONCE_MAX: usize = 4 << 20;
/// A feed in trouble is polled at least this often.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(5 * 60);
/// A producer that calls a reply fresh for long is obeyed for this many polls,
pub(crate) const FRESH_POLLS_MAX: u32 = 10;
/// and no longer than this, unless the operator polls still more rarely.
pub(crate) const FRESH_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// `Retry-After` is obeyed for as long, and up to this time however short the polls are.
pub(crate) const RETRY_AFTER_LEAST_MAX: Duration = Duration::from_secs(60 * 60);
/// At a start the feeds of one host are asked this far apart, or closer if they would not fit into an interval.
pub(crate) const START_GAP_OF_HOST: Duration = Duration::from_millis(250);
/// At a start all feeds together are asked this far apart.
pub(crate) const START_GAP: Duration = Duration::from_millis(2);
/// Bytes that are copied where they arrived; more of them elsewhere, because that takes over a millisecond.
pub(crate) const COPY_INLINE_BYTES_MAX: usize = 2 << 20;
/// Requests of one rate; as many times are remembered.
pub const RATE_COUNT_MAX: u32 = 1_000;
/// Nothing is polled more often than this.
pub(crate) const POLL_MIN: Duration = Duration::from_millis(50);
/// Polls that may wait for a network's writer; a feed task waits for its answer, so one per feed is the use.
pub(crate) const INPUTS_MAX: usize = 64;
/// How long a feed waits that found no room for its input.
pub(crate) const INPUT_RETRY: Duration = Duration::from_millis(20);
/// The longest that a test of a source waits for the rate limit of its host.
pub(crate) const SOURCE_TEST_WAIT_MAX: Duration = Duration::from_secs(5);
/// Schedules that are decoded at the same time; each may hold a whole timetable under construction.
pub(crate) const LOADS_AT_ONCE: usize = 2;
/// Bytes that they may take together unless the operator says otherwise, about.
pub const LOAD_MEMORY_DEFAULT: u64 = 4 << 30;
/// Bytes that the changes or the state of one message hold at most (docs/protocol/messages.md).
pub const MESSAGE_BYTES_MAX: usize = 128 << 10;
/// A record whose JSON could exceed this is refused: it would not fit any message.
pub(crate) const RECORD_BYTES_MAX: usize = 120 << 10;
/// Records that one feed may hold; a differential feed could otherwise grow for ever.
pub(crate) const RECORDS_MAX: usize = 1_000_000;
/// Visits of one journey at stops that are taken, and calls that they tell of: more than any journey has. Each is compared with
/// those before it.
pub(crate) const VISITS_OF_JOURNEY_MAX: usize = 1_000;
/// Departures that a stop's channel holds.
pub const BOARD_DEPARTURES: usize = 40;
/// A departure whose JSON could exceed this is left out of its stop's channel: what leaves a board and what takes its
/// place have to fit one message together.
pub(crate) const BOARD_RECORD_BYTES_MAX: usize = MESSAGE_BYTES_MAX / (2 * BOARD_DEPARTURES);
/// Calls of one trip that its page shows; more than any real trip has.
pub const TRIP_CALLS_MAX: usize = 1_000;
/// Vocabulary words that one search compares with misspelled words of a query, over all networks.
pub(crate) const SPELLING_COMPARISONS_MAX: usize = 200_000;
/// Departures of a stop that are looked at where only some of them are wanted.
pub const DELAYS_OF_STOP_MAX: usize = 1_000;
/// How far ahead a departure counts as unknown whose line is told of, but not its trip: few producers tell of what begins later.
pub(crate) const DELAYS_AHEAD: Duration = Duration::from_secs(30 * 60);
/// Different ids that a report of matches shows for each reason.
pub(crate) const MATCH_SAMPLES_MAX: usize = 10;
/// Ids of the timetable that it shows beside those that are not known.
pub(crate) const MATCH_KNOWN_IDS: usize = 3;
/// Characters of an id in it.
pub(crate) const MATCH_ID_CHARS_MAX: usize = 200;
/// How far ahead a stop's channel looks.
pub const BOARD_HORIZON: Duration = Duration::from_secs(2 * 60 * 60);
/// How long a departure stays after it left.
pub const BOARD_LINGER: Duration = Duration::from_secs(60);
/// How old a real-time feed's data may be and still give a departure its times; the scheduled one stays.
pub const BOARD_STALE_MAX: Duration = Duration::from_secs(20 * 60);
/// How late a departure may be and still be found under its scheduled time.
pub(crate) const BOARD_LATE_MAX: Duration = Duration::from_secs(3 * 60 * 60);
/// How much earlier than scheduled a departure may be announced.
pub(crate) const BOARD_EARLY_MAX: Duration = Duration::from_secs(15 * 60);
/// Scheduled departures that one board looks through.
pub(crate) const BOARD_SCHEDULED_MAX: usize = 4_000;
/// How often the boards move on while nothing else changes.
pub const BOARD_TICK: Duration = Duration::from_secs(15);
/// How often a network looks whether somebody began to listen to a board.
pub(crate) const BOARD_LOOK: Duration = Duration::from_secs(1);
/// Results of one search.
pub const SEARCH_LIMIT_MAX: usize = 1_000;
/// Characters of a search text that count.
pub(crate) const SEARCH_CHARS_MAX: usize = 100;
/// Words of a search text that count.
pub(crate) const SEARCH_WORDS_MAX: usize = 8;
/// How long `ready` waits for the first poll of every feed.
pub const READY_AFTER: Duration = Duration::from_secs(5);
/// Bytes of the file that one process leaves to the next.
pub const KEPT_BYTES_MAX: u64 = 4 << 30;
/// Bytes of all publications in it; the newest are kept.
pub const KEPT_RINGS_BYTES_MAX: usize = 64 << 20;
/// Records are written to it in pieces of about this size.
pub(crate) const KEPT_CHUNK_BYTES: usize = 1 << 20;
/// Pieces of time that all feeds together are remembered by where there is no disk: about 100 MB.
pub(crate) const MEMORY_BINS_MAX: usize = 2_000_000;
/// Polls of one feed that are remembered one by one where there is no disk; as many failed ones.
pub(crate) const MEMORY_POLLS_MAX: usize = 200;
/// States of one feed that are remembered where there is no disk.
pub(crate) const MEMORY_INCIDENTS_MAX: usize = 200;
/// How long new bytes wait to be kept before they are served: a disk that is well takes milliseconds.
pub(crate) const SAVE_TIME_MAX: Duration = Duration::from_secs(2);
/// How much longer for each MiB of them.
pub(crate) const SAVE_TIME_OF_BYTES: Duration = Duration::from_millis(100);
/// How often it is kept that a source confirmed its bytes. After a crash they seem older by this at most.
pub(crate) const CONFIRM_INTERVAL: Duration = Duration::from_secs(60);
/// A file of a GBFS system is asked for this often if it does not say how long it is good,
pub(crate) const GBFS_TTL_USUAL: Duration = Duration::from_secs(60);
/// and never more often than this by its own word,
pub(crate) const GBFS_TTL_SHORTEST: Duration = Duration::from_secs(10);
/// nor more rarely than this.
pub(crate) const GBFS_TTL_LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of each file of a system, also where its feed may have more.
pub(crate) const GBFS_FILE_BYTES_MAX: u64 = 64 << 20;
/// A file of a system beyond this is read on a thread that may be kept busy.
pub(crate) const GBFS_INLINE_BYTES_MAX: usize = 64 << 10;
/// What a file may say of one station or vehicle: two of these are a record.
pub(crate) const SYSTEM_PIECE_BYTES_MAX: usize = RECORD_BYTES_MAX / 2 - 1_024;
/// Hosts, besides that of its discovery file, from which files of a system are fetched.
pub(crate) const GBFS_OTHER_HOSTS_MAX: usize = 4;
/// Characters of a publisher's name for a version that are kept.
pub(crate) const VERSION_CHARS_MAX: usize = 200;
/// Fetches of a feed whose durations are remembered for who watches it.
pub const FETCH_TIMES_MAX: usize = 256;
/// A program of the operator's may write files of so many times the bytes that its result may have.
pub(crate) const PROGRAM_FILE_TIMES: u64 = 4;
/// Bytes of what a program says on its standard error that are kept from the beginning,
pub(crate) const SAID_HEAD_BYTES_MAX: usize = 128;
/// and from the end, where the reason usually is. Both together fit into [`REPLY_HEAD_BYTES`].
pub(crate) const SAID_TAIL_BYTES_MAX: usize = 320;
/// Schedules that are converted at the same time.
pub(crate) const CONVERSIONS_OF_SCHEDULES: usize = 2;
/// Messages of real time that are converted at the same time.
pub(crate) const CONVERSIONS_OF_REAL_TIME: usize = 4;
