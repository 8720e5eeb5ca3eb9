//! All limits of this crate.

use std::time::Duration;

/// Maximum number of queued write requests: three minutes of polls of 500 feeds every 10 s.
pub const QUEUE_MAX: usize = 10_000;
/// Maximum number of requests in one transaction.
pub(crate) const BATCH_MAX: usize = 1_000;
/// Interval at which the writer records that the server runs; it is the precision of the end of a run after a crash.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);
/// Delay before the writer retries after a failure.
pub(crate) const RETRY: Duration = Duration::from_secs(1);
/// Timeout for a lock of the file by another process, such as a copying tool.
pub(crate) const BUSY: Duration = Duration::from_millis(250);
/// Maximum number of reading connections.
pub(crate) const READERS_MAX: usize = 4;
/// Retention of single successful polls: slightly longer than the view by the minute.
pub(crate) const SINGLE_POLL_RETENTION: Duration = Duration::from_secs(25 * 60 * 60);
/// Maximum number of successful polls; the oldest are deleted early.
pub(crate) const POLLS_MAX: i64 = 4_000_000;
/// Maximum number of failed polls; the oldest are deleted early.
pub(crate) const FAILED_MAX: i64 = 1_000_000;
/// Maximum number of delay rows of feeds and lines; the oldest are deleted early. A server with 1,000 feeds has less
/// than 1.1 million of them per day.
pub(crate) const DELAYS_MAX: i64 = 1_200_000;
/// Maximum number of incidents; the oldest are deleted early.
pub(crate) const INCIDENTS_MAX: i64 = 200_000;
/// Maximum number of server runs; the oldest are deleted early.
pub(crate) const SERVER_RUNS_MAX: i64 = 10_000;
/// Maximum number of reports on a feed's refused data; the oldest are deleted. A broken producer may send different
/// bytes each time.
pub(crate) const REFUSED_REPORTS_MAX: i64 = 5;
/// Interval of the deletion of old rows.
pub(crate) const PURGE_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Maximum number of rows of one kind deleted in one transaction: more would delay other writes.
pub(crate) const PURGE_ROWS_MAX: i64 = 10_000;
/// Timeout for an edit to get the write lock; other writes take milliseconds.
pub(crate) const EDIT_WAIT: Duration = Duration::from_secs(5);
/// Maximum number of edits; the oldest are deleted.
pub(crate) const EDITS_MAX: i64 = 10_000;
/// Timeout of [`flush_writes`](crate::Store::flush_writes).
pub const FLUSH_MAX: Duration = Duration::from_secs(10);
/// Timeout of a flush while writes fail; the writer retries once in this time.
pub(crate) const FLUSH_FAILING_MAX: Duration = Duration::from_secs(2);
/// Interval at which a flush checks if writes fail.
pub(crate) const FLUSH_STEP: Duration = Duration::from_millis(100);
/// Interval at which the end of a thread is checked while waiting for it.
pub(crate) const THREAD_END_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum size of a body that is read back, in bytes.
pub(crate) const BLOB_BYTES_MAX: u64 = 4 << 30;
/// Maximum number of queued bodies of each of the two threads. A feed waits for its own save, so this is the number of
/// feeds.
pub(crate) const SAVES_MAX: usize = 2_000;
/// Maximum number of bodies in one batch.
pub(crate) const SAVES_PER_BATCH_MAX: usize = 64;
/// Size at which a batch of bodies is complete, in bytes.
pub(crate) const SAVE_BYTES_PER_BATCH_MAX: usize = 32 << 20;
/// Size from which on a body is saved by the thread for large bodies, in bytes.
pub(crate) const LARGE_BYTES: usize = 8 << 20;
/// Interval of the deletion of unreferenced blobs.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Retention of the snapshots of feeds that are no longer configured.
pub(crate) const UNCONFIGURED_FEED_RETENTION: Duration = Duration::from_secs(30 * 86_400);
/// Retention of notifications. It exceeds the usual duration of a feed's trouble, because a restart would otherwise
/// repeat the notification.
pub const NOTIFICATION_RETENTION: Duration = Duration::from_secs(366 * 86_400);
