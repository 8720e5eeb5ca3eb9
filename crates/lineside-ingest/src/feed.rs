//! A feed as readers see it: its configuration, how it is doing, its last good bytes.

use std::{
    any::Any,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;
use smol_str::SmolStr;
use tokio::sync::mpsc;

use crate::{
    config::{FeedConfig, FeedId, SharedConfig},
    feed_metrics::FeedMetrics,
    fetch::contains_secret,
    gbfs_files::GbfsFeedFile,
    inbox::FeedInbox,
    memfd::MemoryFile,
    network::Network,
    poll::Ask,
    service_window::ServiceWindow,
    snapshot::Snapshot,
    snapshot_store::{SnapshotHead, SnapshotKey},
    source::SiriMode,
    status::{FeedStatus, HealthRules},
};

/// Under what the bytes are kept that others were made of: a name that no file of a system has, because that ends
/// otherwise.
const ORIGINAL: &str = "as sent";

/// One feed of the catalog. Its task writes, everybody reads; no reader waits.
///
/// Its configuration and its network do not change: when the operator changes them, another one takes its place in the
/// catalog that shares everything else with it.
#[derive(Debug)]
pub struct Feed {
    config: SharedConfig,
    network: Arc<Network>,
    shown: Arc<SharedFeedState>,
    /// Its name, if it is a file of a system.
    file: SmolStr,
}

/// How a feed is doing and what it has, whatever its configuration is.
#[derive(Debug)]
struct SharedFeedState {
    status: ArcSwap<FeedStatus>,
    /// Those of a system's files are the system's.
    figures: Arc<FeedMetrics>,
    held: ArcSwapOption<ServedSnapshot>,
    /// The producer's own bytes, where those that are held were made of them.
    original: ArcSwapOption<ServedSnapshot>,
    tried: AtomicBool,
    /// The way to its task, once it has one.
    asks: ArcSwapOption<mpsc::Sender<Ask>>,
    restored: OnceLock<RestoredSnapshot>,
    /// Where its producer puts its news, once it has a task.
    inbox: ArcSwapOption<FeedInbox>,
    /// Of a system, the files that it has.
    parts: ArcSwap<Vec<GbfsFeedFile>>,
    /// The last bytes that were no schedule, until somebody takes them.
    refused: ArcSwapOption<RejectedSchedule>,
}

/// Bytes that came as a new version of a schedule, and cannot be read as one.
#[derive(Clone, Debug)]
pub struct RejectedSchedule {
    /// The bytes.
    pub bytes: Bytes,
    /// When they came.
    pub at: UnixMillis,
    /// Why they cannot be read, in words.
    pub reason: String,
}

/// What a feed's task finds of an earlier process.
#[derive(Clone, Debug)]
pub(crate) struct RestoredSnapshot {
    /// What is known of the bytes that were kept.
    pub(crate) head: SnapshotHead,
    /// Whether what they say has still to be decoded.
    pub(crate) is_to_decode: bool,
}

impl Feed {
    pub(crate) fn new(config: SharedConfig, network: Arc<Network>) -> Feed {
        Feed::with_metrics(config, network, Arc::default())
    }

    fn with_metrics(
        config: SharedConfig,
        network: Arc<Network>,
        figures: Arc<FeedMetrics>,
    ) -> Feed {
        let now = network.state().at;
        let reason = "has not been polled yet".to_owned();
        let format = config.configured_format();
        let status = FeedStatus { format, since: now, reason, ..FeedStatus::default() };
        let shown = SharedFeedState {
            status: ArcSwap::from_pointee(status),
            figures,
            held: ArcSwapOption::empty(),
            original: ArcSwapOption::empty(),
            tried: AtomicBool::new(false),
            asks: ArcSwapOption::empty(),
            restored: OnceLock::new(),
            inbox: ArcSwapOption::empty(),
            parts: ArcSwap::default(),
            refused: ArcSwapOption::empty(),
        };
        Feed { config, network, shown: Arc::new(shown), file: SmolStr::default() }
    }

    /// The same feed, configured otherwise or in another network.
    pub(crate) fn with_config(&self, config: SharedConfig, network: Arc<Network>) -> Feed {
        if !config.has_same_headers(&self.config) {
            for place in [&self.shown.held, &self.shown.original] {
                if let Some(held) = place.load_full() {
                    place.store(Some(Arc::new(held.with_config(Arc::clone(&config)))));
                }
            }
        }
        Feed { config, network, shown: Arc::clone(&self.shown), file: self.file.clone() }
    }

    /// A file of this system, which has a name in it.
    pub(crate) fn for_gbfs_file(&self, config: SharedConfig, file: SmolStr) -> Feed {
        let figures = Arc::clone(&self.shown.figures);
        Feed { file, ..Feed::with_metrics(config, self.network(), figures) }
    }

    /// Its name in its system, if it is a file of one; else empty.
    pub(crate) fn gbfs_file_name(&self) -> &SmolStr {
        &self.file
    }

    /// The files of a GBFS system, as its discovery file lists them; else none.
    pub fn gbfs_files(&self) -> Arc<Vec<GbfsFeedFile>> {
        self.shown.parts.load_full()
    }

    /// Whether a text of its producer's holds what only the producer is to see.
    pub fn contains_secret(&self, text: &str) -> bool {
        contains_secret(&self.config, text)
    }

    /// Under what its bytes are kept.
    pub(crate) fn snapshot_key(&self) -> SnapshotKey {
        SnapshotKey { feed: self.id().clone(), file: self.file.clone() }
    }

    pub(crate) fn set_gbfs_files(&self, parts: Vec<GbfsFeedFile>) {
        self.shown.parts.store(Arc::new(parts));
    }

    /// Has again what an earlier process kept; its task takes in what that says.
    pub(crate) fn restore_snapshot(&self, head: SnapshotHead, bytes: Bytes, now: UnixMillis) {
        let snapshot = head.to_snapshot(bytes);
        let mut status = FeedStatus {
            last_success: Some(head.confirmed_at),
            format: Some(head.format),
            is_restored: true,
            ..FeedStatus::clone(&self.status())
        };
        status.update_state(now, now, &HealthRules::from_config(&self.config));
        self.set_status(status);
        let head = SnapshotHead { hash: snapshot.hash, ..head };
        self.set_snapshot(snapshot);
        self.set_restored_snapshot(RestoredSnapshot { head, is_to_decode: true });
    }

    /// As it is configured.
    pub fn config(&self) -> &FeedConfig {
        &self.config
    }

    /// Its id.
    pub fn id(&self) -> &FeedId {
        &self.config.id
    }

    /// How it is doing.
    pub fn status(&self) -> Arc<FeedStatus> {
        self.shown.status.load_full()
    }

    /// What is counted of it.
    pub fn metrics(&self) -> &FeedMetrics {
        &self.shown.figures
    }

    /// What it is: as configured, else as its content shows; `None` before the first good bytes.
    pub fn format(&self) -> Option<Format> {
        self.config.configured_format().or(self.shown.status.load().format)
    }

    /// The last good bytes.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.shown.held.load().as_ref().map(|held| Arc::clone(&held.snapshot))
    }

    /// The last good bytes, with what was made ready of them.
    pub fn current(&self) -> Option<Arc<ServedSnapshot>> {
        self.shown.held.load_full()
    }

    /// The last good bytes as the producer sent them: those that are held, or what these were made of.
    pub fn received_snapshot(&self) -> Option<Arc<ServedSnapshot>> {
        if self.config.converter.is_some() { self.conversion_input() } else { self.current() }
    }

    /// The producer's own bytes, where those that are held were made of them.
    pub(crate) fn conversion_input(&self) -> Option<Arc<ServedSnapshot>> {
        self.shown.original.load_full()
    }

    /// Under what these are kept.
    pub(crate) fn conversion_input_key(&self) -> SnapshotKey {
        SnapshotKey { feed: self.id().clone(), file: SmolStr::new_static(ORIGINAL) }
    }

    /// What is held is what the next bytes that are held will be made of.
    pub(crate) fn keep_as_conversion_input(&self) {
        self.shown.original.store(self.shown.held.load_full());
    }

    pub(crate) fn set_conversion_input(&self, held: Option<ServedSnapshot>) {
        self.shown.original.store(held.map(Arc::new));
    }

    /// The network that it belongs to.
    pub fn network(&self) -> Arc<Network> {
        Arc::clone(&self.network)
    }

    /// Whether it is known to be a schedule.
    pub fn is_schedule(&self) -> bool {
        self.format().is_some_and(Format::is_schedule)
    }

    /// The service days of its timetable, if it is a schedule that was read and has any.
    pub fn service_window(&self) -> Option<ServiceWindow> {
        if !self.is_schedule() || self.network.id() != self.id() {
            return None;
        }
        ServiceWindow::from_timetable(&*self.network.timetable()?)
    }

    /// Whether its source was asked at least once.
    pub fn was_polled(&self) -> bool {
        self.shown.tried.load(Ordering::Acquire)
    }

    /// Whether it has good bytes of real time and nothing of them is served.
    pub(crate) fn is_empty_message(&self) -> bool {
        let status = self.shown.status.load();
        let is_real_time = status.format.is_some_and(Format::is_realtime);
        let is_message = is_real_time && status.entities == 0;
        is_message && self.shown.held.load().is_some()
    }

    pub(crate) fn shared_config(&self) -> &SharedConfig {
        &self.config
    }

    pub(crate) fn set_status(&self, status: FeedStatus) {
        self.shown.status.store(Arc::new(status));
    }

    pub(crate) fn set_snapshot(&self, snapshot: Snapshot) {
        self.set_current(ServedSnapshot::new(snapshot, Arc::clone(&self.config)));
    }

    pub(crate) fn set_current(&self, held: ServedSnapshot) {
        self.shown.held.store(Some(Arc::new(held)));
    }

    /// Has the bytes of another, as this one serves them.
    pub(crate) fn copy_current_from(&self, other: &Feed) {
        if let Some(held) = other.current() {
            self.set_current(held.with_config(Arc::clone(&self.config)));
        }
    }

    /// What of an earlier process its task goes on with.
    pub(crate) fn restored_snapshot(&self) -> Option<&RestoredSnapshot> {
        self.shown.restored.get()
    }

    pub(crate) fn set_restored_snapshot(&self, restored: RestoredSnapshot) {
        self.shown.restored.get_or_init(|| restored);
    }

    /// The way to its task.
    pub(crate) fn poll_requests(&self) -> Option<Arc<mpsc::Sender<Ask>>> {
        self.shown.asks.load_full()
    }

    pub(crate) fn set_poll_requests(&self, asks: mpsc::Sender<Ask>) {
        self.shown.asks.store(Some(Arc::new(asks)));
    }

    /// Takes the last bytes that were refused as a schedule, if some came since they were last taken.
    pub fn take_rejected_schedule(&self) -> Option<Arc<RejectedSchedule>> {
        self.shown.refused.swap(None)
    }

    /// Leaves bytes that were refused to whoever looks at them; those before go.
    pub(crate) fn set_rejected_schedule(&self, refused: Option<RejectedSchedule>) {
        self.shown.refused.store(refused.map(Arc::new));
    }

    /// Where its producer puts its news, if it is asked to bring them by itself.
    pub fn inbox(&self) -> Option<Arc<FeedInbox>> {
        let siri = self.config.siri.as_ref()?;
        (siri.mode == SiriMode::Subscribe).then(|| self.shown.inbox.load_full())?
    }

    pub(crate) fn set_inbox(&self, inbox: FeedInbox) {
        self.shown.inbox.store(Some(Arc::new(inbox)));
    }

    pub(crate) fn set_polled(&self) {
        self.shown.tried.store(true, Ordering::Release);
    }
}

/// The last good bytes with what their readers made ready of them: both go together.
#[derive(Debug)]
pub struct ServedSnapshot {
    snapshot: Arc<Snapshot>,
    sealed: Option<Arc<MemoryFile>>,
    config: SharedConfig,
    ready: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl ServedSnapshot {
    /// The bytes, in a file in memory if they are many.
    pub(crate) fn new(snapshot: Snapshot, config: SharedConfig) -> Self {
        let sealed = MemoryFile::new(&snapshot.bytes);
        let bytes =
            sealed.as_ref().map_or_else(|| snapshot.bytes.clone(), MemoryFile::shared_bytes);
        let snapshot = Arc::new(Snapshot { bytes, ..snapshot });
        Self { snapshot, sealed, config, ready: OnceLock::new() }
    }

    /// The bytes.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The file in memory that they lie in, if they lie in one.
    pub fn memory_file(&self) -> Option<&Arc<MemoryFile>> {
        self.sealed.as_ref()
    }

    /// The configuration by which they are served.
    pub fn config(&self) -> &FeedConfig {
        &self.config
    }

    pub(crate) fn shared_config(&self) -> &SharedConfig {
        &self.config
    }

    /// The same bytes, of which what was made ready by another configuration is not good any more.
    fn with_config(&self, config: SharedConfig) -> ServedSnapshot {
        let (snapshot, sealed) = (Arc::clone(&self.snapshot), self.sealed.clone());
        ServedSnapshot { snapshot, sealed, config, ready: OnceLock::new() }
    }

    /// What was made ready of the bytes, if it was.
    pub fn find_prepared<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.ready.get()?.downcast_ref()
    }

    /// What `make` makes ready of the bytes, once for all readers; none if another kind of thing was made of them
    /// before. `make` must be quick: readers that come meanwhile wait for it.
    pub fn get_or_prepare<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&Arc<Snapshot>) -> T,
    ) -> Option<&T> {
        let ready = self.ready.get_or_init(|| Box::new(make(&self.snapshot)));
        ready.downcast_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_hub::Epoch;
    use lineside_sync::{SimulatedClock, UnixMillis};

    use super::*;
    use crate::source::SourceLocation;

    fn snapshot() -> Snapshot {
        Snapshot {
            bytes: bytes::Bytes::from_static(b"a"),
            hash: 1,
            format: Format::Raw,
            content_type: "text/plain".to_owned(),
            file_name: "a.txt".to_owned(),
            fetched_at: UnixMillis(0),
            last_modified: None,
        }
    }

    fn config() -> FeedConfig {
        FeedConfig::new(FeedId::new("a").unwrap(), SourceLocation::parse("a.txt").unwrap())
    }

    #[test]
    fn bytes_that_are_served_otherwise_are_made_ready_anew() {
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let id = FeedId::new("a").unwrap();
        let network = Arc::new(Network::new(id, [], 1, Epoch::from_bits(1), clock));
        let feed = Feed::new(Arc::new(config()), Arc::clone(&network));
        feed.set_snapshot(snapshot());
        let first = feed.current().unwrap();
        first.get_or_prepare(|_| "made").unwrap();
        let polled = FeedConfig { poll: Some(Duration::from_secs(9)), ..config() };
        let feed = feed.with_config(Arc::new(polled), Arc::clone(&network));
        assert!(Arc::ptr_eq(&feed.current().unwrap(), &first), "nothing of it is served");
        let licensed = FeedConfig { licence: Some("CC0".to_owned()), ..config() };
        let feed = feed.with_config(Arc::new(licensed), network);
        let next = feed.current().unwrap();
        assert_eq!(
            (next.find_prepared::<&str>(), next.config().licence.as_deref()),
            (None, Some("CC0"))
        );
        assert!(Arc::ptr_eq(next.snapshot(), first.snapshot()));
    }

    #[test]
    fn what_is_made_ready_is_made_once_and_goes_with_the_bytes() {
        let held = ServedSnapshot::new(snapshot(), Arc::new(config()));
        let made = held.get_or_prepare(|snapshot| Arc::new(snapshot.hash)).cloned();
        let again = held.get_or_prepare(|_| Arc::new(2_u128)).cloned();
        assert_eq!((made.as_deref(), again.as_deref()), (Some(&1), Some(&1)));
        assert!(held.get_or_prepare(|_| "of another kind").is_none());
        assert_eq!(held.find_prepared::<Arc<u128>>(), made.as_ref());
        assert_eq!(held.find_prepared::<&str>(), None);
        let made = Arc::downgrade(&made.unwrap());
        drop((again, held));
        assert!(made.upgrade().is_none());
    }
}
