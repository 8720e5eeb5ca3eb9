//! The threads that save snapshots to the disk and delete unreferenced blobs.
//!
//! The order makes it crash-safe: a blob and its name are durable before the tables refer to it, and the previous blob
//! is deleted only after they no longer do. Small and large bodies have a thread each, so that real time does not wait
//! for a schedule. Waiting saves are batched, which takes fewer syncs.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use lineside_model::{SaveCallback, ScheduleVersionFacts, SnapshotKey, SnapshotMetadata};
use lineside_sync::Clock;
use parking_lot::Mutex;

use super::{BlobFolder, TemporaryBlob};
use crate::{
    blob_hash::BlobHash,
    limits::{
        FLUSH_MAX, LARGE_BYTES, SAVE_BYTES_PER_BATCH_MAX, SAVES_MAX, SAVES_PER_BATCH_MAX,
        SWEEP_INTERVAL, THREAD_END_POLL_INTERVAL,
    },
    reader_pool::ReadConnectionPool,
    tables::snapshots::{SnapshotRow, is_blob_referenced, referenced_blobs},
    write_request::WriteRequest,
};

/// A snapshot to save.
pub(crate) struct SnapshotSaveRequest {
    pub(crate) key: SnapshotKey,
    pub(crate) head: SnapshotMetadata,
    pub(crate) bytes: Bytes,
    pub(crate) facts: Option<ScheduleVersionFacts>,
    pub(crate) done: SaveCallback,
}

enum SaverThreadJob {
    Save(Box<SnapshotSaveRequest>),
    /// Notifies the sender once all earlier jobs have ended.
    Flush(SyncSender<()>),
}

/// The reason why the tables do not refer to the snapshot.
#[derive(Debug, thiserror::Error)]
enum SnapshotRowsWriteError {
    #[error("{0}")]
    Failed(String),
    /// The write timed out and may still succeed.
    #[error("writing lineside.db timed out")]
    TimedOut,
}

#[derive(Debug, Default)]
pub(crate) struct SaveCounters {
    pub(crate) saved: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) is_failing: AtomicBool,
}

/// The state shared by both threads.
#[derive(Debug)]
pub(crate) struct SnapshotSaverState {
    pub(crate) blobs: BlobFolder,
    readers: ReadConnectionPool,
    pub(crate) counts: SaveCounters,
    clock: Arc<dyn Clock>,
    /// The number of pending saves for each blob; such blobs are not deleted.
    pending_saves: Mutex<HashMap<BlobHash, usize>>,
    /// `None` once nothing more may be written.
    tables: Mutex<Option<SyncSender<WriteRequest>>>,
}

/// The two threads.
#[derive(Debug)]
pub(crate) struct SnapshotSaver {
    /// The threads for small and for large bodies; `None` after the stop.
    threads: [Option<SaverThread>; 2],
}

#[derive(Debug)]
struct SaverThread {
    jobs: SyncSender<SaverThreadJob>,
    running: JoinHandle<()>,
}

impl SnapshotSaverState {
    pub(crate) fn new(
        blobs: BlobFolder,
        readers: ReadConnectionPool,
        clock: &Arc<dyn Clock>,
        tables: SyncSender<WriteRequest>,
    ) -> SnapshotSaverState {
        SnapshotSaverState {
            blobs,
            readers,
            counts: SaveCounters::default(),
            clock: Arc::clone(clock),
            pending_saves: Mutex::default(),
            tables: Mutex::new(Some(tables)),
        }
    }

    /// Closes the connections to the tables: nothing is saved after this call.
    pub(crate) fn close_database_connections(&self) {
        self.tables.lock().take();
        self.readers.close_all_idle_connections();
    }

    /// Saves a batch and reports the result of each snapshot.
    fn save_snapshot_batch(&self, saves: Vec<SnapshotSaveRequest>) {
        let mut begun: Vec<(SnapshotSaveRequest, TemporaryBlob)> = Vec::with_capacity(saves.len());
        for save in saves {
            let hash = BlobHash::from_content(&save.bytes);
            // The count comes before the lookup, so that an existing blob without a reference is not deleted in
            // between.
            *self.pending_saves.lock().entry(hash).or_default() += 1;
            match self.blobs.write_temporary_blob(hash, &save.bytes) {
                Ok(unfinished) => begun.push((save, unfinished)),
                Err(error) => {
                    self.end_pending_save(&hash);
                    self.report_save_failure(save, &error);
                }
            }
        }
        let mut placed = Vec::with_capacity(begun.len());
        for (save, unfinished) in begun {
            let hash = unfinished.hash;
            match self.blobs.commit_temporary_blob(unfinished) {
                Ok(hash) => placed.push((save, hash)),
                Err(error) => {
                    self.end_pending_save(&hash);
                    self.report_save_failure(save, &error);
                }
            }
        }
        if placed.is_empty() {
            return;
        }
        let rows = placed.iter().map(|(save, hash)| SnapshotRow {
            key: save.key.clone(),
            head: save.head.clone(),
            blob: *hash,
            size: save.bytes.len() as u64,
            facts: save.facts.clone(),
        });
        let written = self
            .blobs
            .fsync_blob_folders(placed.iter().map(|(_, hash)| *hash))
            .map_err(|error| SnapshotRowsWriteError::Failed(error.to_string()))
            .and_then(|()| self.write_snapshot_rows(rows.collect()));
        for (save, hash) in placed {
            match &written {
                // The write is still queued: the tables may yet refer to the blob, so it has to remain.
                Err(SnapshotRowsWriteError::TimedOut) => {}
                _ => self.end_pending_save(&hash),
            }
            match &written {
                Ok(_) => self.report_save_success(save),
                Err(error) => self.report_save_failure(save, error),
            }
        }
        for replaced in written.unwrap_or_default() {
            self.delete_blob_if_unreferenced(&replaced);
        }
    }

    /// Writes the rows of the snapshots to the tables. Returns the replaced blobs.
    fn write_snapshot_rows(
        &self,
        rows: Vec<SnapshotRow>,
    ) -> Result<Vec<BlobHash>, SnapshotRowsWriteError> {
        let (reply, written) = sync_channel(1);
        let request = WriteRequest::Snapshots { rows, reply };
        let tables = self.tables.lock().clone();
        if tables.is_none_or(|tables| tables.try_send(request).is_err()) {
            let words = "the write queue of lineside.db is full";
            return Err(SnapshotRowsWriteError::Failed(words.to_owned()));
        }
        match written.recv_timeout(FLUSH_MAX) {
            Ok(replaced) => replaced.map_err(SnapshotRowsWriteError::Failed),
            Err(RecvTimeoutError::Timeout) => Err(SnapshotRowsWriteError::TimedOut),
            Err(RecvTimeoutError::Disconnected) => Err(SnapshotRowsWriteError::Failed(
                "the writer of lineside.db has stopped".to_owned(),
            )),
        }
    }

    /// Ends a pending save of a blob.
    fn end_pending_save(&self, hash: &BlobHash) {
        let mut pending_saves = self.pending_saves.lock();
        if let Some(count) = pending_saves.get_mut(hash) {
            *count -= 1;
            if *count == 0 {
                pending_saves.remove(hash);
            }
        }
    }

    fn report_save_success(&self, save: SnapshotSaveRequest) {
        self.counts.saved.fetch_add(1, Ordering::Relaxed);
        if self.counts.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("snapshots can be saved again");
        }
        (save.done)(true);
    }

    fn report_save_failure(&self, save: SnapshotSaveRequest, error: &dyn std::fmt::Display) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
        if !self.counts.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                feed = %save.key.feed, %error,
                "saving a snapshot failed; polling and serving continue, but a restart would begin \
                without these snapshots"
            );
        }
        (save.done)(false);
    }

    /// Deletes a blob unless it is referenced.
    fn delete_blob_if_unreferenced(&self, hash: &BlobHash) {
        let pending_saves = self.pending_saves.lock();
        let is_free = !pending_saves.contains_key(hash)
            && self
                .readers
                .with_connection(|tables| is_blob_referenced(tables, hash))
                .is_ok_and(|is| !is);
        // A later sweep retries the deletion of a blob.
        let removed = is_free.then(|| self.blobs.delete_blob(hash));
        drop(pending_saves);
        if let Some(Err(error)) = removed {
            tracing::debug!(%hash, %error, "deleting a stored file failed");
        }
    }

    /// Deletes all unreferenced blobs.
    pub(crate) fn delete_unreferenced_blobs(&self) {
        let (listed, indexed) =
            (self.blobs.list_blobs(), self.readers.with_connection(referenced_blobs));
        let (listed, indexed) = match (listed, indexed) {
            (Ok(listed), Ok(indexed)) => (listed, indexed),
            (Err(error), _) => return tracing::warn!(%error, "listing the stored files failed"),
            (_, Err(error)) => return tracing::warn!(%error, "listing the stored files failed"),
        };
        self.blobs.set_total_bytes(listed.iter().map(|(_, size)| size).sum());
        let unknown = listed.iter().filter(|(hash, _)| !indexed.contains(hash));
        let mut n_gone = 0_usize;
        for (hash, _) in unknown {
            self.delete_blob_if_unreferenced(hash);
            n_gone += 1;
        }
        if n_gone > 0 {
            tracing::info!(blobs = n_gone, "unreferenced stored files were deleted");
        }
    }

    fn run_saver_thread(&self, jobs: &Receiver<SaverThreadJob>, sweeps: bool) {
        let mut swept: Option<Duration> = None;
        loop {
            let now = self.clock.monotonic();
            if sweeps && swept.is_none_or(|at| now.saturating_sub(at) >= SWEEP_INTERVAL) {
                swept = Some(now);
                self.delete_unreferenced_blobs();
            }
            match jobs.recv_timeout(SWEEP_INTERVAL) {
                Ok(job) => self.run_job_with_queued_jobs(job, jobs),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Runs a job together with other waiting jobs.
    fn run_job_with_queued_jobs(&self, job: SaverThreadJob, jobs: &Receiver<SaverThreadJob>) {
        let (mut next, mut saves) = (Some(job), Vec::new());
        let (mut n_bytes, mut flush) = (0, None);
        while let Some(job) = next.take() {
            match job {
                SaverThreadJob::Save(save) => {
                    n_bytes += save.bytes.len();
                    saves.push(*save);
                }
                SaverThreadJob::Flush(reply) => {
                    flush = Some(reply);
                    break;
                }
            }
            if saves.len() < SAVES_PER_BATCH_MAX && n_bytes < SAVE_BYTES_PER_BATCH_MAX {
                next = jobs.try_recv().ok();
            }
        }
        self.save_snapshot_batch(saves);
        if let Some(reply) = flush {
            // The sender may have given up.
            let _ = reply.try_send(());
        }
    }
}

/// Waits for the end of a thread with a timeout: a hanging disk must not block the exit of the program.
pub(crate) fn join_thread_with_timeout(running: JoinHandle<()>, what: &str) {
    for _ in 0..FLUSH_MAX.as_millis() / THREAD_END_POLL_INTERVAL.as_millis() {
        if running.is_finished() {
            if running.join().is_err() {
                tracing::error!("{what} crashed");
            }
            return;
        }
        thread::park_timeout(THREAD_END_POLL_INTERVAL);
    }
    tracing::warn!("{what} did not end before the timeout; the program does not wait for it");
}

impl SnapshotSaver {
    pub(crate) fn start_threads(saver: &Arc<SnapshotSaverState>) -> std::io::Result<SnapshotSaver> {
        let start_thread = |name: &str, sweeps| {
            let saver = Arc::clone(saver);
            let (jobs, waiting) = sync_channel(SAVES_MAX);
            let thread = thread::Builder::new().name(name.to_owned());
            let running = thread.spawn(move || saver.run_saver_thread(&waiting, sweeps))?;
            std::io::Result::Ok(Some(SaverThread { jobs, running }))
        };
        Ok(SnapshotSaver {
            threads: [start_thread("save", true)?, start_thread("save-large", false)?],
        })
    }

    /// Queues a snapshot for its thread. A full queue is a failure.
    pub(crate) fn queue_snapshot_save(&self, save: SnapshotSaveRequest, counts: &SaveCounters) {
        let saver_thread = &self.threads[usize::from(save.bytes.len() >= LARGE_BYTES)];
        let Some(saver_thread) = saver_thread else { return (save.done)(false) };
        if let Err(back) = saver_thread.jobs.try_send(SaverThreadJob::Save(Box::new(save))) {
            counts.failed.fetch_add(1, Ordering::Relaxed);
            let (TrySendError::Full(job) | TrySendError::Disconnected(job)) = back;
            if let SaverThreadJob::Save(save) = job {
                (save.done)(false);
            }
        }
    }

    /// Waits until all earlier jobs have ended. Returns false on timeout.
    pub(crate) fn wait_for_queued_saves(&self) -> bool {
        let waiting: Vec<_> = self
            .threads
            .iter()
            .flatten()
            .map(|saver_thread| {
                let (reply, done) = sync_channel(1);
                saver_thread.jobs.try_send(SaverThreadJob::Flush(reply)).is_ok().then_some(done)
            })
            .collect();
        let is_done = |done: Option<Receiver<()>>| {
            done.is_some_and(|done| done.recv_timeout(FLUSH_MAX).is_ok())
        };
        waiting.into_iter().all(is_done)
    }

    /// Stops the threads after the queued jobs.
    pub(crate) fn stop_threads_after_jobs(&mut self) {
        for saver_thread in &mut self.threads {
            let Some(SaverThread { jobs, running }) = saver_thread.take() else { continue };
            drop(jobs);
            join_thread_with_timeout(running, "a thread that saves snapshots");
        }
    }
}
