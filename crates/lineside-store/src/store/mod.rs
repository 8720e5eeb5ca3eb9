//! The open store.

mod delays;
mod edits;
mod reports;

pub use self::edits::{FeedOverrideEdit, NumberedOverrideEdit};

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use lineside_model::{
    ArchiveError, ArchiveSpan, CacheValidators, FeedId, FeedState, FeedStatePeriod, FetchPhase,
    LastPollOutcome, PollArchive, PollBin, PollFailure, PollQuery, PollRecord, SaveCallback,
    ScheduleVersionFacts, ServedContentFreshness, ServerRun, SnapshotKey, SnapshotMetadata,
    SnapshotStore,
};
use lineside_sync::{Clock, UnixMillis};
use rusqlite::{Connection, Row, params};

use crate::{
    blob_hash::BlobHash,
    blobs::{
        BlobFolder,
        snapshot_saver::{
            SnapshotSaveRequest, SnapshotSaver, SnapshotSaverState, join_thread_with_timeout,
        },
    },
    error::StoreError,
    limits::{FLUSH_FAILING_MAX, FLUSH_MAX, FLUSH_STEP, QUEUE_MAX},
    reader_pool::ReadConnectionPool,
    schema,
    tables::{
        notification::{self, NotificationRow},
        retention::RetentionPolicy,
        snapshots,
        versions::{self, ScheduleVersion},
    },
    writable_file::LazyWriteConnection,
    write_request::WriteRequest,
    writer::{DatabaseWriter, WriterCounters},
};

/// The folder of bodies next to the file.
const BLOBS: &str = "blobs";

/// Persistent storage in one file and a folder next to it. Dropping the store writes the queued data.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    /// True if the file has not been opened for writing yet, because the disk prevented it.
    pub(crate) is_read_only: Arc<AtomicBool>,
    readers: Arc<ReadConnectionPool>,
    counts: Arc<WriterCounters>,
    saver: Arc<SnapshotSaverState>,
    saving: SnapshotSaver,
    /// The row of this run of the server, once it is written.
    server_run: Arc<OnceLock<i64>>,
    /// `None` while the store is dropped, which ends the writer.
    queue: Option<SyncSender<WriteRequest>>,
    writing: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreMetrics {
    /// Number of written records.
    pub written: u64,
    /// Number of dropped records.
    pub lost: u64,
    /// Number of failed writes.
    pub failures: u64,
    /// True if the last write failed.
    pub is_failing: bool,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of saved snapshots.
    pub snapshots: u64,
    /// Number of snapshots that could not be saved.
    pub snapshots_failed: u64,
    /// True if the last snapshot could not be saved.
    pub snapshots_failing: bool,
    /// Size of all bodies in bytes.
    pub blob_bytes: u64,
}

impl Store {
    /// Opens the file, creates it if it is absent, and starts the writer. Data beyond `retention` are deleted. A file
    /// that cannot be written now is opened read-only if no rows are only in its WAL, and opened for writing later.
    ///
    /// Only one store may be open per file; the caller has to ensure that.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, newer or not accessible.
    pub fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        retention: RetentionPolicy,
    ) -> Result<Store, StoreError> {
        let folder = path.with_file_name(BLOBS);
        let connection =
            match schema::open_or_create(path, || rename_orphaned_blob_folder(path, &folder)) {
                // The disk may be full: stored data remain readable, and the writer opens the file once there is room.
                Err(StoreError::Unusable { .. })
                    if schema::is_readable_without_wal(path)
                        || schema::checkpoint_wal(path).is_ok()
                            && schema::is_readable_without_wal(path) =>
                {
                    None
                }
                opened => Some(opened?),
            };
        let is_read_only = Arc::new(AtomicBool::new(connection.is_none()));
        let counts = Arc::new(WriterCounters::default());
        let (writing_clock, writing_counts) = (Arc::clone(&clock), Arc::clone(&counts));
        let file = LazyWriteConnection::new(path, connection, Arc::clone(&is_read_only));
        let writer = DatabaseWriter::open_and_record_server_start(
            file,
            writing_clock,
            retention,
            writing_counts,
        )
        .map_err(|error| StoreError::from_sqlite(path, &error))?;
        let server_run = writer.server_run_id();
        let (queue, requests): (_, Receiver<WriteRequest>) = sync_channel(QUEUE_MAX);
        let writing = thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.write_until_queue_closed(&requests))
            .map_err(|error| StoreError::from_io(path, &error))?;
        let readers = Arc::new(ReadConnectionPool::new(path, Arc::clone(&is_read_only)));
        let blobs = BlobFolder::open_and_delete_unfinished(folder);
        // The saver has readers of its own, so that it does not wait for queries of long lists.
        let own_readers = ReadConnectionPool::new(path, Arc::clone(&is_read_only));
        let saver = Arc::new(SnapshotSaverState::new(blobs, own_readers, &clock, queue.clone()));
        let saving = SnapshotSaver::start_threads(&saver)
            .map_err(|error| StoreError::from_io(path, &error))?;
        Ok(Store {
            path: path.to_owned(),
            clock,
            is_read_only,
            readers,
            counts,
            saver,
            saving,
            server_run,
            queue: Some(queue),
            writing: Some(writing),
        })
    }

    /// Returns the path of the file.
    pub fn database_path(&self) -> &Path {
        &self.path
    }

    /// Waits until all earlier requests are on the disk, where they survive a crash or a power cut.
    ///
    /// # Errors
    /// Returns an error on timeout.
    pub fn flush_writes(&self) -> Result<(), StoreError> {
        let is_saved = self.saving.wait_for_queued_saves();
        let (reply, done) = sync_channel(1);
        let sent = self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(WriteRequest::Flush(reply)).is_ok());
        if sent && self.wait_for_writer_reply(&done) && is_saved {
            return Ok(());
        }
        Err(StoreError::NotWritten { path: self.path.clone() })
    }

    /// Waits for the writer's reply. The timeout is shorter while writes fail, as on a full disk.
    fn wait_for_writer_reply(&self, done: &Receiver<()>) -> bool {
        for step in 0..FLUSH_MAX.as_millis() / FLUSH_STEP.as_millis() {
            match done.recv_timeout(FLUSH_STEP) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let waited = FLUSH_STEP * u32::try_from(step + 1).unwrap_or(u32::MAX);
            if waited >= FLUSH_FAILING_MAX && self.counts.is_failing.load(Ordering::Relaxed) {
                return false;
            }
        }
        false
    }

    /// Stores a notification to a target, or its delivery.
    pub fn store_notification(&self, row: NotificationRow) {
        self.queue_write_request(WriteRequest::Notification(row));
    }

    /// Returns the last notifications of all targets, the latest last.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_notifications(&self) -> Result<Vec<NotificationRow>, ArchiveError> {
        self.with_read_connection(|connection| {
            let mut rows = connection.prepare_cached(notification::LIST)?;
            let read = rows
                .query_map([], notification::parse_row)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(read.into_iter().flatten().collect())
        })
    }

    pub fn metrics(&self) -> StoreMetrics {
        StoreMetrics {
            written: self.counts.written.load(Ordering::Relaxed),
            lost: self.counts.lost.load(Ordering::Relaxed),
            failures: self.counts.failures.load(Ordering::Relaxed),
            is_failing: self.counts.is_failing.load(Ordering::Relaxed),
            bytes: self.counts.bytes.load(Ordering::Relaxed),
            snapshots: self.saver.counts.saved.load(Ordering::Relaxed),
            snapshots_failed: self.saver.counts.failed.load(Ordering::Relaxed),
            snapshots_failing: self.saver.counts.is_failing.load(Ordering::Relaxed),
            blob_bytes: self.saver.blobs.total_bytes(),
        }
    }

    pub(crate) fn queue_write_request(&self, request: WriteRequest) {
        let is_taken = self.queue.as_ref().is_some_and(|queue| queue.try_send(request).is_ok());
        if !is_taken {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn with_read_connection<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.readers
            .with_connection(read)
            .map_err(|error| ArchiveError(StoreError::from_sqlite(&self.path, &error).to_string()))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.saving.stop_threads_after_jobs();
        self.saver.close_database_connections();
        // Only the last connection to close the file merges the WAL and removes it.
        self.readers.close_all_idle_connections();
        self.counts.is_closing.store(true, Ordering::Relaxed);
        drop(self.queue.take());
        if let Some(writing) = self.writing.take() {
            // The writer may be waiting for a retry.
            writing.thread().unpark();
            join_thread_with_timeout(writing, "the thread that writes lineside.db");
        }
    }
}

impl SnapshotStore for Store {
    fn save_snapshot(
        &self,
        key: &SnapshotKey,
        head: SnapshotMetadata,
        bytes: Bytes,
        facts: Option<ScheduleVersionFacts>,
        done: SaveCallback,
    ) {
        let save = SnapshotSaveRequest { key: key.clone(), head, bytes, facts, done };
        self.saving.queue_snapshot_save(save, &self.saver.counts);
    }

    fn record_not_modified(&self, key: &SnapshotKey, at: UnixMillis, validators: CacheValidators) {
        self.queue_write_request(WriteRequest::Confirmed { key: key.clone(), at, validators });
    }

    fn find_snapshot_metadata(&self, key: &SnapshotKey) -> Option<SnapshotMetadata> {
        self.find_snapshot_blob(key).map(|(head, _)| head)
    }

    fn read_snapshot(&self, key: &SnapshotKey) -> Option<(SnapshotMetadata, Bytes)> {
        let (head, hash) = self.find_snapshot_blob(key)?;
        match self.saver.blobs.read_blob(&hash) {
            Ok(bytes) => Some((head, bytes)),
            Err(error) => {
                tracing::warn!(
                    feed = %key.feed, file = %self.saver.blobs.blob_path(&hash).display(), %error,
                    "the snapshot of the feed cannot be read; the feed begins without it"
                );
                // The blob is deleted, so that a later save of the same bytes writes it again.
                let _ = self.saver.blobs.delete_blob(&hash);
                None
            }
        }
    }

    fn delete_snapshot(&self, key: &SnapshotKey) {
        self.queue_write_request(WriteRequest::Forgotten(key.clone()));
    }

    fn retain_snapshots_of_feeds(&self, feeds: &[FeedId]) {
        self.queue_write_request(WriteRequest::Feeds(feeds.to_vec()));
    }
}

impl Store {
    /// Returns the versions of a feed's schedule: the served one first, then by last seen.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_schedule_versions(
        &self,
        feed: &FeedId,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<ScheduleVersion>, ArchiveError> {
        self.with_read_connection(|connection| {
            versions::select_versions_of_feed(connection, feed.as_str(), offset, limit)
        })
    }

    /// Returns one version of a feed's schedule.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn find_schedule_version(
        &self,
        feed: &FeedId,
        hash: &BlobHash,
    ) -> Result<Option<ScheduleVersion>, ArchiveError> {
        self.with_read_connection(|connection| {
            versions::find_version_by_hash(connection, feed.as_str(), hash)
        })
    }

    /// Returns the path of the bytes with this hash, if they are stored.
    pub fn blob_path(&self, hash: &BlobHash) -> PathBuf {
        self.saver.blobs.blob_path(hash)
    }

    fn find_snapshot_blob(&self, key: &SnapshotKey) -> Option<(SnapshotMetadata, BlobHash)> {
        match self.readers.with_connection(|tables| snapshots::find_metadata_and_blob(tables, key))
        {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(feed = %key.feed, %error, "the stored metadata of the snapshot cannot be read");
                None
            }
        }
    }
}

/// Renames the folder of bodies that an earlier file referred to: a new file has no references to them, so they would
/// be deleted. They remain available if the earlier file is restored.
fn rename_orphaned_blob_folder(path: &Path, folder: &Path) -> Result<(), StoreError> {
    let moved_folder = BlobFolder::rename_folder_if_not_empty(folder)
        .map_err(|error| StoreError::from_io(folder, &error))?;
    if let Some(moved_folder) = moved_folder {
        tracing::warn!(
            "{} is new, but {} has files of an earlier database and was renamed to {}. To restore them, stop the server \
             and put the earlier database and this folder back. Otherwise the folder may be deleted",
            path.display(),
            folder.display(),
            moved_folder.display()
        );
    }
    Ok(())
}

impl PollArchive for Store {
    fn record_poll(&self, feed: &FeedId, poll: PollRecord) {
        self.queue_write_request(WriteRequest::Poll { feed: feed.clone(), poll });
    }

    fn record_polling_pause(&self, feed: &FeedId, at: UnixMillis, serving: ServedContentFreshness) {
        self.queue_write_request(WriteRequest::Pause { feed: feed.clone(), at, serving });
    }

    fn record_feed_state_change(
        &self,
        feed: &FeedId,
        state: FeedState,
        reason: &str,
        since: UnixMillis,
    ) {
        self.queue_write_request(WriteRequest::State {
            feed: feed.clone(),
            state,
            reason: reason.to_owned(),
            since,
        });
    }

    fn list_poll_bins(
        &self,
        feed: &FeedId,
        span: ArchiveSpan,
        from: UnixMillis,
    ) -> Result<Vec<PollBin>, ArchiveError> {
        self.with_read_connection(|connection| {
            let mut bins = connection.prepare_cached(
                "WITH mine AS (SELECT * FROM bin WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND width = ?2) \
                 SELECT start, polls, failed, stale, unserved, bytes, took, last_failed, last_serving FROM mine \
                 WHERE start >= COALESCE((SELECT MAX(start) FROM mine WHERE start < ?3), ?3) ORDER BY start",
            )?;
            bins.query_map(params![feed.as_str(), span.bin_seconds(), from.0], parse_bin_row)?.collect()
        })
    }

    fn list_polls(&self, feed: &FeedId, query: PollQuery) -> Result<Vec<PollRecord>, ArchiveError> {
        let filter = if query.only_failed { "AND words IS NOT NULL" } else { "" };
        let sql = format!(
            "SELECT at, took, bytes, outcome, serving, words, phase, status, head FROM poll \
             WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND at >= ?2 {filter} \
             ORDER BY at DESC, id DESC LIMIT ?3 OFFSET ?4"
        );
        let (limit, offset) = (saturate_to_i64(query.limit), saturate_to_i64(query.offset));
        self.with_read_connection(|connection| {
            let mut polls = connection.prepare_cached(&sql)?;
            polls
                .query_map(params![feed.as_str(), query.from.0, limit, offset], parse_poll_row)?
                .collect()
        })
    }

    fn list_feed_state_periods(
        &self,
        feed: &FeedId,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<FeedStatePeriod>, ArchiveError> {
        self.with_read_connection(|connection| {
            let mut incidents = connection.prepare_cached(
                "SELECT state, reason, began, ended FROM incident \
                 WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND (ended IS NULL OR ended >= ?2) \
                 ORDER BY id DESC LIMIT ?3",
            )?;
            incidents.query_map(params![feed.as_str(), from.0, saturate_to_i64(limit)], parse_incident_row)?.collect()
        })
    }

    fn list_failure_periods(
        &self,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<(FeedId, FeedStatePeriod)>, ArchiveError> {
        // The states that are no trouble, as in `FeedState::is_trouble`.
        let [ok, paused, unknown] =
            [FeedState::Ok, FeedState::Paused, FeedState::Unknown].map(FeedState::as_str);
        self.with_read_connection(|connection| {
            let mut troubles = connection.prepare_cached(
                "SELECT state, reason, began, ended, name FROM incident JOIN feed ON feed.id = incident.feed \
                 WHERE (ended IS NULL OR ended >= ?1) AND state NOT IN (?3, ?4, ?5) ORDER BY incident.id DESC LIMIT ?2",
            )?;
            let read = |row: &Row<'_>| Ok((row.get::<_, String>(4)?, parse_incident_row(row)?));
            let rows = troubles.query_map(params![from.0, saturate_to_i64(limit), ok, paused, unknown], read)?;
            let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let named = rows.into_iter().filter_map(|(name, it)| Some((FeedId::new(&name).ok()?, it)));
            Ok(named.collect())
        })
    }

    fn list_server_runs(&self, from: UnixMillis) -> Result<Vec<ServerRun>, ArchiveError> {
        let now = self.clock.wall_time();
        self.with_read_connection(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT began, CASE id WHEN ?1 THEN MAX(seen, ?2) ELSE seen END AS known FROM life \
                 WHERE known >= ?3 ORDER BY id",
            )?;
            let server_run = |row: &Row<'_>| {
                Ok(ServerRun { began: UnixMillis(row.get(0)?), seen: UnixMillis(row.get(1)?) })
            };
            statement
                .query_map(params![self.server_run.get(), now.0, from.0], server_run)?
                .collect()
        })
    }
}

fn parse_bin_row(row: &Row<'_>) -> rusqlite::Result<PollBin> {
    Ok(PollBin {
        start: UnixMillis(row.get(0)?),
        polls: row.get(1)?,
        failed: row.get(2)?,
        stale: row.get(3)?,
        nothing: row.get(4)?,
        bytes: row.get::<_, i64>(5)?.unsigned_abs(),
        took: duration_from_millis(row.get(6)?),
        last: LastPollOutcome::outcome_from_stored_number(row.get(7)?)
            .unwrap_or(LastPollOutcome::Answered),
        last_serving: parse_served_content(row.get(8)?),
    })
}

fn parse_poll_row(row: &Row<'_>) -> rusqlite::Result<PollRecord> {
    Ok(PollRecord {
        at: UnixMillis(row.get(0)?),
        took: duration_from_millis(row.get(1)?),
        bytes: row.get::<_, i64>(2)?.unsigned_abs(),
        outcome: row.get::<_, String>(3)?.into(),
        serving: parse_served_content(row.get(4)?),
        failure: parse_failure_columns(row)?,
    })
}

fn parse_failure_columns(row: &Row<'_>) -> rusqlite::Result<Option<PollFailure>> {
    let Some(text) = row.get(5)? else { return Ok(None) };
    let phase: Option<String> = row.get(6)?;
    let phase = phase.and_then(|phase| FetchPhase::parse(&phase));
    Ok(Some(PollFailure { message: text, phase, status: row.get(7)?, head: row.get(8)? }))
}

fn parse_incident_row(row: &Row<'_>) -> rusqlite::Result<FeedStatePeriod> {
    let state: String = row.get(0)?;
    Ok(FeedStatePeriod {
        state: FeedState::parse(&state).unwrap_or_default(),
        reason: row.get(1)?,
        began: UnixMillis(row.get(2)?),
        ended: row.get::<_, Option<i64>>(3)?.map(UnixMillis),
    })
}

/// Converts a stored number. Only the store writes it, so any other value becomes `Nothing`.
fn parse_served_content(number: i64) -> ServedContentFreshness {
    ServedContentFreshness::from_stored_number(number).unwrap_or(ServedContentFreshness::Nothing)
}

fn duration_from_millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn saturate_to_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
