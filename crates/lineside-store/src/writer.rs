//! The one thread that writes: it takes what was told, many things at a time, and puts them on the disk in one
//! transaction.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    thread,
    time::Duration,
};

use lineside_ingest::{
    ArchiveSpan, CacheValidators, FeedId, FeedState, FetchPhase, PollBin, PollRecord,
    ServedContent, SnapshotKey,
};
use lineside_sync::{Clock, UnixMillis};
use rusqlite::{Transaction, params};

use crate::{
    RetentionPolicy,
    blobs::BlobHash,
    delays::{self, DelayRow},
    error::is_transient,
    life::{insert_life, touch_life},
    limits::{BATCH_MAX, HEARTBEAT, PURGE_INTERVAL, RETRY},
    notification::{self, NotificationRow},
    reports::{self, ReportRow},
    retention::purge_expired,
    snapshots::{self, SnapshotRow},
    writable_file::WritableFile,
};

/// Something told.
#[derive(Debug)]
pub(crate) enum WriteRequest {
    /// A poll has ended.
    Poll { feed: FeedId, poll: PollRecord },
    /// A feed is paused, and this is served.
    Pause { feed: FeedId, at: UnixMillis, serving: ServedContent },
    /// A feed is in another state.
    State { feed: FeedId, state: FeedState, reason: String, since: UnixMillis },
    /// Last good bytes lie on the disk and are these feeds' now. Whoever waits is told the blobs that were before; what
    /// fails is not tried again, because newer bytes may come meanwhile.
    Snapshots { rows: Vec<SnapshotRow>, reply: SyncSender<Result<Vec<BlobHash>, String>> },
    /// A source has confirmed the last good bytes.
    Confirmed { key: SnapshotKey, at: UnixMillis, validators: CacheValidators },
    /// The bytes of a file that its system no longer has.
    Forgotten(SnapshotKey),
    /// These are all feeds.
    Feeds(Vec<FeedId>),
    /// A target was told something, or has taken it.
    Notification(NotificationRow),
    /// A version of a feed's data was looked at.
    Report(ReportRow),
    /// What was seen of delays in a quarter of an hour.
    Delays(Vec<DelayRow>),
    /// Somebody waits until all before this is on the disk.
    Flush(SyncSender<()>),
}

impl WriteRequest {
    /// Whether it has to outlive a power cut, and not only the process.
    fn must_be_durable(&self) -> bool {
        matches!(
            self,
            WriteRequest::State { .. }
                | WriteRequest::Snapshots { .. }
                | WriteRequest::Notification(_)
                | WriteRequest::Report(_)
                | WriteRequest::Flush(_)
        )
    }
}

/// What the writer counts.
#[derive(Debug, Default)]
pub(crate) struct WriterCounters {
    pub(crate) written: AtomicU64,
    /// Of what was told, how much is lost.
    pub(crate) lost: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) is_failing: AtomicBool,
    pub(crate) bytes: AtomicU64,
    /// Nothing is tried again any more.
    pub(crate) is_closing: AtomicBool,
}

/// The writer's thread, as a value.
#[derive(Debug)]
pub(crate) struct DatabaseWriter {
    file: WritableFile,
    clock: Arc<dyn Clock>,
    keep: RetentionPolicy,
    counts: Arc<WriterCounters>,
    /// The numbers of feeds in the file.
    feeds: HashMap<FeedId, i64>,
    /// The row of this start of the server, once it is written.
    life: Arc<OnceLock<i64>>,
    /// When the server started.
    started_at: UnixMillis,
    /// All feeds that there are, once that was told.
    configured: Option<Vec<FeedId>>,
    /// When it was last noted that the server runs.
    seen: UnixMillis,
    /// When old rows were last looked for; none while some are left.
    purged: Option<UnixMillis>,
}

impl DatabaseWriter {
    /// Records this start of the server in the file, and closes what the last one left open. On a disk that takes
    /// nothing for now, the first commit that succeeds does so.
    ///
    /// # Errors
    /// If writing fails for a reason that does not pass.
    pub(crate) fn open_and_record_start(
        file: WritableFile,
        clock: Arc<dyn Clock>,
        keep: RetentionPolicy,
        counts: Arc<WriterCounters>,
    ) -> rusqlite::Result<DatabaseWriter> {
        let now = clock.wall_time();
        let mut writer = DatabaseWriter {
            file,
            clock,
            keep,
            counts,
            feeds: HashMap::new(),
            life: Arc::default(),
            started_at: now,
            configured: None,
            seen: now,
            purged: None,
        };
        match writer.record_start() {
            Err(error) if is_transient(&error) => writer.note_failure(&error),
            started => started?,
        }
        Ok(writer)
    }

    fn record_start(&mut self) -> rusqlite::Result<()> {
        let transaction = self.file.ensure_open()?.transaction()?;
        let life = insert_life(&transaction, self.started_at)?;
        transaction.commit()?;
        _ = self.life.set(life);
        Ok(())
    }

    /// The row of this start of the server, once it is written.
    pub(crate) fn life_row(&self) -> Arc<OnceLock<i64>> {
        Arc::clone(&self.life)
    }

    /// Writes until nobody can tell it anything any more, and then what is left.
    pub(crate) fn run_until_closed(mut self, told: &Receiver<WriteRequest>) {
        let mut batch = Vec::new();
        loop {
            let is_end = gather_batch(told, &mut batch);
            let now = self.clock.wall_time();
            let is_due = is_end || now.duration_since(self.seen) >= HEARTBEAT;
            if batch.is_empty() && !is_due {
                self.purge_expired(now);
            } else if self.write_batch(&mut batch, now) {
                if is_end {
                    return;
                }
                self.purge_expired(now);
            } else if is_end || self.counts.is_closing.load(Ordering::Relaxed) {
                self.drop_batch(&mut batch);
                return;
            } else {
                thread::park_timeout(RETRY);
            }
        }
    }

    /// Writes the batch, which is empty afterwards unless the same may succeed later. Tells whether it did succeed.
    fn write_batch(&mut self, batch: &mut Vec<WriteRequest>, now: UnixMillis) -> bool {
        match self.commit_batch(batch, now) {
            Ok(mut before) => {
                self.seen = now;
                self.counts.written.fetch_add(count_records(batch), Ordering::Relaxed);
                self.note_size();
                if self.counts.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!(file = %self.file.file_path().display(), "can be written again");
                }
                for told in batch.drain(..) {
                    // Who asked may have given up.
                    match told {
                        WriteRequest::Flush(reply) => drop(reply.try_send(())),
                        WriteRequest::Snapshots { reply, .. } => {
                            drop(reply.try_send(Ok(before.pop_front().unwrap_or_default())));
                        }
                        _ => {}
                    }
                }
                true
            }
            Err(error) => {
                // What the transaction would have made is not there.
                self.feeds.clear();
                self.note_failure(&error);
                refuse_snapshots(batch, &error);
                if !is_transient(&error) {
                    self.drop_batch(batch);
                }
                false
            }
        }
    }

    fn note_failure(&self, error: &rusqlite::Error) {
        self.counts.failures.fetch_add(1, Ordering::Relaxed);
        if !self.counts.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                file = %self.file.file_path().display(), %error,
                "cannot be written: polling and serving continue, history is lost until it can"
            );
        }
    }

    fn drop_batch(&self, batch: &mut Vec<WriteRequest>) {
        self.counts.lost.fetch_add(count_records(batch), Ordering::Relaxed);
        batch.clear();
    }

    /// Writes all in one transaction. Gives, for each [`WriteRequest::Snapshots`], the blobs that were before.
    fn commit_batch(
        &mut self,
        batch: &[WriteRequest],
        now: UnixMillis,
    ) -> rusqlite::Result<VecDeque<Vec<BlobHash>>> {
        let mut before = VecDeque::new();
        let synchronous =
            if batch.iter().any(WriteRequest::must_be_durable) { "FULL" } else { "NORMAL" };
        let connection = self.file.ensure_open()?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        let transaction = connection.transaction()?;
        let life = match self.life.get() {
            Some(life) => *life,
            None => insert_life(&transaction, self.started_at)?,
        };
        for told in batch {
            match told {
                WriteRequest::Poll { feed, poll } => {
                    let feed = feed_number(&transaction, &mut self.feeds, feed)?;
                    insert_poll(&transaction, feed, poll)?;
                    insert_bins(&transaction, feed, |span| PollBin::from_poll(poll, span))?;
                }
                WriteRequest::Pause { feed, at, serving } => {
                    let feed = feed_number(&transaction, &mut self.feeds, feed)?;
                    insert_bins(&transaction, feed, |span| {
                        PollBin::from_pause(*at, *serving, span)
                    })?;
                }
                WriteRequest::State { feed, state, reason, since } => {
                    let feed = feed_number(&transaction, &mut self.feeds, feed)?;
                    insert_incident(&transaction, feed, *state, reason, *since)?;
                }
                WriteRequest::Snapshots { rows, .. } => {
                    // A version more may be one too many.
                    self.purged = self.purged.filter(|_| rows.iter().all(|it| it.facts.is_none()));
                    before.push_back(upsert_snapshots(&transaction, &mut self.feeds, rows)?);
                }
                WriteRequest::Confirmed { key, at, validators } => {
                    let feed = feed_number(&transaction, &mut self.feeds, &key.feed)?;
                    snapshots::confirm_row(&transaction, feed, key, *at, validators)?;
                }
                WriteRequest::Forgotten(key) => {
                    let feed = feed_number(&transaction, &mut self.feeds, &key.feed)?;
                    snapshots::delete_row(&transaction, feed, &key.file)?;
                }
                WriteRequest::Feeds(feeds) => {
                    snapshots::retain_feeds(&transaction, feeds, now)?;
                    self.configured = Some(feeds.clone());
                }
                WriteRequest::Notification(row) => {
                    let feed = feed_number(&transaction, &mut self.feeds, &row.feed)?;
                    notification::upsert_row(&transaction, feed, row)?;
                }
                WriteRequest::Report(row) => upsert_report(&transaction, &mut self.feeds, row)?,
                WriteRequest::Delays(rows) => upsert_delays(&transaction, &mut self.feeds, rows)?,
                WriteRequest::Flush(_) => {}
            }
        }
        touch_life(&transaction, life, now)?;
        transaction.commit()?;
        _ = self.life.set(life);
        Ok(before)
    }

    fn note_size(&self) {
        if let Ok(file) = std::fs::metadata(self.file.file_path()) {
            self.counts.bytes.store(file.len(), Ordering::Relaxed);
        }
    }

    fn purge_expired(&mut self, now: UnixMillis) {
        if self.purged.is_some_and(|at| now.duration_since(at) < PURGE_INTERVAL) {
            return;
        }
        let purged = self
            .file
            .ensure_open()
            .and_then(|file| purge_expired(file, now, &self.keep, self.configured.as_deref()));
        match purged {
            Ok(is_all) => self.purged = is_all.then_some(now),
            Err(error) => {
                // Later: whether the disk fails shows when something is to be written.
                self.purged = Some(now);
                tracing::warn!(file = %self.file.file_path().display(), %error, "old rows cannot be deleted");
            }
        }
    }
}

/// Writes the snapshots, and gives the blobs that they replace.
fn upsert_snapshots(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    rows: &[SnapshotRow],
) -> rusqlite::Result<Vec<BlobHash>> {
    let mut replaced = Vec::new();
    for row in rows {
        let feed = feed_number(transaction, feeds, &row.key.feed)?;
        replaced.extend(snapshots::upsert_row(transaction, feed, row)?);
    }
    Ok(replaced)
}

fn upsert_report(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    row: &ReportRow,
) -> rusqlite::Result<()> {
    let feed = feed_number(transaction, feeds, &row.feed)?;
    reports::upsert_row(transaction, feed, row)
}

fn upsert_delays(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    rows: &[DelayRow],
) -> rusqlite::Result<()> {
    for row in rows {
        let feed = feed_number(transaction, feeds, &row.feed)?;
        delays::upsert_row(transaction, feed, row)?;
    }
    Ok(())
}

/// How many things of a batch are polls, states and reports.
fn count_records(batch: &[WriteRequest]) -> u64 {
    batch.iter().filter(|told| is_counted_record(told)).count() as u64
}

fn is_counted_record(told: &WriteRequest) -> bool {
    matches!(told, WriteRequest::Poll { .. } | WriteRequest::State { .. } | WriteRequest::Report(_))
}

/// Takes the snapshots out of a batch that could not be written, and says so to those who wait.
fn refuse_snapshots(batch: &mut Vec<WriteRequest>, error: &rusqlite::Error) {
    batch.retain(|told| match told {
        WriteRequest::Snapshots { reply, .. } => {
            drop(reply.try_send(Err(format!("the file lineside.db cannot be written: {error}"))));
            false
        }
        _ => true,
    });
}

/// Waits for something told, and takes what is there besides. Tells whether nothing can come any more.
fn gather_batch(told: &Receiver<WriteRequest>, batch: &mut Vec<WriteRequest>) -> bool {
    let mut patience = if batch.is_empty() { HEARTBEAT } else { Duration::ZERO };
    while batch.len() < BATCH_MAX {
        match told.recv_timeout(patience) {
            Ok(next) => batch.push(next),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        }
        patience = Duration::ZERO;
    }
    false
}

fn feed_number(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    feed: &FeedId,
) -> rusqlite::Result<i64> {
    if let Some(number) = feeds.get(feed) {
        return Ok(*number);
    }
    transaction
        .prepare_cached("INSERT INTO feed (name) VALUES (?1) ON CONFLICT (name) DO NOTHING")?
        .execute([feed.as_str()])?;
    let number = transaction
        .prepare_cached("SELECT id FROM feed WHERE name = ?1")?
        .query_row([feed.as_str()], |row| row.get(0))?;
    feeds.insert(feed.clone(), number);
    Ok(number)
}

fn insert_poll(
    transaction: &Transaction<'_>,
    feed: i64,
    poll: &PollRecord,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO poll (feed, at, took, bytes, outcome, serving, words, phase, status, head) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let failure = poll.failure.as_ref();
    insert.execute(params![
        feed,
        poll.at.0,
        duration_to_millis(poll.took),
        saturate_to_i64(poll.bytes),
        poll.outcome.as_str(),
        poll.serving.to_number(),
        failure.map(|failure| failure.words.as_str()),
        failure.and_then(|failure| failure.phase).map(FetchPhase::as_str),
        failure.and_then(|failure| failure.status),
        failure.and_then(|failure| failure.head.as_deref()),
    ])?;
    Ok(())
}

/// Adds to the bin of the moment in every span.
fn insert_bins(
    transaction: &Transaction<'_>,
    feed: i64,
    bin: impl Fn(ArchiveSpan) -> PollBin,
) -> rusqlite::Result<()> {
    ArchiveSpan::ALL
        .into_iter()
        .try_for_each(|span| insert_bin(transaction, feed, span, &bin(span)))
}

/// Adds to a bin. `last_failed` is the number of what came last in it, which for polls is whether they failed.
fn insert_bin(
    transaction: &Transaction<'_>,
    feed: i64,
    span: ArchiveSpan,
    bin: &PollBin,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO bin (feed, width, start, polls, failed, stale, unserved, bytes, took, last_failed, last_serving) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
         ON CONFLICT (feed, width, start) DO UPDATE SET \
         polls = polls + excluded.polls, failed = failed + excluded.failed, stale = stale + excluded.stale, \
         unserved = unserved + excluded.unserved, bytes = bytes + excluded.bytes, took = took + excluded.took, \
         last_failed = excluded.last_failed, last_serving = excluded.last_serving",
    )?;
    insert.execute(params![
        feed,
        span.bin_seconds(),
        bin.start.0,
        bin.polls,
        bin.failed,
        bin.stale,
        bin.nothing,
        saturate_to_i64(bin.bytes),
        duration_to_millis(bin.took),
        bin.last.to_number(),
        bin.last_serving.to_number(),
    ])?;
    Ok(())
}

fn insert_incident(
    transaction: &Transaction<'_>,
    feed: i64,
    state: FeedState,
    reason: &str,
    since: UnixMillis,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE incident SET ended = MAX(began, ?2) WHERE feed = ?1 AND ended IS NULL",
        )?
        .execute(params![feed, since.0])?;
    transaction
        .prepare_cached(
            "INSERT INTO incident (feed, state, reason, began) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![feed, state.as_str(), reason, since.0])?;
    Ok(())
}

fn duration_to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn saturate_to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
