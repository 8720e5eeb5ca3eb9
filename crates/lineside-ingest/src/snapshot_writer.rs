//! Storing one feed's last good bytes before they are served.
//!
//! The feed's task waits for that, but not forever: a disk that hangs must not keep new bytes from clients. Then they
//! are served before they are stored, the log says so once, and the next poll tries again.

use std::{sync::Arc, time::Duration};

use lineside_sync::{Clock, UnixMillis};
use tokio::sync::oneshot;
use xxhash_rust::xxh3::Xxh3Default;

use crate::{
    feed_config::FeedConfig,
    limits::{CONFIRM_INTERVAL, SAVE_TIME_MAX, SAVE_TIME_PER_MIB},
    snapshot::FeedBodySnapshot,
    snapshot_store::{
        CacheValidators, ScheduleVersionFacts, SnapshotKey, SnapshotMetadata, SnapshotStore,
    },
    source::{Secret, SourceLocation},
};

/// Metadata stored with bytes.
#[derive(Debug, Default)]
pub(crate) struct SnapshotExtraMetadata {
    /// The source's validators.
    pub(crate) validators: CacheValidators,
    /// Facts about the bytes, if they are a schedule.
    pub(crate) facts: Option<ScheduleVersionFacts>,
}

/// Stores the bytes of one key.
#[derive(Debug)]
pub(crate) struct SnapshotWriter {
    snapshots: Arc<dyn SnapshotStore>,
    clock: Arc<dyn Clock>,
    key: SnapshotKey,
    source: String,
    /// False for a recording: it plays from its beginning at each start, so nothing is stored.
    is_persistent: bool,
    /// The hash of the stored bytes.
    saved: Option<u128>,
    /// The save in progress with its result. Without a hash, its bytes are of another source.
    saving: Option<(Option<u128>, oneshot::Receiver<bool>)>,
    /// The time at which a confirmation was last stored.
    confirmed: Option<Duration>,
    /// True if the last bytes were served before they were stored.
    is_late: bool,
}

impl SnapshotWriter {
    pub(crate) fn new(
        snapshots: &Arc<dyn SnapshotStore>,
        clock: &Arc<dyn Clock>,
        key: SnapshotKey,
        config: &FeedConfig,
    ) -> SnapshotWriter {
        SnapshotWriter {
            snapshots: Arc::clone(snapshots),
            clock: Arc::clone(clock),
            key,
            source: redacted_source_with_hash(config),
            is_persistent: !config.is_replay(),
            saved: None,
            saving: None,
            confirmed: None,
            is_late: false,
        }
    }

    /// Switches to another source. A save in progress is still awaited: a key is not saved again before the previous
    /// save has ended.
    pub(crate) fn switch_source(&mut self, config: &FeedConfig) {
        self.source = redacted_source_with_hash(config);
        self.is_persistent = !config.is_replay();
        (self.saved, self.confirmed) = (None, None);
        if let Some((hash, _)) = &mut self.saving {
            *hash = None;
        }
    }

    /// Records that an earlier process has stored these bytes.
    pub(crate) fn mark_already_saved(&mut self, hash: u128) {
        self.saved = Some(hash);
    }

    /// Stores the bytes and waits within a time limit. Cancel safety: they are stored anyway.
    pub(crate) async fn save_and_wait_with_limit(
        &mut self,
        snapshot: &FeedBodySnapshot,
        metadata: SnapshotExtraMetadata,
        now: UnixMillis,
    ) {
        if !self.is_persistent {
            return;
        }
        self.take_finished_save_result();
        if self.saving.is_none() {
            self.start_save(snapshot, metadata, now);
            self.wait_for_save(snapshot.bytes.len()).await;
        }
        let is_late = self.saving.is_some();
        let is_saved = self.saved == Some(snapshot.hash);
        if is_late && !self.is_late {
            tracing::warn!(
                feed = %self.key.feed,
                "the disk is slow: new data of the feed are served before they are stored, and a crash may lose them"
            );
        } else if self.is_late && is_saved {
            tracing::info!(feed = %self.key.feed, "the disk is fast enough again: new data of the feed are stored before they are served");
        }
        // A save that fails at once after a disk hung has not stored the bytes either.
        self.is_late = is_late || self.is_late && !is_saved;
    }

    /// Records that the source has confirmed the bytes, and retries a failed save.
    pub(crate) fn confirm_snapshot(
        &mut self,
        snapshot: &FeedBodySnapshot,
        metadata: SnapshotExtraMetadata,
        now: UnixMillis,
    ) {
        self.take_finished_save_result();
        if !self.is_persistent || self.saving.is_some() {
            return;
        }
        if self.saved != Some(snapshot.hash) {
            self.start_save(snapshot, metadata, now);
            return;
        }
        let moment = self.clock.monotonic();
        if self.confirmed.is_none_or(|at| moment.saturating_sub(at) >= CONFIRM_INTERVAL) {
            self.confirmed = Some(moment);
            self.snapshots.record_not_modified(&self.key, now, metadata.validators);
        }
    }

    fn start_save(
        &mut self,
        snapshot: &FeedBodySnapshot,
        metadata: SnapshotExtraMetadata,
        now: UnixMillis,
    ) {
        let head = SnapshotMetadata {
            source: self.source.clone(),
            hash: snapshot.hash,
            format: snapshot.format,
            content_type: snapshot.content_type.clone(),
            file_name: snapshot.file_name.clone(),
            fetched_at: snapshot.fetched_at,
            last_modified: snapshot.last_modified,
            validators: metadata.validators,
            confirmed_at: now,
        };
        let (reply, saved) = oneshot::channel();
        self.saving = Some((Some(snapshot.hash), saved));
        self.confirmed = Some(self.clock.monotonic());
        let done = Box::new(move |is_saved| {
            // The feed's task may have ended.
            let _ = reply.send(is_saved);
        });
        self.snapshots.save_snapshot(&self.key, head, snapshot.bytes.clone(), metadata.facts, done);
    }

    async fn wait_for_save(&mut self, n_bytes: usize) {
        let Some((hash, saved)) = &mut self.saving else { return };
        let hash = *hash;
        let more = SAVE_TIME_PER_MIB.mul_f64(n_bytes as f64 / f64::from(1 << 20));
        let limit = self.clock.sleep(SAVE_TIME_MAX + more);
        tokio::select! {
            biased;
            is_saved = saved => self.record_save_result(hash, is_saved.unwrap_or(false)),
            () = limit => {}
        }
    }

    /// Handles the result of a completed save.
    fn take_finished_save_result(&mut self) {
        let Some((hash, saved)) = &mut self.saving else { return };
        let hash = *hash;
        match saved.try_recv() {
            Ok(is_saved) => self.record_save_result(hash, is_saved),
            Err(oneshot::error::TryRecvError::Closed) => self.record_save_result(hash, false),
            Err(oneshot::error::TryRecvError::Empty) => {}
        }
    }

    fn record_save_result(&mut self, hash: Option<u128>, is_saved: bool) {
        self.saving = None;
        if is_saved {
            self.saved = hash;
        }
    }
}

/// Returns the redacted URL of a feed's bytes. The feed's own parameters are secret but make a different source, so a
/// short hash of them is appended that does not reveal them. Keys are left out of the hash, since they may be renewed.
pub(crate) fn redacted_source_with_hash(config: &FeedConfig) -> String {
    let is_part = |(name, _): &&(String, Secret)| !SourceLocation::is_secret_query_parameter(name);
    let mut parts = config.query.iter().filter(is_part).peekable();
    if parts.peek().is_none() {
        return config.url.to_string();
    }
    let mut hasher = Xxh3Default::new();
    for (name, value) in parts {
        for text in [name, value.reveal()] {
            hasher.update(&text.len().to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    let short = hasher.digest() & u64::from(u32::MAX);
    format!("{} query {short:08x}", config.url)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lineside_formats::Format;
    use lineside_sync::SimulatedClock;
    use parking_lot::Mutex;

    use super::*;
    use crate::feed_id::FeedId;
    use crate::snapshot_store::SaveCallback;

    /// A disk that completes saves on request.
    #[derive(Debug, Default)]
    struct Disk {
        waiting: Mutex<Vec<Waiting>>,
        confirmed: Mutex<Vec<UnixMillis>>,
    }

    struct Waiting(Bytes, SaveCallback);

    impl std::fmt::Debug for Waiting {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_tuple("Waiting").field(&self.0).finish()
        }
    }

    impl Disk {
        fn answer(&self, is_saved: bool) -> Bytes {
            let Waiting(bytes, done) = self.waiting.lock().pop().expect("a save is waiting");
            done(is_saved);
            bytes
        }
    }

    impl SnapshotStore for Disk {
        fn save_snapshot(
            &self,
            _: &SnapshotKey,
            _: SnapshotMetadata,
            bytes: Bytes,
            _: Option<ScheduleVersionFacts>,
            done: SaveCallback,
        ) {
            self.waiting.lock().push(Waiting(bytes, done));
        }

        fn record_not_modified(&self, _: &SnapshotKey, at: UnixMillis, _: CacheValidators) {
            self.confirmed.lock().push(at);
        }

        fn find_snapshot_metadata(&self, _: &SnapshotKey) -> Option<SnapshotMetadata> {
            None
        }

        fn read_snapshot(&self, _: &SnapshotKey) -> Option<(SnapshotMetadata, Bytes)> {
            None
        }

        fn delete_snapshot(&self, _: &SnapshotKey) {}

        fn retain_snapshots_of_feeds(&self, _: &[FeedId]) {}
    }

    struct Bench {
        disk: Arc<Disk>,
        clock: Arc<SimulatedClock>,
        writer: SnapshotWriter,
    }

    fn bench(url: &str) -> Bench {
        let disk = Arc::new(Disk::default());
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let id = FeedId::new("city").unwrap();
        let config = FeedConfig::new(id.clone(), SourceLocation::parse(url).unwrap());
        let snapshots = Arc::<Disk>::clone(&disk) as Arc<dyn SnapshotStore>;
        let its_clock = Arc::<SimulatedClock>::clone(&clock) as Arc<dyn Clock>;
        let writer =
            SnapshotWriter::new(&snapshots, &its_clock, SnapshotKey::for_feed(&id), &config);
        Bench { disk, clock, writer }
    }

    fn snapshot(text: &'static str) -> FeedBodySnapshot {
        FeedBodySnapshot {
            bytes: Bytes::from_static(text.as_bytes()),
            hash: FeedBodySnapshot::hash_body(text.as_bytes()),
            format: Format::Raw,
            content_type: String::new(),
            file_name: String::new(),
            fetched_at: UnixMillis(0),
            last_modified: None,
        }
    }

    /// Polls a future once.
    fn poll(future: impl Future<Output = ()>) -> bool {
        let mut future = std::pin::pin!(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        future.as_mut().poll(&mut context).is_ready()
    }

    fn save(bench: &mut Bench, text: &'static str) -> bool {
        poll(bench.writer.save_and_wait_with_limit(
            &snapshot(text),
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        ))
    }

    #[test]
    fn publishing_waits_until_the_bytes_are_saved() {
        let mut bench = bench("https://example.org/a");
        let snapshot = snapshot("a");
        let mut saving = Box::pin(bench.writer.save_and_wait_with_limit(
            &snapshot,
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        ));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(saving.as_mut().poll(&mut context).is_pending());
        assert_eq!(bench.disk.answer(true), "a");
        assert!(saving.as_mut().poll(&mut context).is_ready());
        drop(saving);
        assert_eq!(bench.writer.saved, Some(snapshot.hash));
    }

    #[test]
    fn a_hanging_disk_delays_one_poll_for_a_limited_time() {
        let mut bench = bench("https://example.org/a");
        let snapshot = snapshot("a");
        let mut saving = Box::pin(bench.writer.save_and_wait_with_limit(
            &snapshot,
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        ));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(saving.as_mut().poll(&mut context).is_pending());
        bench.clock.advance_time(SAVE_TIME_MAX + Duration::from_millis(1));
        assert!(saving.as_mut().poll(&mut context).is_ready());
        drop(saving);
        assert!(save(&mut bench, "b"), "the next save does not wait");
        assert_eq!(bench.disk.waiting.lock().len(), 1, "the next save is not queued");
        assert_eq!(bench.disk.answer(true), "a");
        // Bytes served meanwhile are stored as soon as possible.
        let b = self::snapshot("b");
        bench.writer.confirm_snapshot(&b, SnapshotExtraMetadata::default(), UnixMillis(9));
        assert_eq!(bench.disk.answer(true), "b");
        bench.writer.confirm_snapshot(&b, SnapshotExtraMetadata::default(), UnixMillis(10));
        assert!(bench.disk.waiting.lock().is_empty());
        assert!(bench.writer.saving.is_none() && bench.writer.saved == Some(b.hash));
    }

    #[test]
    fn a_save_for_another_source_waits_for_the_running_one() {
        let mut bench = bench("https://example.org/a");
        assert!(!save(&mut bench, "a"));
        let id = FeedId::new("city").unwrap();
        let other = FeedConfig::new(id, SourceLocation::parse("https://example.org/b").unwrap());
        bench.writer.switch_source(&other);
        bench.writer.confirm_snapshot(
            &snapshot("a"),
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        );
        assert_eq!(bench.disk.waiting.lock().len(), 1, "only one save runs at a time");
        bench.disk.answer(true);
        bench.writer.confirm_snapshot(
            &snapshot("a"),
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        );
        assert_eq!(bench.disk.answer(true), "a", "saved for the other source");
        bench.writer.take_finished_save_result();
        assert_eq!(bench.writer.saved, Some(snapshot("a").hash));
    }

    #[test]
    fn a_slow_disk_recovers_only_after_a_successful_save() {
        let mut bench = bench("https://example.org/a");
        bench.writer.is_late = true;
        assert!(!save(&mut bench, "a"));
        bench.disk.answer(false);
        assert!(!save(&mut bench, "b"));
        bench.disk.answer(false);
        bench.writer.take_finished_save_result();
        assert!(bench.writer.is_late, "a failed save does not end the slow state");
        let b = snapshot("b");
        let mut saving = Box::pin(bench.writer.save_and_wait_with_limit(
            &b,
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        ));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(saving.as_mut().poll(&mut context).is_pending());
        bench.disk.answer(true);
        assert!(saving.as_mut().poll(&mut context).is_ready());
        drop(saving);
        assert!(!bench.writer.is_late);
    }

    #[test]
    fn other_query_parameters_are_another_source_and_are_hidden() {
        let snapshot_key = |query: &[(&str, &str)]| {
            let id = FeedId::new("city").unwrap();
            let mut config =
                FeedConfig::new(id, SourceLocation::parse("https://example.org/a").unwrap());
            let secret = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
            config.query = query.iter().map(secret).collect();
            redacted_source_with_hash(&config)
        };
        assert_eq!(snapshot_key(&[]), "https://example.org/a");
        assert_eq!(snapshot_key(&[("api_key", "renewed")]), "https://example.org/a");
        let four = snapshot_key(&[("line", "4")]);
        assert!(four.starts_with("https://example.org/a query ") && !four.contains("line"));
        assert_eq!(four, snapshot_key(&[("line", "4")]));
        let all = [
            four,
            snapshot_key(&[]),
            snapshot_key(&[("line", "5")]),
            snapshot_key(&[("lin", "e4")]),
            snapshot_key(&[("route", "4")]),
        ];
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
    }

    #[test]
    fn a_failed_save_is_retried_at_the_next_poll() {
        let mut bench = bench("https://example.org/a");
        assert!(!save(&mut bench, "a"));
        bench.disk.answer(false);
        bench.writer.confirm_snapshot(
            &snapshot("a"),
            SnapshotExtraMetadata::default(),
            UnixMillis(5),
        );
        assert_eq!(bench.disk.answer(true), "a");
        assert!(bench.disk.confirmed.lock().is_empty());
    }

    #[test]
    fn confirmations_are_written_at_intervals() {
        let mut bench = bench("https://example.org/a");
        bench.writer.mark_already_saved(snapshot("a").hash);
        for _ in 0..10 {
            bench.clock.advance_time(CONFIRM_INTERVAL / 4);
            let now = bench.clock.wall_time();
            bench.writer.confirm_snapshot(&snapshot("a"), SnapshotExtraMetadata::default(), now);
        }
        assert_eq!(bench.disk.confirmed.lock().len(), 3);
        assert!(bench.disk.waiting.lock().is_empty());
    }

    #[test]
    fn snapshots_of_a_replay_are_not_saved() {
        let mut bench = bench("replay:///recorded");
        assert!(save(&mut bench, "a"));
        bench.writer.confirm_snapshot(
            &snapshot("a"),
            SnapshotExtraMetadata::default(),
            UnixMillis(0),
        );
        assert!(bench.disk.waiting.lock().is_empty());
    }
}
