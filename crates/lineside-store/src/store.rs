//! The file, open.

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
use lineside_ingest::{
    Archive, ArchiveError, Bin, DatasetFacts, Done, FeedId, FeedState, Incident, Last, Life, Phase,
    Poll, PollFailure, PollQuery, SavedHead, Serving, SnapshotKey, Snapshots, Span, Validators,
};
use lineside_sync::{Clock, UnixMillis};
use rusqlite::{Connection, Row, params};

use crate::{
    blobs::{
        BlobHash, Blobs,
        saving::{Save, Saving, Shelf, end},
    },
    error::StoreError,
    limits::{FLUSH_FAILING_MAX, FLUSH_MAX, FLUSH_STEP, QUEUE_MAX},
    notification::{self, NotificationRow},
    readers::Readers,
    schema, snapshots,
    versions::{self, Version},
    writable_file::WritableFile,
    writer::{Counts, Told, Writer},
};

/// Where bodies are, beside the file.
const BLOBS: &str = "blobs";

/// What is remembered, in one file and a folder beside it. Dropping it writes what is left.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    /// Whether the file has not been opened for writing yet, because the disk did not take it.
    pub(crate) is_read_only: Arc<AtomicBool>,
    readers: Arc<Readers>,
    counts: Arc<Counts>,
    shelf: Arc<Shelf>,
    saving: Saving,
    /// The row of this start of the server, once it is written.
    life: Arc<OnceLock<i64>>,
    /// None once it is being dropped, which ends the writer.
    queue: Option<SyncSender<Told>>,
    writing: Option<JoinHandle<()>>,
}

/// What is kept for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Failed polls, states of feeds and what polls came to by the hour.
    pub availability: Duration,
    /// Versions of each schedule, the one that is served among them.
    pub versions: usize,
    /// Versions that are no longer served, since they were last seen.
    pub versions_age: Duration,
    /// Reports of each feed.
    pub reports: usize,
}

/// What a store counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Things told that are written.
    pub written: u64,
    /// Things told that are not, and will not be.
    pub lost: u64,
    /// Times that writing failed.
    pub failures: u64,
    /// Whether it failed the last time.
    pub is_failing: bool,
    /// Size of the file.
    pub bytes: u64,
    /// Last good bytes that were kept.
    pub snapshots: u64,
    /// Last good bytes that could not be kept.
    pub snapshots_failed: u64,
    /// Whether the last ones could not.
    pub snapshots_failing: bool,
    /// Size of all bodies that are kept.
    pub blob_bytes: u64,
}

impl Store {
    /// Opens the file, makes it if it is absent, and begins to write. What is beyond `keep` is let go of. A file that the
    /// disk does not let be written now is read, if no rows are in its WAL alone; it is written once it can be.
    ///
    /// A file has one store at a time; whoever opens it sees to that.
    ///
    /// # Errors
    /// If the file is damaged, newer, or not to be had.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, keep: Keep) -> Result<Store, StoreError> {
        let folder = path.with_file_name(BLOBS);
        let connection = match schema::open(path, || set_aside(path, &folder)) {
            // As on a full disk: what is known holds, and the writer opens the file once there is room.
            Err(StoreError::Unusable { .. })
                if schema::is_readable_alone(path)
                    || schema::merge_wal(path).is_ok() && schema::is_readable_alone(path) =>
            {
                None
            }
            opened => Some(opened?),
        };
        let is_read_only = Arc::new(AtomicBool::new(connection.is_none()));
        let counts = Arc::new(Counts::default());
        let (writing_clock, writing_counts) = (Arc::clone(&clock), Arc::clone(&counts));
        let file = WritableFile::new(path, connection, Arc::clone(&is_read_only));
        let writer = Writer::begin(file, writing_clock, keep, writing_counts)
            .map_err(|error| StoreError::of(path, &error))?;
        let life = writer.life();
        let (queue, told): (_, Receiver<Told>) = sync_channel(QUEUE_MAX);
        let writing = thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.run(&told))
            .map_err(|error| StoreError::unusable(path, &error))?;
        let readers = Arc::new(Readers::new(path, Arc::clone(&is_read_only)));
        let blobs = Blobs::open(folder);
        // It reads by itself: keeping must not wait for whoever looks at long lists.
        let own_readers = Readers::new(path, Arc::clone(&is_read_only));
        let shelf = Arc::new(Shelf::new(blobs, own_readers, &clock, queue.clone()));
        let saving = Saving::begin(&shelf).map_err(|error| StoreError::unusable(path, &error))?;
        Ok(Store {
            path: path.to_owned(),
            clock,
            is_read_only,
            readers,
            counts,
            shelf,
            saving,
            life,
            queue: Some(queue),
            writing: Some(writing),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until all that was told before is on the disk. Then neither a crash nor a power cut loses it.
    ///
    /// # Errors
    /// If the disk does not take it in time.
    pub fn flush(&self) -> Result<(), StoreError> {
        let is_saved = self.saving.flush();
        let (reply, done) = sync_channel(1);
        let sent =
            self.queue.as_ref().is_some_and(|queue| queue.try_send(Told::Flush(reply)).is_ok());
        if sent && self.is_written(&done) && is_saved {
            return Ok(());
        }
        Err(StoreError::NotWritten { path: self.path.clone() })
    }

    /// Waits until the writer says that it has written. A disk that takes nothing, such as a full one, is given up sooner.
    fn is_written(&self, done: &Receiver<()>) -> bool {
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

    /// Notes what a target of notifications was told, or that it has taken it.
    pub fn keep_notification(&self, row: NotificationRow) {
        self.tell(Told::Notification(row));
    }

    /// What targets were told, the latest last.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn list_notifications(&self) -> Result<Vec<NotificationRow>, ArchiveError> {
        self.read(|connection| {
            let mut rows = connection.prepare_cached(notification::LIST)?;
            let read =
                rows.query_map([], notification::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(read.into_iter().flatten().collect())
        })
    }

    /// What it counts.
    pub fn figures(&self) -> Figures {
        Figures {
            written: self.counts.written.load(Ordering::Relaxed),
            lost: self.counts.lost.load(Ordering::Relaxed),
            failures: self.counts.failures.load(Ordering::Relaxed),
            is_failing: self.counts.is_failing.load(Ordering::Relaxed),
            bytes: self.counts.bytes.load(Ordering::Relaxed),
            snapshots: self.shelf.counts.saved.load(Ordering::Relaxed),
            snapshots_failed: self.shelf.counts.failed.load(Ordering::Relaxed),
            snapshots_failing: self.shelf.counts.is_failing.load(Ordering::Relaxed),
            blob_bytes: self.shelf.blobs.n_bytes(),
        }
    }

    pub(crate) fn tell(&self, told: Told) {
        let is_taken = self.queue.as_ref().is_some_and(|queue| queue.try_send(told).is_ok());
        if !is_taken {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.readers
            .with(read)
            .map_err(|error| ArchiveError(StoreError::of(&self.path, &error).to_string()))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.saving.end();
        self.shelf.close();
        // Only a writer that is the last to close the file writes the WAL back and removes it.
        self.readers.close();
        self.counts.is_closing.store(true, Ordering::Relaxed);
        drop(self.queue.take());
        if let Some(writing) = self.writing.take() {
            // It may be waiting to try again.
            writing.thread().unpark();
            end(writing, "the thread that writes lineside.db");
        }
    }
}

impl Snapshots for Store {
    fn save(
        &self,
        key: &SnapshotKey,
        head: SavedHead,
        bytes: Bytes,
        facts: Option<DatasetFacts>,
        done: Done,
    ) {
        let save = Save { key: key.clone(), head, bytes, facts, done };
        self.saving.tell(save, &self.shelf.counts);
    }

    fn confirm(&self, key: &SnapshotKey, at: UnixMillis, validators: Validators) {
        self.tell(Told::Confirmed { key: key.clone(), at, validators });
    }

    fn find(&self, key: &SnapshotKey) -> Option<SavedHead> {
        self.find_blob(key).map(|(head, _)| head)
    }

    fn read(&self, key: &SnapshotKey) -> Option<(SavedHead, Bytes)> {
        let (head, hash) = self.find_blob(key)?;
        match self.shelf.blobs.read(&hash) {
            Ok(bytes) => Some((head, bytes)),
            Err(error) => {
                tracing::warn!(
                    feed = %key.feed, file = %self.shelf.blobs.path_of(&hash).display(), %error,
                    "the last good bytes of the feed are not used: it begins without them"
                );
                // So that the same bytes are written anew when they come again.
                let _ = self.shelf.blobs.remove(&hash);
                None
            }
        }
    }

    fn forget(&self, key: &SnapshotKey) {
        self.tell(Told::Forgotten(key.clone()));
    }

    fn retain(&self, feeds: &[FeedId]) {
        self.tell(Told::Feeds(feeds.to_vec()));
    }
}

impl Store {
    /// Versions of a feed's schedule: the one that is served, then those seen last.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list_versions(
        &self,
        feed: &FeedId,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Version>, ArchiveError> {
        self.read(|connection| versions::list(connection, feed.as_str(), offset, limit))
    }

    /// One of them.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn find_version(
        &self,
        feed: &FeedId,
        hash: &BlobHash,
    ) -> Result<Option<Version>, ArchiveError> {
        self.read(|connection| versions::find(connection, feed.as_str(), hash))
    }

    /// Where the bytes with this hash are, if they are kept.
    pub fn blob_path(&self, hash: &BlobHash) -> PathBuf {
        self.shelf.blobs.path_of(hash)
    }

    fn find_blob(&self, key: &SnapshotKey) -> Option<(SavedHead, BlobHash)> {
        match self.readers.with(|tables| snapshots::find(tables, key)) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(feed = %key.feed, %error, "what is known of its last good bytes cannot be read");
                None
            }
        }
    }
}

/// Moves away the bodies that a file from before referred to: nothing in a new one does, so they would be taken for what
/// nobody needs. Whoever puts that file back has them.
fn set_aside(path: &Path, folder: &Path) -> Result<(), StoreError> {
    let aside = Blobs::set_aside(folder).map_err(|error| StoreError::unusable(folder, &error))?;
    if let Some(aside) = aside {
        tracing::warn!(
            "{} is new, and {} holds bodies that belong to an earlier one: they are kept as {}. To have them back, put both in \
             their places while the server does not run; otherwise the folder may be deleted",
            path.display(),
            folder.display(),
            aside.display()
        );
    }
    Ok(())
}

impl Archive for Store {
    fn record_poll(&self, feed: &FeedId, poll: Poll) {
        self.tell(Told::Poll { feed: feed.clone(), poll });
    }

    fn record_pause(&self, feed: &FeedId, at: UnixMillis, serving: Serving) {
        self.tell(Told::Pause { feed: feed.clone(), at, serving });
    }

    fn begin_state(&self, feed: &FeedId, state: FeedState, reason: &str, since: UnixMillis) {
        self.tell(Told::State { feed: feed.clone(), state, reason: reason.to_owned(), since });
    }

    fn list_bins(
        &self,
        feed: &FeedId,
        span: Span,
        from: UnixMillis,
    ) -> Result<Vec<Bin>, ArchiveError> {
        self.read(|connection| {
            let mut bins = connection.prepare_cached(
                "WITH mine AS (SELECT * FROM bin WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND width = ?2) \
                 SELECT start, polls, failed, stale, unserved, bytes, took, last_failed, last_serving FROM mine \
                 WHERE start >= COALESCE((SELECT MAX(start) FROM mine WHERE start < ?3), ?3) ORDER BY start",
            )?;
            bins.query_map(params![feed.as_str(), span.bin_s(), from.0], bin)?.collect()
        })
    }

    fn list_polls(&self, feed: &FeedId, query: PollQuery) -> Result<Vec<Poll>, ArchiveError> {
        let filter = if query.only_failed { "AND words IS NOT NULL" } else { "" };
        let sql = format!(
            "SELECT at, took, bytes, outcome, serving, words, phase, status, head FROM poll \
             WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND at >= ?2 {filter} \
             ORDER BY at DESC, id DESC LIMIT ?3 OFFSET ?4"
        );
        let (limit, offset) = (whole(query.limit), whole(query.offset));
        self.read(|connection| {
            let mut polls = connection.prepare_cached(&sql)?;
            polls.query_map(params![feed.as_str(), query.from.0, limit, offset], poll)?.collect()
        })
    }

    fn list_incidents(
        &self,
        feed: &FeedId,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<Incident>, ArchiveError> {
        self.read(|connection| {
            let mut incidents = connection.prepare_cached(
                "SELECT state, reason, began, ended FROM incident \
                 WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND (ended IS NULL OR ended >= ?2) \
                 ORDER BY id DESC LIMIT ?3",
            )?;
            incidents.query_map(params![feed.as_str(), from.0, whole(limit)], incident)?.collect()
        })
    }

    fn list_troubles(
        &self,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<(FeedId, Incident)>, ArchiveError> {
        // States that are no trouble, as `FeedState::is_trouble` has it.
        let [ok, paused, unknown] =
            [FeedState::Ok, FeedState::Paused, FeedState::Unknown].map(FeedState::as_str);
        self.read(|connection| {
            let mut troubles = connection.prepare_cached(
                "SELECT state, reason, began, ended, name FROM incident JOIN feed ON feed.id = incident.feed \
                 WHERE (ended IS NULL OR ended >= ?1) AND state NOT IN (?3, ?4, ?5) ORDER BY incident.id DESC LIMIT ?2",
            )?;
            let read = |row: &Row<'_>| Ok((row.get::<_, String>(4)?, incident(row)?));
            let rows = troubles.query_map(params![from.0, whole(limit), ok, paused, unknown], read)?;
            let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let named = rows.into_iter().filter_map(|(name, it)| Some((FeedId::new(&name).ok()?, it)));
            Ok(named.collect())
        })
    }

    fn list_lives(&self, from: UnixMillis) -> Result<Vec<Life>, ArchiveError> {
        let now = self.clock.wall();
        self.read(|connection| {
            let mut lives = connection.prepare_cached(
                "SELECT began, CASE id WHEN ?1 THEN MAX(seen, ?2) ELSE seen END AS known FROM life \
                 WHERE known >= ?3 ORDER BY id",
            )?;
            let life = |row: &Row<'_>| {
                Ok(Life { began: UnixMillis(row.get(0)?), seen: UnixMillis(row.get(1)?) })
            };
            lives.query_map(params![self.life.get(), now.0, from.0], life)?.collect()
        })
    }
}

fn bin(row: &Row<'_>) -> rusqlite::Result<Bin> {
    Ok(Bin {
        start: UnixMillis(row.get(0)?),
        polls: row.get(1)?,
        failed: row.get(2)?,
        stale: row.get(3)?,
        nothing: row.get(4)?,
        bytes: row.get::<_, i64>(5)?.unsigned_abs(),
        took: duration(row.get(6)?),
        last: Last::of_number(row.get(7)?).unwrap_or(Last::Answered),
        last_serving: serving(row.get(8)?),
    })
}

fn poll(row: &Row<'_>) -> rusqlite::Result<Poll> {
    Ok(Poll {
        at: UnixMillis(row.get(0)?),
        took: duration(row.get(1)?),
        bytes: row.get::<_, i64>(2)?.unsigned_abs(),
        outcome: row.get::<_, String>(3)?.into(),
        serving: serving(row.get(4)?),
        failure: failure(row)?,
    })
}

fn failure(row: &Row<'_>) -> rusqlite::Result<Option<PollFailure>> {
    let Some(words) = row.get(5)? else { return Ok(None) };
    let phase: Option<String> = row.get(6)?;
    let phase = phase.and_then(|phase| Phase::parse(&phase));
    Ok(Some(PollFailure { words, phase, status: row.get(7)?, head: row.get(8)? }))
}

fn incident(row: &Row<'_>) -> rusqlite::Result<Incident> {
    let state: String = row.get(0)?;
    Ok(Incident {
        state: FeedState::parse(&state).unwrap_or_default(),
        reason: row.get(1)?,
        began: UnixMillis(row.get(2)?),
        ended: row.get::<_, Option<i64>>(3)?.map(UnixMillis),
    })
}

/// What the file says, which only we write; nothing is promised of anything else.
fn serving(number: i64) -> Serving {
    Serving::of_number(number).unwrap_or(Serving::Nothing)
}

fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
