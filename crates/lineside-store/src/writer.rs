//! The only writing thread: it collects requests and writes them to the disk in one transaction.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use lineside_model::{ArchiveSpan, FeedId, FeedState, FetchPhase, PollBin, PollRecord};
use lineside_sync::{Clock, UnixMillis};
use rusqlite::{Transaction, params};

use crate::{
    blob_hash::BlobHash,
    error::is_transient_sqlite_error,
    limits::{BATCH_MAX, HEARTBEAT, PURGE_INTERVAL, RETRY},
    tables::{
        delays::{self, DelayCountRow},
        life::{insert_server_run, update_server_last_seen},
        notification,
        reports::{self, ReportRow},
        retention::{RetentionPolicy, delete_expired_rows},
        snapshots::{self, SnapshotRow},
    },
    writable_file::LazyWriteConnection,
    write_request::WriteRequest,
};

#[derive(Debug, Default)]
pub(crate) struct WriterCounters {
    pub(crate) written: AtomicU64,
    /// Number of dropped records.
    pub(crate) lost: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) is_failing: AtomicBool,
    pub(crate) bytes: AtomicU64,
    /// True if failed writes are no longer retried.
    pub(crate) is_closing: AtomicBool,
}

/// The state of the writing thread.
#[derive(Debug)]
pub(crate) struct DatabaseWriter {
    file: LazyWriteConnection,
    clock: Arc<dyn Clock>,
    retention: RetentionPolicy,
    counts: Arc<WriterCounters>,
    /// The row ids of feeds.
    feeds: HashMap<FeedId, i64>,
    /// The row of this run of the server, once it is written.
    server_run: Arc<OnceLock<i64>>,
    /// Time of the server's start.
    started_at: UnixMillis,
    /// All configured feeds, once known.
    configured: Option<Vec<FeedId>>,
    /// Time at which it was last recorded that the server runs.
    seen: UnixMillis,
    /// Time of the last deletion of old rows; `None` while some are left.
    purged: Option<UnixMillis>,
}

impl DatabaseWriter {
    /// Records this start of the server in the file, and ends incidents that the last run left open. If the disk fails
    /// temporarily, the first successful commit does so.
    ///
    /// # Errors
    /// Returns an error if the write fails permanently.
    pub(crate) fn open_and_record_server_start(
        file: LazyWriteConnection,
        clock: Arc<dyn Clock>,
        retention: RetentionPolicy,
        counts: Arc<WriterCounters>,
    ) -> rusqlite::Result<DatabaseWriter> {
        let now = clock.wall_time();
        let mut writer = DatabaseWriter {
            file,
            clock,
            retention,
            counts,
            feeds: HashMap::new(),
            server_run: Arc::default(),
            started_at: now,
            configured: None,
            seen: now,
            purged: None,
        };
        match writer.record_server_start() {
            Err(error) if is_transient_sqlite_error(&error) => writer.count_and_log_failure(&error),
            started => started?,
        }
        Ok(writer)
    }

    fn record_server_start(&mut self) -> rusqlite::Result<()> {
        let transaction = self.file.get_or_open_connection()?.transaction()?;
        let server_run = insert_server_run(&transaction, self.started_at)?;
        transaction.commit()?;
        _ = self.server_run.set(server_run);
        Ok(())
    }

    /// Returns the row of this run of the server, once it is written.
    pub(crate) fn server_run_id(&self) -> Arc<OnceLock<i64>> {
        Arc::clone(&self.server_run)
    }

    /// Writes requests until the queue is closed, and then the rest.
    pub(crate) fn write_until_queue_closed(mut self, requests: &Receiver<WriteRequest>) {
        let mut batch = Vec::new();
        loop {
            let is_end = receive_batch(requests, &mut batch);
            let now = self.clock.wall_time();
            let is_due = is_end || now.duration_since(self.seen) >= HEARTBEAT;
            if batch.is_empty() && !is_due {
                self.delete_expired_rows_if_due(now);
            } else if self.write_batch(&mut batch, now) {
                if is_end {
                    return;
                }
                self.delete_expired_rows_if_due(now);
            } else if is_end || self.counts.is_closing.load(Ordering::Relaxed) {
                self.discard_batch_as_lost(&mut batch);
                return;
            } else {
                thread::park_timeout(RETRY);
            }
        }
    }

    /// Writes the batch and empties it, unless a retry may succeed. Returns true on success.
    fn write_batch(&mut self, batch: &mut Vec<WriteRequest>, now: UnixMillis) -> bool {
        match self.commit_batch(batch, now) {
            Ok(mut replaced_blobs) => {
                self.seen = now;
                self.counts
                    .written
                    .fetch_add(count_polls_states_and_reports(batch), Ordering::Relaxed);
                self.update_file_size_counter();
                if self.counts.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!(file = %self.file.database_path().display(), "writing the file succeeds again");
                }
                for request in batch.drain(..) {
                    // The sender may have given up.
                    match request {
                        WriteRequest::Flush(reply) => drop(reply.try_send(())),
                        WriteRequest::Snapshots { reply, .. } => {
                            drop(
                                reply.try_send(Ok(replaced_blobs.pop_front().unwrap_or_default())),
                            );
                        }
                        _ => {}
                    }
                }
                true
            }
            Err(error) => {
                // Rows that the failed transaction created do not exist.
                self.feeds.clear();
                self.count_and_log_failure(&error);
                fail_snapshot_requests(batch, &error);
                if !is_transient_sqlite_error(&error) {
                    self.discard_batch_as_lost(batch);
                }
                false
            }
        }
    }

    fn count_and_log_failure(&self, error: &rusqlite::Error) {
        self.counts.failures.fetch_add(1, Ordering::Relaxed);
        if !self.counts.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                file = %self.file.database_path().display(), %error,
                "writing the file failed; polling and serving continue, but history is not \
                recorded until writing succeeds"
            );
        }
    }

    fn discard_batch_as_lost(&self, batch: &mut Vec<WriteRequest>) {
        self.counts.lost.fetch_add(count_polls_states_and_reports(batch), Ordering::Relaxed);
        batch.clear();
    }

    /// Writes all requests in one transaction. Returns the replaced blobs of each [`WriteRequest::Snapshots`].
    fn commit_batch(
        &mut self,
        batch: &[WriteRequest],
        now: UnixMillis,
    ) -> rusqlite::Result<VecDeque<Vec<BlobHash>>> {
        let mut replaced_blobs = VecDeque::new();
        let synchronous =
            if batch.iter().any(WriteRequest::must_be_durable) { "FULL" } else { "NORMAL" };
        let connection = self.file.get_or_open_connection()?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        let transaction = connection.transaction()?;
        let server_run = match self.server_run.get() {
            Some(server_run) => *server_run,
            None => insert_server_run(&transaction, self.started_at)?,
        };
        for request in batch {
            match request {
                WriteRequest::Poll { feed, poll } => {
                    let feed = find_or_insert_feed_id(&transaction, &mut self.feeds, feed)?;
                    insert_poll(&transaction, feed, poll)?;
                    add_to_current_bins(&transaction, feed, |span| PollBin::from_poll(poll, span))?;
                }
                WriteRequest::Pause { feed, at, serving } => {
                    let feed = find_or_insert_feed_id(&transaction, &mut self.feeds, feed)?;
                    add_to_current_bins(&transaction, feed, |span| {
                        PollBin::from_pause(*at, *serving, span)
                    })?;
                }
                WriteRequest::State { feed, state, reason, since } => {
                    let feed = find_or_insert_feed_id(&transaction, &mut self.feeds, feed)?;
                    insert_incident_ending_previous(&transaction, feed, *state, reason, *since)?;
                }
                WriteRequest::Snapshots { rows, .. } => {
                    // A new version may exceed the maximum number.
                    self.purged = self.purged.filter(|_| rows.iter().all(|it| it.facts.is_none()));
                    replaced_blobs.push_back(upsert_snapshots(
                        &transaction,
                        &mut self.feeds,
                        rows,
                    )?);
                }
                WriteRequest::Confirmed { key, at, validators } => {
                    let feed = find_or_insert_feed_id(&transaction, &mut self.feeds, &key.feed)?;
                    snapshots::record_not_modified(&transaction, feed, key, *at, validators)?;
                }
                WriteRequest::Forgotten(key) => {
                    let feed = find_or_insert_feed_id(&transaction, &mut self.feeds, &key.feed)?;
                    snapshots::delete_snapshot_row(&transaction, feed, &key.file)?;
                }
                WriteRequest::Feeds(feeds) => {
                    snapshots::delete_rows_of_removed_feeds(&transaction, feeds, now)?;
                    self.configured = Some(feeds.clone());
                }
                WriteRequest::Notification(row) => {
                    let feed = find_or_insert_feed_id(&transaction, &mut self.feeds, &row.feed)?;
                    notification::upsert_row(&transaction, feed, row)?;
                }
                WriteRequest::Report(row) => upsert_report(&transaction, &mut self.feeds, row)?,
                WriteRequest::Delays(rows) => upsert_delays(&transaction, &mut self.feeds, rows)?,
                WriteRequest::Flush(_) => {}
            }
        }
        update_server_last_seen(&transaction, server_run, now)?;
        transaction.commit()?;
        _ = self.server_run.set(server_run);
        Ok(replaced_blobs)
    }

    fn update_file_size_counter(&self) {
        if let Ok(file) = std::fs::metadata(self.file.database_path()) {
            self.counts.bytes.store(file.len(), Ordering::Relaxed);
        }
    }

    fn delete_expired_rows_if_due(&mut self, now: UnixMillis) {
        if self.purged.is_some_and(|at| now.duration_since(at) < PURGE_INTERVAL) {
            return;
        }
        let purged = self.file.get_or_open_connection().and_then(|file| {
            delete_expired_rows(file, now, &self.retention, self.configured.as_deref())
        });
        match purged {
            Ok(is_all) => self.purged = is_all.then_some(now),
            Err(error) => {
                // The next attempt comes after the interval; a failing disk is detected by writes.
                self.purged = Some(now);
                tracing::warn!(file = %self.file.database_path().display(), %error, "deleting old rows failed");
            }
        }
    }
}

/// Writes the snapshots and returns the replaced blobs.
fn upsert_snapshots(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    rows: &[SnapshotRow],
) -> rusqlite::Result<Vec<BlobHash>> {
    let mut replaced = Vec::new();
    for row in rows {
        let feed = find_or_insert_feed_id(transaction, feeds, &row.key.feed)?;
        replaced.extend(snapshots::upsert_row(transaction, feed, row)?);
    }
    Ok(replaced)
}

fn upsert_report(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    row: &ReportRow,
) -> rusqlite::Result<()> {
    let feed = find_or_insert_feed_id(transaction, feeds, &row.feed)?;
    reports::upsert_row(transaction, feed, row)
}

fn upsert_delays(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    rows: &[DelayCountRow],
) -> rusqlite::Result<()> {
    for row in rows {
        let feed = find_or_insert_feed_id(transaction, feeds, &row.feed)?;
        delays::upsert_row(transaction, feed, row)?;
    }
    Ok(())
}

/// Returns the number of polls, states and reports in a batch.
fn count_polls_states_and_reports(batch: &[WriteRequest]) -> u64 {
    batch.iter().filter(|request| is_poll_state_or_report(request)).count() as u64
}

fn is_poll_state_or_report(request: &WriteRequest) -> bool {
    matches!(
        request,
        WriteRequest::Poll { .. } | WriteRequest::State { .. } | WriteRequest::Report(_)
    )
}

/// Removes the snapshots from a batch that could not be written, and reports the failure to their senders.
fn fail_snapshot_requests(batch: &mut Vec<WriteRequest>, error: &rusqlite::Error) {
    batch.retain(|request| match request {
        WriteRequest::Snapshots { reply, .. } => {
            drop(reply.try_send(Err(format!("writing lineside.db failed: {error}"))));
            false
        }
        _ => true,
    });
}

/// Waits for a request and adds further queued ones. Returns true if the queue is closed.
fn receive_batch(requests: &Receiver<WriteRequest>, batch: &mut Vec<WriteRequest>) -> bool {
    let mut timeout = if batch.is_empty() { HEARTBEAT } else { Duration::ZERO };
    while batch.len() < BATCH_MAX {
        match requests.recv_timeout(timeout) {
            Ok(next) => batch.push(next),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        }
        timeout = Duration::ZERO;
    }
    false
}

fn find_or_insert_feed_id(
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
        poll.serving.to_stored_number(),
        failure.map(|failure| failure.message.as_str()),
        failure.and_then(|failure| failure.phase).map(FetchPhase::as_str),
        failure.and_then(|failure| failure.status),
        failure.and_then(|failure| failure.head.as_deref()),
    ])?;
    Ok(())
}

/// Adds to the current bin of every span.
fn add_to_current_bins(
    transaction: &Transaction<'_>,
    feed: i64,
    bin: impl Fn(ArchiveSpan) -> PollBin,
) -> rusqlite::Result<()> {
    ArchiveSpan::ALL
        .into_iter()
        .try_for_each(|span| add_to_bin(transaction, feed, span, &bin(span)))
}

/// Adds to a bin. `last_failed` is the number of the last outcome in it.
fn add_to_bin(
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
        bin.last.outcome_to_stored_number(),
        bin.last_serving.to_stored_number(),
    ])?;
    Ok(())
}

fn insert_incident_ending_previous(
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
