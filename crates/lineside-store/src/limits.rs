//! Every bound of this crate, named once.

use std::time::Duration;

/// Things told that wait for the writer: at 500 feeds polled every 10 s, what comes in three minutes.
pub const QUEUE_MAX: usize = 10_000;
/// Things written in one transaction.
pub(crate) const BATCH_MAX: usize = 1_000;
/// How often the writer notes that the server runs; after a crash it is known this closely how long it did.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long the writer waits after a failure before it tries the same again.
pub(crate) const RETRY: Duration = Duration::from_secs(1);
/// How long a writer waits for another process that has locked the file, as a copying tool does.
pub(crate) const BUSY: Duration = Duration::from_millis(250);
/// Connections that read.
pub(crate) const READERS_MAX: usize = 4;
/// How long polls that brought something are kept one by one: as long as what is shown by the minute, and a little.
pub(crate) const DETAIL: Duration = Duration::from_secs(25 * 60 * 60);
/// Polls that brought something, beyond which the oldest go early.
pub(crate) const POLLS_MAX: i64 = 4_000_000;
/// Failed polls, beyond which the oldest go early.
pub(crate) const FAILED_MAX: i64 = 1_000_000;
/// Quarters of an hour of feeds and of their lines, beyond which the oldest go early: a day of all that a server looks at is
/// less than 1.1 million where it has 1,000 feeds.
pub(crate) const DELAYS_MAX: i64 = 1_200_000;
/// States of feeds, beyond which the oldest go early.
pub(crate) const INCIDENTS_MAX: i64 = 200_000;
/// Starts of the server, beyond which the oldest go early.
pub(crate) const LIVES_MAX: i64 = 10_000;
/// Reports of a feed's data that were refused, beyond which the oldest go. A producer that is broken may send other bytes each time.
pub(crate) const REFUSED_REPORTS_MAX: i64 = 5;
/// How often old rows are looked for.
pub(crate) const PURGE_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Rows of one kind that go at once: more would keep what is told waiting.
pub(crate) const PURGE_ROWS_MAX: i64 = 10_000;
/// How long an edit waits for its turn to be written; other writing takes milliseconds.
pub(crate) const EDIT_WAIT: Duration = Duration::from_secs(5);
/// Edits of the operator's, beyond which the oldest go.
pub(crate) const EDITS_MAX: i64 = 10_000;
/// How long [`flush`](crate::Store::flush) waits.
pub const FLUSH_MAX: Duration = Duration::from_secs(10);
/// How long it waits where writing fails: the writer tries again once in this time.
pub(crate) const FLUSH_FAILING_MAX: Duration = Duration::from_secs(2);
/// How often it looks whether writing fails.
pub(crate) const FLUSH_STEP: Duration = Duration::from_millis(100);
/// How often it is looked whether a thread has ended, which is waited for as long.
pub(crate) const END_LOOK: Duration = Duration::from_millis(5);
/// Bytes of one body that are read back.
pub(crate) const BLOB_BYTES_MAX: u64 = 4 << 30;
/// Bodies that wait to be kept, of each of the two threads; a feed waits for its own, so this is for that many feeds.
pub(crate) const SAVES_MAX: usize = 2_000;
/// Bodies that are kept together,
pub(crate) const SAVES_AT_ONCE: usize = 64;
/// unless they are as large as this.
pub(crate) const SAVES_BYTES_AT_ONCE: usize = 32 << 20;
/// Bodies from this size on have a thread of their own.
pub(crate) const LARGE_BYTES: usize = 8 << 20;
/// How often kept bodies are looked for that nothing refers to.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// How long the last good bytes of a feed stay that is no longer configured.
pub(crate) const UNUSED: Duration = Duration::from_secs(30 * 86_400);
/// How long it is known what a target of notifications was told: longer than a feed's trouble usually lasts, as else a restart
/// would tell it anew.
pub const NOTIFICATIONS: Duration = Duration::from_secs(366 * 86_400);
