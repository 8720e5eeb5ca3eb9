//! A feed as readers see it: its configuration, its status and its last good bytes.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;
use smol_str::SmolStr;
use tokio::sync::{mpsc, oneshot};

use crate::{
    catalog::{GbfsFeedFile, Network},
    feed_config::{FeedConfig, SharedFeedConfig},
    feed_id::FeedId,
    feed_metrics::FeedMetrics,
    fetch::contains_feed_secret,
    inbox::FeedInbox,
    served_snapshot::ServedSnapshot,
    service_window::ServiceDateRange,
    snapshot::FeedBodySnapshot,
    snapshot_store::{SnapshotKey, SnapshotMetadata},
    source::SiriMode,
    status::{FeedStatus, HealthRules},
};

/// The file name under which a converter's input is stored. No GBFS file has such a name, because those have another
/// ending.
const ORIGINAL: &str = "as sent";

/// A request for an immediate poll. The reply is the remaining time if the rate limit allows none.
pub(crate) type ImmediatePollRequest = oneshot::Sender<Result<(), Duration>>;

/// A feed of the catalog. Only its task writes; readers never wait.
///
/// Its configuration and its network do not change: when the operator changes them, the catalog gets a new `Feed` that
/// shares all other state with the old one.
#[derive(Debug)]
pub struct Feed {
    config: SharedFeedConfig,
    network: Arc<Network>,
    shared_state: Arc<SharedFeedState>,
    /// The file name, if this is a file of a GBFS system; else empty.
    file: SmolStr,
}

/// The status and data of a feed, independent of its configuration.
#[derive(Debug)]
struct SharedFeedState {
    status: ArcSwap<FeedStatus>,
    /// The metrics; files of a GBFS system share those of the system.
    metrics: Arc<FeedMetrics>,
    served_snapshot: ArcSwapOption<ServedSnapshot>,
    /// The producer's original bytes, if the served ones were converted from them.
    original_snapshot: ArcSwapOption<ServedSnapshot>,
    has_been_polled: AtomicBool,
    /// The sender of requests to the feed's task, once it runs.
    poll_requests: ArcSwapOption<mpsc::Sender<ImmediatePollRequest>>,
    restored: OnceLock<RestoredSnapshotInfo>,
    /// The inbox for the producer's deliveries, once the task runs.
    inbox: ArcSwapOption<FeedInbox>,
    /// The files of a GBFS system.
    gbfs_files: ArcSwap<Vec<GbfsFeedFile>>,
    /// The last bytes that could not be read as a schedule, until they are taken.
    rejected_schedule: ArcSwapOption<RejectedSchedule>,
}

/// A new version of a schedule that could not be read.
#[derive(Clone, Debug)]
pub struct RejectedSchedule {
    pub bytes: Bytes,
    /// The time at which the bytes were fetched.
    pub at: UnixMillis,
    /// The error message.
    pub reason: String,
}

/// Data restored from an earlier process.
#[derive(Clone, Debug)]
pub(crate) struct RestoredSnapshotInfo {
    /// Metadata of the stored bytes.
    pub(crate) head: SnapshotMetadata,
    /// True if the bytes still have to be decoded.
    pub(crate) is_undecoded: bool,
}

impl Feed {
    pub(crate) fn new(config: SharedFeedConfig, network: Arc<Network>) -> Feed {
        Feed::new_with_metrics(config, network, Arc::default())
    }

    fn new_with_metrics(
        config: SharedFeedConfig,
        network: Arc<Network>,
        metrics: Arc<FeedMetrics>,
    ) -> Feed {
        let now = network.state().at;
        let reason = "has not been polled yet".to_owned();
        let format = config.configured_format();
        let status = FeedStatus { format, since: now, reason, ..FeedStatus::default() };
        let shown = SharedFeedState {
            status: ArcSwap::from_pointee(status),
            metrics,
            served_snapshot: ArcSwapOption::empty(),
            original_snapshot: ArcSwapOption::empty(),
            has_been_polled: AtomicBool::new(false),
            poll_requests: ArcSwapOption::empty(),
            restored: OnceLock::new(),
            inbox: ArcSwapOption::empty(),
            gbfs_files: ArcSwap::default(),
            rejected_schedule: ArcSwapOption::empty(),
        };
        Feed { config, network, shared_state: Arc::new(shown), file: SmolStr::default() }
    }

    /// Returns the feed with another configuration or network.
    pub(crate) fn with_config_and_network(
        &self,
        config: SharedFeedConfig,
        network: Arc<Network>,
    ) -> Feed {
        if !config.has_same_reply_headers(&self.config) {
            for cell in [&self.shared_state.served_snapshot, &self.shared_state.original_snapshot] {
                if let Some(served) = cell.load_full() {
                    cell.store(Some(Arc::new(served.with_other_config(Arc::clone(&config)))));
                }
            }
        }
        Feed {
            config,
            network,
            shared_state: Arc::clone(&self.shared_state),
            file: self.file.clone(),
        }
    }

    /// Returns a new file of this GBFS system.
    pub(crate) fn new_gbfs_file_feed(&self, config: SharedFeedConfig, file: SmolStr) -> Feed {
        let metrics = Arc::clone(&self.shared_state.metrics);
        Feed { file, ..Feed::new_with_metrics(config, self.network(), metrics) }
    }

    /// Returns the file name, if this is a file of a GBFS system; else empty.
    pub(crate) fn gbfs_file_name(&self) -> &SmolStr {
        &self.file
    }

    /// Returns the files of a GBFS system as listed by its discovery file; empty for other feeds.
    pub fn gbfs_files(&self) -> Arc<Vec<GbfsFeedFile>> {
        self.shared_state.gbfs_files.load_full()
    }

    /// Returns true if a text of the producer contains a secret of the feed.
    pub fn contains_secret(&self, text: &str) -> bool {
        contains_feed_secret(&self.config, text)
    }

    /// Returns the key under which the feed's bytes are stored.
    pub(crate) fn snapshot_key(&self) -> SnapshotKey {
        SnapshotKey { feed: self.id().clone(), file: self.file.clone() }
    }

    pub(crate) fn set_gbfs_files(&self, parts: Vec<GbfsFeedFile>) {
        self.shared_state.gbfs_files.store(Arc::new(parts));
    }

    /// Restores the bytes that an earlier process stored; the feed's task decodes them.
    pub(crate) fn restore_snapshot(&self, head: SnapshotMetadata, bytes: Bytes, now: UnixMillis) {
        let snapshot = head.to_snapshot(bytes);
        let mut status = FeedStatus {
            last_success: Some(head.confirmed_at),
            format: Some(head.format),
            is_restored: true,
            ..FeedStatus::clone(&self.status())
        };
        status.update_state(now, now, &HealthRules::from_config(&self.config));
        self.set_status(status);
        let head = SnapshotMetadata { hash: snapshot.hash, ..head };
        self.set_snapshot(snapshot);
        self.set_restored_snapshot_info(RestoredSnapshotInfo { head, is_undecoded: true });
    }

    /// Returns the configuration.
    pub fn config(&self) -> &FeedConfig {
        &self.config
    }

    pub fn id(&self) -> &FeedId {
        &self.config.id
    }

    pub fn status(&self) -> Arc<FeedStatus> {
        self.shared_state.status.load_full()
    }

    pub fn metrics(&self) -> &FeedMetrics {
        &self.shared_state.metrics
    }

    /// Returns the format: the configured one, else the one detected from the content; `None` before the first good
    /// bytes.
    pub fn format(&self) -> Option<Format> {
        self.config.configured_format().or(self.shared_state.status.load().format)
    }

    /// Returns the last good bytes.
    pub fn snapshot(&self) -> Option<Arc<FeedBodySnapshot>> {
        self.shared_state
            .served_snapshot
            .load()
            .as_ref()
            .map(|served| Arc::clone(served.snapshot()))
    }

    /// Returns the last good bytes with the data that readers prepared from them.
    pub fn served_snapshot(&self) -> Option<Arc<ServedSnapshot>> {
        self.shared_state.served_snapshot.load_full()
    }

    /// Returns the last good bytes as the producer sent them: the served bytes, or those from which they were
    /// converted.
    pub fn producer_snapshot(&self) -> Option<Arc<ServedSnapshot>> {
        if self.config.converter.is_some() {
            self.converter_input_snapshot()
        } else {
            self.served_snapshot()
        }
    }

    /// Returns the producer's original bytes, if the served ones were converted from them.
    pub(crate) fn converter_input_snapshot(&self) -> Option<Arc<ServedSnapshot>> {
        self.shared_state.original_snapshot.load_full()
    }

    /// Returns the key under which the converter's input is stored.
    pub(crate) fn converter_input_key(&self) -> SnapshotKey {
        SnapshotKey { feed: self.id().clone(), file: SmolStr::new_static(ORIGINAL) }
    }

    /// Makes the served bytes the converter's input.
    pub(crate) fn copy_served_to_converter_input(&self) {
        self.shared_state.original_snapshot.store(self.shared_state.served_snapshot.load_full());
    }

    pub(crate) fn set_converter_input(&self, input: Option<ServedSnapshot>) {
        self.shared_state.original_snapshot.store(input.map(Arc::new));
    }

    pub fn network(&self) -> Arc<Network> {
        Arc::clone(&self.network)
    }

    /// Returns true if the feed is known to be a schedule.
    pub fn is_schedule(&self) -> bool {
        self.format().is_some_and(Format::is_schedule)
    }

    /// Returns the service days of the timetable, if the feed is a decoded schedule and has any.
    pub fn service_date_range(&self) -> Option<ServiceDateRange> {
        if !self.is_schedule() || self.network.id() != self.id() {
            return None;
        }
        ServiceDateRange::from_timetable(&*self.network.timetable()?)
    }

    /// Returns true if the source has been polled at least once.
    pub fn has_been_polled(&self) -> bool {
        self.shared_state.has_been_polled.load(Ordering::Acquire)
    }

    /// Returns true if the feed has a realtime message without entities.
    pub(crate) fn has_empty_realtime_message(&self) -> bool {
        let status = self.shared_state.status.load();
        let is_real_time = status.format.is_some_and(Format::is_realtime);
        let is_message = is_real_time && status.entities == 0;
        is_message && self.shared_state.served_snapshot.load().is_some()
    }

    pub(crate) fn shared_config(&self) -> &SharedFeedConfig {
        &self.config
    }

    pub(crate) fn set_status(&self, status: FeedStatus) {
        self.shared_state.status.store(Arc::new(status));
    }

    pub(crate) fn set_snapshot(&self, snapshot: FeedBodySnapshot) {
        self.set_served_snapshot(ServedSnapshot::new(snapshot, Arc::clone(&self.config)));
    }

    pub(crate) fn set_served_snapshot(&self, served: ServedSnapshot) {
        self.shared_state.served_snapshot.store(Some(Arc::new(served)));
    }

    /// Takes over the bytes of another feed, to be served by this configuration.
    pub(crate) fn copy_served_snapshot_from(&self, other: &Feed) {
        if let Some(served) = other.served_snapshot() {
            self.set_served_snapshot(served.with_other_config(Arc::clone(&self.config)));
        }
    }

    /// Data restored from an earlier process.
    pub(crate) fn restored_snapshot_info(&self) -> Option<&RestoredSnapshotInfo> {
        self.shared_state.restored.get()
    }

    pub(crate) fn set_restored_snapshot_info(&self, restored: RestoredSnapshotInfo) {
        self.shared_state.restored.get_or_init(|| restored);
    }

    /// Returns the sender of requests to the feed's task.
    pub(crate) fn poll_request_sender(&self) -> Option<Arc<mpsc::Sender<ImmediatePollRequest>>> {
        self.shared_state.poll_requests.load_full()
    }

    pub(crate) fn set_poll_request_sender(
        &self,
        poll_requests: mpsc::Sender<ImmediatePollRequest>,
    ) {
        self.shared_state.poll_requests.store(Some(Arc::new(poll_requests)));
    }

    /// Takes the last rejected schedule, if there is one since the previous call.
    pub fn take_rejected_schedule(&self) -> Option<Arc<RejectedSchedule>> {
        self.shared_state.rejected_schedule.swap(None)
    }

    /// Stores a rejected schedule for inspection, replacing the one before.
    pub(crate) fn set_rejected_schedule(&self, refused: Option<RejectedSchedule>) {
        self.shared_state.rejected_schedule.store(refused.map(Arc::new));
    }

    /// Returns the inbox for deliveries, if the feed is a SIRI subscription.
    pub fn inbox(&self) -> Option<Arc<FeedInbox>> {
        let siri = self.config.siri.as_ref()?;
        (siri.mode == SiriMode::Subscribe).then(|| self.shared_state.inbox.load_full())?
    }

    pub(crate) fn set_inbox(&self, inbox: FeedInbox) {
        self.shared_state.inbox.store(Some(Arc::new(inbox)));
    }

    pub(crate) fn mark_polled(&self) {
        self.shared_state.has_been_polled.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_hub::Epoch;
    use lineside_sync::{SimulatedClock, UnixMillis};

    use super::*;
    use crate::source::SourceLocation;

    fn snapshot() -> FeedBodySnapshot {
        FeedBodySnapshot {
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
    fn a_change_of_the_served_form_discards_prepared_data() {
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let id = FeedId::new("a").unwrap();
        let network = Arc::new(Network::new(id, [], 1, Epoch::from_bits(1), clock));
        let feed = Feed::new(Arc::new(config()), Arc::clone(&network));
        feed.set_snapshot(snapshot());
        let first = feed.served_snapshot().unwrap();
        first.get_or_prepare_data(|_| "made").unwrap();
        let polled = FeedConfig { poll: Some(Duration::from_secs(9)), ..config() };
        let feed = feed.with_config_and_network(Arc::new(polled), Arc::clone(&network));
        assert!(
            Arc::ptr_eq(&feed.served_snapshot().unwrap(), &first),
            "the poll interval does not change what is served"
        );
        let licensed = FeedConfig { licence: Some("CC0".to_owned()), ..config() };
        let feed = feed.with_config_and_network(Arc::new(licensed), network);
        let next = feed.served_snapshot().unwrap();
        assert_eq!(
            (next.find_prepared_data::<&str>(), next.config().licence.as_deref()),
            (None, Some("CC0"))
        );
        assert!(Arc::ptr_eq(next.snapshot(), first.snapshot()));
    }

    #[test]
    fn prepared_data_are_made_once_and_dropped_with_the_snapshot() {
        let served = ServedSnapshot::new(snapshot(), Arc::new(config()));
        let made = served.get_or_prepare_data(|snapshot| Arc::new(snapshot.hash)).cloned();
        let second = served.get_or_prepare_data(|_| Arc::new(2_u128)).cloned();
        assert_eq!((made.as_deref(), second.as_deref()), (Some(&1), Some(&1)));
        assert!(served.get_or_prepare_data(|_| "of another kind").is_none());
        assert_eq!(served.find_prepared_data::<Arc<u128>>(), made.as_ref());
        assert_eq!(served.find_prepared_data::<&str>(), None);
        let made = Arc::downgrade(&made.unwrap());
        drop((second, served));
        assert!(made.upgrade().is_none());
    }
}
