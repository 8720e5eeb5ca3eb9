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
    fetch::tells_secret,
    figures::FeedFigures,
    inbox::Inbox,
    network::Network,
    parts::Part,
    poll::Ask,
    saved::{SavedHead, SnapshotKey},
    sealed::Sealed,
    service_window::ServiceWindow,
    snapshot::Snapshot,
    source::SiriMode,
    status::{FeedStatus, Rules},
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
    shown: Arc<Shown>,
    /// Its name, if it is a file of a system.
    file: SmolStr,
}

/// How a feed is doing and what it has, whatever its configuration is.
#[derive(Debug)]
struct Shown {
    status: ArcSwap<FeedStatus>,
    /// Those of a system's files are the system's.
    figures: Arc<FeedFigures>,
    held: ArcSwapOption<Held>,
    /// The producer's own bytes, where those that are held were made of them.
    original: ArcSwapOption<Held>,
    tried: AtomicBool,
    /// The way to its task, once it has one.
    asks: ArcSwapOption<mpsc::Sender<Ask>>,
    restored: OnceLock<Restored>,
    /// Where its producer puts its news, once it has a task.
    inbox: ArcSwapOption<Inbox>,
    /// Of a system, the files that it has.
    parts: ArcSwap<Vec<Part>>,
    /// The last bytes that were no schedule, until somebody takes them.
    refused: ArcSwapOption<Refused>,
}

/// Bytes that came as a new version of a schedule, and cannot be read as one.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The bytes.
    pub bytes: Bytes,
    /// When they came.
    pub at: UnixMillis,
    /// Why they cannot be read, in words.
    pub reason: String,
}

/// What a feed's task finds of an earlier process.
#[derive(Clone, Debug)]
pub(crate) struct Restored {
    /// What is known of the bytes that were kept.
    pub(crate) head: SavedHead,
    /// Whether what they say has still to be decoded.
    pub(crate) is_to_decode: bool,
}

impl Feed {
    pub(crate) fn new(config: SharedConfig, network: Arc<Network>) -> Feed {
        Feed::counted_by(config, network, Arc::default())
    }

    fn counted_by(config: SharedConfig, network: Arc<Network>, figures: Arc<FeedFigures>) -> Feed {
        let now = network.state().at;
        let reason = "has not been polled yet".to_owned();
        let format = config.promised();
        let status = FeedStatus { format, since: now, reason, ..FeedStatus::default() };
        let shown = Shown {
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
    pub(crate) fn changed(&self, config: SharedConfig, network: Arc<Network>) -> Feed {
        if !config.is_served_as(&self.config) {
            for place in [&self.shown.held, &self.shown.original] {
                if let Some(held) = place.load_full() {
                    place.store(Some(Arc::new(held.configured(Arc::clone(&config)))));
                }
            }
        }
        Feed { config, network, shown: Arc::clone(&self.shown), file: self.file.clone() }
    }

    /// A file of this system, which has a name in it.
    pub(crate) fn part(&self, config: SharedConfig, file: SmolStr) -> Feed {
        let figures = Arc::clone(&self.shown.figures);
        Feed { file, ..Feed::counted_by(config, self.network(), figures) }
    }

    /// Its name in its system, if it is a file of one; else empty.
    pub(crate) fn file(&self) -> &SmolStr {
        &self.file
    }

    /// The files of a GBFS system, as its discovery file lists them; else none.
    pub fn parts(&self) -> Arc<Vec<Part>> {
        self.shown.parts.load_full()
    }

    /// Whether a text of its producer's holds what only the producer is to see.
    pub fn tells_secret(&self, text: &str) -> bool {
        tells_secret(&self.config, text)
    }

    /// Under what its bytes are kept.
    pub(crate) fn key(&self) -> SnapshotKey {
        SnapshotKey { feed: self.id().clone(), file: self.file.clone() }
    }

    pub(crate) fn set_parts(&self, parts: Vec<Part>) {
        self.shown.parts.store(Arc::new(parts));
    }

    /// Has again what an earlier process kept; its task takes in what that says.
    pub(crate) fn restore(&self, head: SavedHead, bytes: Bytes, now: UnixMillis) {
        let snapshot = head.snapshot(bytes);
        let mut status = FeedStatus {
            last_success: Some(head.confirmed_at),
            format: Some(head.format),
            is_restored: true,
            ..FeedStatus::clone(&self.status())
        };
        status.judge(now, now, &Rules::of(&self.config));
        self.set_status(status);
        let head = SavedHead { hash: snapshot.hash, ..head };
        self.set_snapshot(snapshot);
        self.set_restored(Restored { head, is_to_decode: true });
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
    pub fn figures(&self) -> &FeedFigures {
        &self.shown.figures
    }

    /// What it is: as configured, else as its content shows; `None` before the first good bytes.
    pub fn format(&self) -> Option<Format> {
        self.config.promised().or(self.shown.status.load().format)
    }

    /// The last good bytes.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.shown.held.load().as_ref().map(|held| Arc::clone(&held.snapshot))
    }

    /// The last good bytes, with what was made ready of them.
    pub fn held(&self) -> Option<Arc<Held>> {
        self.shown.held.load_full()
    }

    /// The last good bytes as the producer sent them: those that are held, or what these were made of.
    pub fn as_sent(&self) -> Option<Arc<Held>> {
        if self.config.converter.is_some() { self.original() } else { self.held() }
    }

    /// The producer's own bytes, where those that are held were made of them.
    pub(crate) fn original(&self) -> Option<Arc<Held>> {
        self.shown.original.load_full()
    }

    /// Under what these are kept.
    pub(crate) fn original_key(&self) -> SnapshotKey {
        SnapshotKey { feed: self.id().clone(), file: SmolStr::new_static(ORIGINAL) }
    }

    /// What is held is what the next bytes that are held will be made of.
    pub(crate) fn begin_original(&self) {
        self.shown.original.store(self.shown.held.load_full());
    }

    pub(crate) fn set_original(&self, held: Option<Held>) {
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
    pub fn was_tried(&self) -> bool {
        self.shown.tried.load(Ordering::Acquire)
    }

    /// Whether it has good bytes of real time and nothing of them is served.
    pub(crate) fn is_empty_message(&self) -> bool {
        let status = self.shown.status.load();
        let is_real_time = status.format.is_some_and(Format::is_real_time);
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
        self.set_held(Held::new(snapshot, Arc::clone(&self.config)));
    }

    pub(crate) fn set_held(&self, held: Held) {
        self.shown.held.store(Some(Arc::new(held)));
    }

    /// Has the bytes of another, as this one serves them.
    pub(crate) fn set_held_of(&self, other: &Feed) {
        if let Some(held) = other.held() {
            self.set_held(held.configured(Arc::clone(&self.config)));
        }
    }

    /// What of an earlier process its task goes on with.
    pub(crate) fn restored(&self) -> Option<&Restored> {
        self.shown.restored.get()
    }

    pub(crate) fn set_restored(&self, restored: Restored) {
        self.shown.restored.get_or_init(|| restored);
    }

    /// The way to its task.
    pub(crate) fn asks(&self) -> Option<Arc<mpsc::Sender<Ask>>> {
        self.shown.asks.load_full()
    }

    pub(crate) fn set_asks(&self, asks: mpsc::Sender<Ask>) {
        self.shown.asks.store(Some(Arc::new(asks)));
    }

    /// Takes the last bytes that were refused as a schedule, if some came since they were last taken.
    pub fn take_refused(&self) -> Option<Arc<Refused>> {
        self.shown.refused.swap(None)
    }

    /// Leaves bytes that were refused to whoever looks at them; those before go.
    pub(crate) fn set_refused(&self, refused: Option<Refused>) {
        self.shown.refused.store(refused.map(Arc::new));
    }

    /// Where its producer puts its news, if it is asked to bring them by itself.
    pub fn inbox(&self) -> Option<Arc<Inbox>> {
        let siri = self.config.siri.as_ref()?;
        (siri.mode == SiriMode::Subscribe).then(|| self.shown.inbox.load_full())?
    }

    pub(crate) fn set_inbox(&self, inbox: Inbox) {
        self.shown.inbox.store(Some(Arc::new(inbox)));
    }

    pub(crate) fn set_tried(&self) {
        self.shown.tried.store(true, Ordering::Release);
    }
}

/// The last good bytes with what their readers made ready of them: both go together.
#[derive(Debug)]
pub struct Held {
    snapshot: Arc<Snapshot>,
    sealed: Option<Arc<Sealed>>,
    config: SharedConfig,
    ready: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Held {
    /// The bytes, in a file in memory if they are many.
    pub(crate) fn new(snapshot: Snapshot, config: SharedConfig) -> Self {
        let sealed = Sealed::new(&snapshot.bytes);
        let bytes = sealed.as_ref().map_or_else(|| snapshot.bytes.clone(), Sealed::bytes);
        let snapshot = Arc::new(Snapshot { bytes, ..snapshot });
        Self { snapshot, sealed, config, ready: OnceLock::new() }
    }

    /// The bytes.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The file in memory that they lie in, if they lie in one.
    pub fn sealed(&self) -> Option<&Arc<Sealed>> {
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
    fn configured(&self, config: SharedConfig) -> Held {
        let (snapshot, sealed) = (Arc::clone(&self.snapshot), self.sealed.clone());
        Held { snapshot, sealed, config, ready: OnceLock::new() }
    }

    /// What was made ready of the bytes, if it was.
    pub fn find_ready<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.ready.get()?.downcast_ref()
    }

    /// What `make` makes ready of the bytes, once for all readers; none if another kind of thing was made of them
    /// before. `make` must be quick: readers that come meanwhile wait for it.
    pub fn ready<T: Any + Send + Sync>(
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
    use crate::source::Location;

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
        FeedConfig::new(FeedId::new("a").unwrap(), Location::parse("a.txt").unwrap())
    }

    #[test]
    fn bytes_that_are_served_otherwise_are_made_ready_anew() {
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let id = FeedId::new("a").unwrap();
        let network = Arc::new(Network::new(id, [], 1, Epoch::from_bits(1), clock));
        let feed = Feed::new(Arc::new(config()), Arc::clone(&network));
        feed.set_snapshot(snapshot());
        let first = feed.held().unwrap();
        first.ready(|_| "made").unwrap();
        let polled = FeedConfig { poll: Some(Duration::from_secs(9)), ..config() };
        let feed = feed.changed(Arc::new(polled), Arc::clone(&network));
        assert!(Arc::ptr_eq(&feed.held().unwrap(), &first), "nothing of it is served");
        let licensed = FeedConfig { licence: Some("CC0".to_owned()), ..config() };
        let feed = feed.changed(Arc::new(licensed), network);
        let next = feed.held().unwrap();
        assert_eq!(
            (next.find_ready::<&str>(), next.config().licence.as_deref()),
            (None, Some("CC0"))
        );
        assert!(Arc::ptr_eq(next.snapshot(), first.snapshot()));
    }

    #[test]
    fn what_is_made_ready_is_made_once_and_goes_with_the_bytes() {
        let held = Held::new(snapshot(), Arc::new(config()));
        let made = held.ready(|snapshot| Arc::new(snapshot.hash)).cloned();
        let again = held.ready(|_| Arc::new(2_u128)).cloned();
        assert_eq!((made.as_deref(), again.as_deref()), (Some(&1), Some(&1)));
        assert!(held.ready(|_| "of another kind").is_none());
        assert_eq!(held.find_ready::<Arc<u128>>(), made.as_ref());
        assert_eq!(held.find_ready::<&str>(), None);
        let made = Arc::downgrade(&made.unwrap());
        drop((again, held));
        assert!(made.upgrade().is_none());
    }
}
