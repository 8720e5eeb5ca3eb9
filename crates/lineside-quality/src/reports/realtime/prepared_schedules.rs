//! Prepares schedules for the rules on messages: once for each version, on a separate thread. The result is shared.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use jiff::civil::Date;
use lineside_config::{ValidationConfig, format_duration};
use lineside_formats::Error;
use lineside_formats::gtfs::DatasetLimits;
use lineside_ingest::Network;
use lineside_model::FeedId;
use lineside_store::{BlobHash, Store};
use lineside_validate::gtfs::ZipFileSource;
use lineside_validate::rules::gtfs_rt::{ScheduleIndex, validate_schedule_for_realtime};
use lineside_validate::{CancelToken, Notices, ValidationContext};
use parking_lot::Mutex;
use smol_str::SmolStr;

use super::SAMPLES;
use super::previous_datasets::{
    EARLIER_VERSIONS_MAX, EarlierVersionTripIds, list_stored_earlier_versions,
    read_trip_ids_of_versions,
};
use crate::check::{describe_if_over_memory_limit, estimate_until_cancelled};
use crate::reports::cancel_after::run_with_cancel_after;

/// A schedule, and the trips of its earlier versions.
#[derive(Clone, Debug)]
pub(crate) struct PreparedScheduleVersions {
    /// The SHA-256 of the original bytes; `None` without a schedule.
    pub name: Option<Arc<str>>,
    pub timetable: Arc<ScheduleIndex>,
    /// Findings in the schedule alone that matter for messages.
    pub notices: Arc<Notices>,
    pub earlier_versions: Vec<EarlierVersionTripIds>,
}

#[derive(Debug)]
struct IndexedSchedule {
    name: Arc<str>,
    timetable: Arc<ScheduleIndex>,
    notices: Arc<Notices>,
}

/// The state of a network's schedule.
#[derive(Debug)]
struct NetworkScheduleState {
    /// The version's name in ingest.
    version: SmolStr,
    /// `None` during the preparation; then the result, or the reason of a failure.
    prepared: Option<Result<IndexedSchedule, Arc<str>>>,
    earlier_versions: VecDeque<EarlierVersionTripIds>,
    /// True once earlier versions were requested from the store.
    is_earlier_requested: bool,
    /// Cancels the reads for this version when it is dropped.
    stop: CancelOnDrop,
}

#[derive(Debug)]
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl NetworkScheduleState {
    /// Returns the current version's name, if earlier versions are still to be read.
    fn version_needing_earlier_ones(&self) -> Option<&Arc<str>> {
        let prepared = self.prepared.as_ref()?.as_ref().ok()?;
        let is_recall_due = !self.is_earlier_requested && !self.stop.0.is_cancelled();
        (is_recall_due && self.earlier_versions.len() < EARLIER_VERSIONS_MAX)
            .then_some(&prepared.name)
    }

    /// Cancels the reads for this version because it was replaced. The emptied version name makes later results be
    /// discarded.
    fn cancel_replaced_version(&mut self) {
        self.stop.0.cancel();
        self.version = SmolStr::default();
    }

    /// Returns the earlier versions of the version that replaces this one.
    fn into_earlier_versions(self) -> VecDeque<EarlierVersionTripIds> {
        let mut earlier = self.earlier_versions;
        if let Some(Ok(before)) = self.prepared {
            earlier.push_front((before.name, before.timetable.trip_ids()));
            earlier.truncate(EARLIER_VERSIONS_MAX);
        }
        earlier
    }

    /// Adds older versions.
    fn append_earlier_versions(&mut self, versions: Vec<EarlierVersionTripIds>) {
        self.earlier_versions.extend(versions);
        self.earlier_versions.truncate(EARLIER_VERSIONS_MAX);
    }
}

/// The prepared schedules: one of each network with real-time data.
///
/// Bound: one schedule is prepared or one earlier version read at a time, within the limits of time and memory of a
/// schedule's validation. The work is cancelled when the network is gone or has another version.
#[derive(Debug, Default)]
pub(crate) struct PreparedScheduleCache {
    networks: Arc<Mutex<HashMap<FeedId, NetworkScheduleState>>>,
    /// True while a schedule is being prepared.
    is_busy: Arc<AtomicBool>,
    /// The store with versions from before this process, if there is one.
    store: Weak<Store>,
    /// An empty schedule, for messages without a schedule.
    empty_schedule: OnceLock<Arc<ScheduleIndex>>,
}

/// The exclusive right to prepare a schedule, until it is dropped.
#[derive(Debug)]
struct PreparationPermit(Arc<AtomicBool>);

impl PreparationPermit {
    fn try_acquire(is_busy: &Arc<AtomicBool>) -> Option<PreparationPermit> {
        (!is_busy.swap(true, Ordering::AcqRel)).then(|| PreparationPermit(Arc::clone(is_busy)))
    }
}

impl Drop for PreparationPermit {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl PreparedScheduleCache {
    /// Creates an empty cache.
    pub(crate) fn new(store: Weak<Store>) -> Self {
        Self { store, ..Self::default() }
    }

    pub(crate) fn store(&self) -> Option<Arc<Store>> {
        self.store.upgrade()
    }

    /// Returns the schedule of a network. Returns `Ok(None)` if there is none or its version is still being prepared,
    /// which this call starts. Returns the reason as an error if it cannot be prepared.
    pub(crate) fn get(
        &self,
        network: &Network,
        limits: &ValidationConfig,
    ) -> Result<Option<PreparedScheduleVersions>, Arc<str>> {
        let (memory, timeout) = (limits.memory, limits.timeout);
        let Some(dataset) = network.dataset() else { return Ok(None) };
        let mut networks = self.networks.lock();
        let known = networks.get(network.id()).filter(|it| it.version == dataset.version);
        match known.map(|known| (known, &known.prepared)) {
            Some((known, Some(Ok(prepared)))) => {
                return Ok(Some(PreparedScheduleVersions {
                    name: Some(Arc::clone(&prepared.name)),
                    timetable: Arc::clone(&prepared.timetable),
                    notices: Arc::clone(&prepared.notices),
                    earlier_versions: known.earlier_versions.iter().cloned().collect(),
                }));
            }
            Some((_, Some(Err(failure)))) => return Err(Arc::clone(failure)),
            Some((_, None)) => return Ok(None),
            None => {}
        }
        // The running preparation may be for the replaced version.
        if let Some(other) = networks.get_mut(network.id()) {
            other.cancel_replaced_version();
        }
        // While another schedule is being prepared, the next message tries again.
        let Some(busy) = PreparationPermit::try_acquire(&self.is_busy) else { return Ok(None) };
        let Some(zip) = ScheduleZipToPrepare::for_network_version(network, &dataset.version) else {
            return Ok(None);
        };
        let earlier = networks
            .remove(network.id())
            .map(NetworkScheduleState::into_earlier_versions)
            .unwrap_or_default();
        let version = dataset.version.clone();
        let stop = CancelToken::default();
        let shelved = NetworkScheduleState {
            version: version.clone(),
            prepared: None,
            earlier_versions: earlier,
            is_earlier_requested: false,
            stop: CancelOnDrop(stop.clone()),
        };
        networks.insert(network.id().clone(), shelved);
        drop(networks);
        let (shared_networks, id) = (Arc::clone(&self.networks), network.id().clone());
        let work = move || {
            let _busy = busy;
            let prepared_schedule =
                run_with_cancel_after(timeout, &stop, || index_schedule(&zip, memory, &stop));
            let prepared_schedule =
                prepared_schedule.unwrap_or_else(|| Err(preparation_timeout_message(timeout)));
            if let Some(shelved) =
                shared_networks.lock().get_mut(&id).filter(|it| it.version == version)
            {
                // A version that returns is not its own predecessor.
                shelved.earlier_versions.retain(|(name, _)| {
                    !prepared_schedule.as_ref().is_ok_and(|it| it.name == *name)
                });
                shelved.prepared = Some(prepared_schedule);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("prepare".to_owned()).spawn(work) {
            self.networks.lock().remove(network.id());
            tracing::warn!(network = %network.id(), %error, "the thread that prepares the schedule could not be started");
        }
        Ok(None)
    }

    /// Reads the trip ids of stored versions from before this process, once for each current version and if there is
    /// room, for messages that refer to an earlier version. Blocks.
    pub(crate) fn start_reading_earlier_versions(
        &self,
        network: &FeedId,
        limits: &ValidationConfig,
    ) {
        let (memory, timeout) = (limits.memory, limits.timeout);
        let mut networks = self.networks.lock();
        let Some(shelved) = networks.get_mut(network) else { return };
        let Some(current) = shelved.version_needing_earlier_ones().cloned() else { return };
        // Otherwise the next message tries again.
        let Some(busy) = PreparationPermit::try_acquire(&self.is_busy) else { return };
        shelved.is_earlier_requested = true;
        let (version, earlier) = (shelved.version.clone(), shelved.earlier_versions.clone());
        let stop = shelved.stop.0.clone();
        drop(networks);
        // The thread below must not hold the store, which could not be closed meanwhile.
        let Some(store) = self.store.upgrade() else { return };
        let known_versions: Vec<&str> = earlier.iter().map(|(name, _)| &**name).collect();
        let versions = list_stored_earlier_versions(&store, network, (&current, &known_versions));
        drop(store);
        if versions.is_empty() {
            return;
        }
        let (shared_networks, id) = (Arc::clone(&self.networks), network.clone());
        let work = move || {
            let _busy = busy;
            let read = run_with_cancel_after(timeout, &stop, || {
                read_trip_ids_of_versions(&versions, &id, memory, &stop)
            });
            if let Some(shelved) =
                shared_networks.lock().get_mut(&id).filter(|it| it.version == version)
            {
                shelved.append_earlier_versions(read);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("recall".to_owned()).spawn(work) {
            tracing::warn!(%network, %error, "the thread that reads earlier versions of the schedule could not be started");
        }
    }

    /// Returns the empty schedule, for messages without a schedule.
    pub(crate) fn empty_schedule_versions(&self) -> PreparedScheduleVersions {
        let nothing =
            self.empty_schedule.get_or_init(|| Arc::new(ScheduleIndex::new_empty_index()));
        let notices = Arc::new(Notices::new(0));
        PreparedScheduleVersions {
            name: None,
            timetable: Arc::clone(nothing),
            notices,
            earlier_versions: Vec::new(),
        }
    }

    /// Removes deleted networks.
    pub(crate) fn retain_networks(&self, is_member: impl Fn(&FeedId) -> bool) {
        self.networks.lock().retain(|id, _| is_member(id));
    }
}

/// A schedule to prepare.
#[derive(Debug)]
struct ScheduleZipToPrepare {
    /// The GTFS zip.
    bytes: Bytes,
    original: Bytes,
}

impl ScheduleZipToPrepare {
    /// Returns a network's schedule, if it has this version.
    fn for_network_version(network: &Network, version: &str) -> Option<ScheduleZipToPrepare> {
        let dataset = network.dataset()?;
        let served = network.schedule_feed()?.served_snapshot()?;
        if format!("{:032x}", served.snapshot().hash) != version {
            return None;
        }
        let converted = dataset.converted_gtfs_snapshot(&served);
        let bytes = converted.as_ref().unwrap_or(&served).snapshot().bytes.clone();
        Some(ScheduleZipToPrepare { bytes, original: served.snapshot().bytes.clone() })
    }
}

/// Returns the message of a preparation that timed out. If the network is gone, nothing reads it.
fn preparation_timeout_message(limit: Duration) -> Arc<str> {
    let limit = format_duration(limit);
    format!("preparing its schedule took longer than validation.timeout ({limit})").into()
}

fn schedule_unreadable_message(error: &Error) -> Arc<str> {
    format!("its schedule cannot be read: {error}").into()
}

/// Prepares a schedule, which takes seconds for a large one; returns `None` if it is cancelled.
fn index_schedule(
    zip: &ScheduleZipToPrepare,
    memory: u64,
    stop: &CancelToken,
) -> Option<Result<IndexedSchedule, Arc<str>>> {
    let ScheduleZipToPrepare { bytes, original } = zip;
    let needed = match estimate_until_cancelled(bytes, memory, stop) {
        Ok(needed) => needed,
        Err(_) if stop.is_cancelled() => return None,
        Err(error) => return Some(Err(schedule_unreadable_message(&error))),
    };
    if let Some(message) = describe_if_over_memory_limit(needed, memory, "validation.memory") {
        return Some(Err(format!("its schedule cannot be prepared: {message}").into()));
    }
    // Only findings for messages matter here, so the date does not.
    let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
    let prepared_schedule = catch_unwind(AssertUnwindSafe(|| -> Result<_, Error> {
        let source = ZipFileSource::open_with_any_folder(bytes, &DatasetLimits::default())?;
        let timetable = ScheduleIndex::read_and_index_until_cancelled(&source, &context, stop)?;
        Ok(timetable.map(|timetable| {
            let mut notices = Notices::new(SAMPLES);
            validate_schedule_for_realtime(&timetable, &mut notices);
            (Arc::new(timetable), Arc::new(notices))
        }))
    }));
    Some(match prepared_schedule {
        Ok(Ok(prepared_schedule)) => {
            let (timetable, notices) = prepared_schedule?;
            let name = BlobHash::from_content(original).to_string().into();
            Ok(IndexedSchedule { name, timetable, notices })
        }
        Ok(Err(error)) => Err(schedule_unreadable_message(&error)),
        Err(_) => Err("the validator crashed on its schedule".into()),
    })
}

#[cfg(test)]
mod tests {
    use lineside_formats::Format;
    use lineside_ingest::Ingest;
    use lineside_sync::{SimulatedClock, UnixMillis};
    use lineside_testkit::{TestSchedule, zip_files};

    use super::super::polled_feed::{poll_test_feed, wait_until_some};
    use super::*;

    fn zip() -> ScheduleZipToPrepare {
        let trips = [("trips.txt", "route_id,service_id,trip_id\nR,D,T1\n")];
        let bytes = Bytes::from(zip_files(trips));
        ScheduleZipToPrepare { original: bytes.clone(), bytes }
    }

    /// Returns an ingest with a network whose schedule is in a file.
    fn ingest(folder: &tempfile::TempDir, clock: &SimulatedClock) -> Arc<Ingest> {
        let schedule = TestSchedule::new("UTC")
            .stop("A", "A", 59.0, 10.0)
            .stop("B", "B", 59.1, 10.0)
            .trip("T1", "A 08:00, B 08:10")
            .trip("T2", "A 09:00, B 09:10");
        let bytes = schedule.zip();
        poll_test_feed(("city", Format::Gtfs), ("city.zip", &bytes), folder, clock, None)
    }

    #[tokio::test]
    async fn a_new_version_cancels_the_preparation_of_the_previous_one() {
        let at = UnixMillis(1_767_250_000_000);
        let (folder, clock) = (tempfile::tempdir().unwrap(), SimulatedClock::new(at));
        let ingest = ingest(&folder, &clock);
        let network = ingest.find_feed("city").unwrap().network();
        wait_until_some(&clock, || network.dataset()).await;
        let (schedules, limits) = (PreparedScheduleCache::default(), ValidationConfig::default());
        // The previous version is being prepared.
        let (stop, busy) =
            (CancelToken::default(), PreparationPermit::try_acquire(&schedules.is_busy).unwrap());
        let before = NetworkScheduleState {
            version: "before".into(),
            prepared: None,
            earlier_versions: VecDeque::from([("older".into(), Arc::default())]),
            is_earlier_requested: false,
            stop: CancelOnDrop(stop.clone()),
        };
        schedules.networks.lock().insert(network.id().clone(), before);
        assert!(schedules.get(&network, &limits).unwrap().is_none());
        assert!(stop.is_cancelled(), "the preparation of a replaced version is cancelled");
        let is_before = |it: &NetworkScheduleState| it.version == "before";
        assert!(
            !schedules.networks.lock().values().any(is_before),
            "a cancelled preparation has no timeout message"
        );
        drop(busy);
        let schedule = wait_until_some(&clock, || schedules.get(&network, &limits).unwrap()).await;
        assert_eq!(schedule.timetable.trip_ids().len(), 2);
        let earlier: Vec<_> = schedule.earlier_versions.iter().map(|(name, _)| &**name).collect();
        assert_eq!(earlier, ["older"]);
        ingest.stop_polling().await;
    }

    #[test]
    fn a_cancelled_schedule_is_not_prepared() {
        let stop = CancelToken::default();
        let prepared = index_schedule(&zip(), u64::MAX, &stop).unwrap().unwrap();
        assert_eq!(prepared.timetable.trip_ids().len(), 1);
        drop(CancelOnDrop(stop.clone()));
        assert!(index_schedule(&zip(), u64::MAX, &stop).is_none());
    }
}
