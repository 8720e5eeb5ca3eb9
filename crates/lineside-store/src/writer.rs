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
    Bin, FeedId, FeedState, Phase, Poll, Serving, SnapshotKey, Span, Validators,
};
use lineside_sync::{Clock, UnixMillis};
use rusqlite::{Transaction, params};

use crate::{
    Keep,
    blobs::BlobHash,
    delays::{self, DelayRow},
    error::may_pass,
    keeping::purge,
    life::{insert_life, note_life},
    limits::{BATCH_MAX, HEARTBEAT, PURGE_INTERVAL, RETRY},
    notification::{self, NotificationRow},
    reports::{self, ReportRow},
    snapshots::{self, SnapshotRow},
    writable_file::WritableFile,
};

/// Something told.
#[derive(Debug)]
pub(crate) enum Told {
    /// A poll has ended.
    Poll { feed: FeedId, poll: Poll },
    /// A feed is paused, and this is served.
    Pause { feed: FeedId, at: UnixMillis, serving: Serving },
    /// A feed is in another state.
    State { feed: FeedId, state: FeedState, reason: String, since: UnixMillis },
    /// Last good bytes lie on the disk and are these feeds' now. Whoever waits is told the blobs that were before; what
    /// fails is not tried again, because newer bytes may come meanwhile.
    Snapshots { rows: Vec<SnapshotRow>, reply: SyncSender<Result<Vec<BlobHash>, String>> },
    /// A source has confirmed the last good bytes.
    Confirmed { key: SnapshotKey, at: UnixMillis, validators: Validators },
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

impl Told {
    /// Whether it has to outlive a power cut, and not only the process.
    fn must_last(&self) -> bool {
        matches!(
            self,
            Told::State { .. }
                | Told::Snapshots { .. }
                | Told::Notification(_)
                | Told::Report(_)
                | Told::Flush(_)
        )
    }
}

/// What the writer counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
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
pub(crate) struct Writer {
    file: WritableFile,
    clock: Arc<dyn Clock>,
    keep: Keep,
    counts: Arc<Counts>,
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

impl Writer {
    /// Records this start of the server in the file, and closes what the last one left open. On a disk that takes
    /// nothing for now, the first commit that succeeds does so.
    ///
    /// # Errors
    /// If writing fails for a reason that does not pass.
    pub(crate) fn begin(
        file: WritableFile,
        clock: Arc<dyn Clock>,
        keep: Keep,
        counts: Arc<Counts>,
    ) -> rusqlite::Result<Writer> {
        let now = clock.wall();
        let mut writer = Writer {
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
            Err(error) if may_pass(&error) => writer.note_failure(&error),
            started => started?,
        }
        Ok(writer)
    }

    fn record_start(&mut self) -> rusqlite::Result<()> {
        let transaction = self.file.open()?.transaction()?;
        let life = insert_life(&transaction, self.started_at)?;
        transaction.commit()?;
        _ = self.life.set(life);
        Ok(())
    }

    /// The row of this start of the server, once it is written.
    pub(crate) fn life(&self) -> Arc<OnceLock<i64>> {
        Arc::clone(&self.life)
    }

    /// Writes until nobody can tell it anything any more, and then what is left.
    pub(crate) fn run(mut self, told: &Receiver<Told>) {
        let mut batch = Vec::new();
        loop {
            let is_end = gather(told, &mut batch);
            let now = self.clock.wall();
            let is_due = is_end || now.since(self.seen) >= HEARTBEAT;
            if batch.is_empty() && !is_due {
                self.purge(now);
            } else if self.write(&mut batch, now) {
                if is_end {
                    return;
                }
                self.purge(now);
            } else if is_end || self.counts.is_closing.load(Ordering::Relaxed) {
                self.lose(&mut batch);
                return;
            } else {
                thread::park_timeout(RETRY);
            }
        }
    }

    /// Writes the batch, which is empty afterwards unless the same may succeed later. Tells whether it did succeed.
    fn write(&mut self, batch: &mut Vec<Told>, now: UnixMillis) -> bool {
        match self.commit(batch, now) {
            Ok(mut before) => {
                self.seen = now;
                self.counts.written.fetch_add(to_write(batch), Ordering::Relaxed);
                self.note_size();
                if self.counts.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!(file = %self.file.path().display(), "can be written again");
                }
                for told in batch.drain(..) {
                    // Who asked may have given up.
                    match told {
                        Told::Flush(reply) => drop(reply.try_send(())),
                        Told::Snapshots { reply, .. } => {
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
                if !may_pass(&error) {
                    self.lose(batch);
                }
                false
            }
        }
    }

    fn note_failure(&self, error: &rusqlite::Error) {
        self.counts.failures.fetch_add(1, Ordering::Relaxed);
        if !self.counts.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                file = %self.file.path().display(), %error,
                "cannot be written: polling and serving continue, history is lost until it can"
            );
        }
    }

    fn lose(&self, batch: &mut Vec<Told>) {
        self.counts.lost.fetch_add(to_write(batch), Ordering::Relaxed);
        batch.clear();
    }

    /// Writes all in one transaction. Gives, for each [`Told::Snapshots`], the blobs that were before.
    fn commit(
        &mut self,
        batch: &[Told],
        now: UnixMillis,
    ) -> rusqlite::Result<VecDeque<Vec<BlobHash>>> {
        let mut before = VecDeque::new();
        let synchronous = if batch.iter().any(Told::must_last) { "FULL" } else { "NORMAL" };
        let connection = self.file.open()?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        let transaction = connection.transaction()?;
        let life = match self.life.get() {
            Some(life) => *life,
            None => insert_life(&transaction, self.started_at)?,
        };
        for told in batch {
            match told {
                Told::Poll { feed, poll } => {
                    let feed = number(&transaction, &mut self.feeds, feed)?;
                    insert_poll(&transaction, feed, poll)?;
                    insert_bins(&transaction, feed, |span| Bin::of(poll, span))?;
                }
                Told::Pause { feed, at, serving } => {
                    let feed = number(&transaction, &mut self.feeds, feed)?;
                    insert_bins(&transaction, feed, |span| Bin::of_pause(*at, *serving, span))?;
                }
                Told::State { feed, state, reason, since } => {
                    let feed = number(&transaction, &mut self.feeds, feed)?;
                    insert_incident(&transaction, feed, *state, reason, *since)?;
                }
                Told::Snapshots { rows, .. } => {
                    // A version more may be one too many.
                    self.purged = self.purged.filter(|_| rows.iter().all(|it| it.facts.is_none()));
                    before.push_back(put_snapshots(&transaction, &mut self.feeds, rows)?);
                }
                Told::Confirmed { key, at, validators } => {
                    let feed = number(&transaction, &mut self.feeds, &key.feed)?;
                    snapshots::confirm(&transaction, feed, key, *at, validators)?;
                }
                Told::Forgotten(key) => {
                    let feed = number(&transaction, &mut self.feeds, &key.feed)?;
                    snapshots::forget(&transaction, feed, &key.file)?;
                }
                Told::Feeds(feeds) => {
                    snapshots::retain(&transaction, feeds, now)?;
                    self.configured = Some(feeds.clone());
                }
                Told::Notification(row) => {
                    let feed = number(&transaction, &mut self.feeds, &row.feed)?;
                    notification::write(&transaction, feed, row)?;
                }
                Told::Report(row) => put_report(&transaction, &mut self.feeds, row)?,
                Told::Delays(rows) => put_delays(&transaction, &mut self.feeds, rows)?,
                Told::Flush(_) => {}
            }
        }
        note_life(&transaction, life, now)?;
        transaction.commit()?;
        _ = self.life.set(life);
        Ok(before)
    }

    fn note_size(&self) {
        if let Ok(file) = std::fs::metadata(self.file.path()) {
            self.counts.bytes.store(file.len(), Ordering::Relaxed);
        }
    }

    fn purge(&mut self, now: UnixMillis) {
        if self.purged.is_some_and(|at| now.since(at) < PURGE_INTERVAL) {
            return;
        }
        let purged = self
            .file
            .open()
            .and_then(|file| purge(file, now, &self.keep, self.configured.as_deref()));
        match purged {
            Ok(is_all) => self.purged = is_all.then_some(now),
            Err(error) => {
                // Later: whether the disk fails shows when something is to be written.
                self.purged = Some(now);
                tracing::warn!(file = %self.file.path().display(), %error, "old rows cannot be deleted");
            }
        }
    }
}

/// Writes the snapshots, and gives the blobs that they replace.
fn put_snapshots(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    rows: &[SnapshotRow],
) -> rusqlite::Result<Vec<BlobHash>> {
    let mut replaced = Vec::new();
    for row in rows {
        let feed = number(transaction, feeds, &row.key.feed)?;
        replaced.extend(snapshots::put(transaction, feed, row)?);
    }
    Ok(replaced)
}

fn put_report(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    row: &ReportRow,
) -> rusqlite::Result<()> {
    let feed = number(transaction, feeds, &row.feed)?;
    reports::put(transaction, feed, row)
}

fn put_delays(
    transaction: &Transaction<'_>,
    feeds: &mut HashMap<FeedId, i64>,
    rows: &[DelayRow],
) -> rusqlite::Result<()> {
    for row in rows {
        let feed = number(transaction, feeds, &row.feed)?;
        delays::put(transaction, feed, row)?;
    }
    Ok(())
}

/// How many things of a batch are polls, states and reports.
fn to_write(batch: &[Told]) -> u64 {
    batch.iter().filter(|told| is_counted(told)).count() as u64
}

fn is_counted(told: &Told) -> bool {
    matches!(told, Told::Poll { .. } | Told::State { .. } | Told::Report(_))
}

/// Takes the snapshots out of a batch that could not be written, and says so to those who wait.
fn refuse_snapshots(batch: &mut Vec<Told>, error: &rusqlite::Error) {
    batch.retain(|told| match told {
        Told::Snapshots { reply, .. } => {
            drop(reply.try_send(Err(format!("the file lineside.db cannot be written: {error}"))));
            false
        }
        _ => true,
    });
}

/// Waits for something told, and takes what is there besides. Tells whether nothing can come any more.
fn gather(told: &Receiver<Told>, batch: &mut Vec<Told>) -> bool {
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

fn number(
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

fn insert_poll(transaction: &Transaction<'_>, feed: i64, poll: &Poll) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO poll (feed, at, took, bytes, outcome, serving, words, phase, status, head) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let failure = poll.failure.as_ref();
    insert.execute(params![
        feed,
        poll.at.0,
        millis(poll.took),
        whole(poll.bytes),
        poll.outcome.as_str(),
        poll.serving.number(),
        failure.map(|failure| failure.words.as_str()),
        failure.and_then(|failure| failure.phase).map(Phase::as_str),
        failure.and_then(|failure| failure.status),
        failure.and_then(|failure| failure.head.as_deref()),
    ])?;
    Ok(())
}

/// Adds to the bin of the moment in every span.
fn insert_bins(
    transaction: &Transaction<'_>,
    feed: i64,
    bin: impl Fn(Span) -> Bin,
) -> rusqlite::Result<()> {
    Span::ALL.into_iter().try_for_each(|span| insert_bin(transaction, feed, span, &bin(span)))
}

/// Adds to a bin. `last_failed` is the number of what came last in it, which for polls is whether they failed.
fn insert_bin(
    transaction: &Transaction<'_>,
    feed: i64,
    span: Span,
    bin: &Bin,
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
        span.bin_s(),
        bin.start.0,
        bin.polls,
        bin.failed,
        bin.stale,
        bin.nothing,
        whole(bin.bytes),
        millis(bin.took),
        bin.last.number(),
        bin.last_serving.number(),
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

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
