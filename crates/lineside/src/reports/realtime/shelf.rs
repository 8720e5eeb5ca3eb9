//! Schedules as the rules over messages want them: prepared once for each version, on a thread of its own, and shared.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::Error;
use lineside_formats::gtfs::Limits;
use lineside_ingest::{FeedId, Network};
use lineside_store::{BlobHash, Store};
use lineside_validate::gtfs::ZipSource;
use lineside_validate::rules::gtfs_rt::{Timetable, validate_schedule};
use lineside_validate::{Context, Notices, Stop};
use parking_lot::Mutex;
use smol_str::SmolStr;

use super::SAMPLES;
use super::earlier::{EARLIER_MAX, Earlier, kept, read};
use crate::check::{memory_until, too_much};
use crate::config::{Validation, duration_text};
use crate::patience::stopped_after;

/// A schedule, and the trips of the versions before it.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// The SHA-256 of its bytes as they came; none where there is no schedule.
    pub(super) name: Option<Arc<str>>,
    pub(super) timetable: Arc<Timetable>,
    /// What it alone gets wrong for messages.
    pub(super) notices: Arc<Notices>,
    pub(super) earlier: Vec<Earlier>,
}

/// A schedule that is prepared.
#[derive(Debug)]
struct Prepared {
    name: Arc<str>,
    timetable: Arc<Timetable>,
    notices: Arc<Notices>,
}

/// What is known of a network's schedule.
#[derive(Debug)]
struct Shelved {
    /// The version as ingest names it.
    version: SmolStr,
    /// None while it is prepared; else it, or why it cannot be.
    prepared: Option<Result<Prepared, Arc<str>>>,
    earlier: VecDeque<Earlier>,
    /// What the store keeps was asked for more of them.
    is_recalled: bool,
    /// Ends what is being read for it once nobody waits for that any more.
    stop: WhenDropped,
}

/// Stops when it is dropped.
#[derive(Debug)]
struct WhenDropped(Stop);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Shelved {
    /// What the version in use is called, if more of the earlier ones are to be asked for.
    fn to_recall(&self) -> Option<&Arc<str>> {
        let prepared = self.prepared.as_ref()?.as_ref().ok()?;
        let is_wanted = !self.is_recalled && !self.stop.0.is_stopped();
        (is_wanted && self.earlier.len() < EARLIER_MAX).then_some(&prepared.name)
    }

    /// Ends what is being read for it, as there is another version: it is of none from now on, so that what comes of that is let go.
    fn give_up(&mut self) {
        self.stop.0.stop();
        self.version = SmolStr::default();
    }

    /// What is before the version that takes its place.
    fn into_earlier(self) -> VecDeque<Earlier> {
        let mut earlier = self.earlier;
        if let Some(Ok(before)) = self.prepared {
            earlier.push_front((before.name, before.timetable.trip_ids()));
            earlier.truncate(EARLIER_MAX);
        }
        earlier
    }

    /// Puts versions behind those that were there later.
    fn add_earlier(&mut self, versions: Vec<Earlier>) {
        self.earlier.extend(versions);
        self.earlier.truncate(EARLIER_MAX);
    }
}

/// The prepared schedules: one of each network that has real time.
///
/// Bound: one is prepared at a time, or an earlier version read, and none that would take more memory meanwhile than one look at a
/// schedule may, or longer; that ends also when the network is gone or has another version.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    networks: Arc<Mutex<HashMap<FeedId, Shelved>>>,
    /// One is being prepared.
    is_busy: Arc<AtomicBool>,
    /// What keeps versions from before this process, if there is one.
    store: Weak<Store>,
    /// What has nothing in it, for messages without a schedule.
    nothing: OnceLock<Arc<Timetable>>,
}

/// Holds the right to prepare one.
#[derive(Debug)]
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn take(is_busy: &Arc<AtomicBool>) -> Option<Busy> {
        (!is_busy.swap(true, Ordering::AcqRel)).then(|| Busy(Arc::clone(is_busy)))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Shelf {
    /// None yet.
    pub(super) fn new(store: Weak<Store>) -> Self {
        Self { store, ..Self::default() }
    }

    /// What keeps things from before this process, if there is something that does.
    pub(super) fn store(&self) -> Option<Arc<Store>> {
        self.store.upgrade()
    }

    /// The schedule of a network. If its version is not prepared yet, that begins, and there is none so far; where it cannot
    /// be, why.
    pub(super) fn get(
        &self,
        network: &Network,
        limits: &Validation,
    ) -> Result<Option<Schedule>, Arc<str>> {
        let (memory, timeout) = (limits.memory, limits.timeout);
        let Some(dataset) = network.dataset() else { return Ok(None) };
        let mut networks = self.networks.lock();
        let known = networks.get(network.id()).filter(|it| it.version == dataset.version);
        match known.map(|known| (known, &known.prepared)) {
            Some((known, Some(Ok(prepared)))) => {
                return Ok(Some(Schedule {
                    name: Some(Arc::clone(&prepared.name)),
                    timetable: Arc::clone(&prepared.timetable),
                    notices: Arc::clone(&prepared.notices),
                    earlier: known.earlier.iter().cloned().collect(),
                }));
            }
            Some((_, Some(Err(words)))) => return Err(Arc::clone(words)),
            Some((_, None)) => return Ok(None),
            None => {}
        }
        // What is busy may be the version before.
        if let Some(other) = networks.get_mut(network.id()) {
            other.give_up();
        }
        // Another one is being prepared: the next message asks again.
        let Some(busy) = Busy::take(&self.is_busy) else { return Ok(None) };
        let Some(zip) = Zip::of(network, &dataset.version) else { return Ok(None) };
        let earlier = networks.remove(network.id()).map(Shelved::into_earlier).unwrap_or_default();
        let version = dataset.version.clone();
        let stop = Stop::default();
        let shelved = Shelved {
            version: version.clone(),
            prepared: None,
            earlier,
            is_recalled: false,
            stop: WhenDropped(stop.clone()),
        };
        networks.insert(network.id().clone(), shelved);
        drop(networks);
        let (places, id) = (Arc::clone(&self.networks), network.id().clone());
        let work = move || {
            let _busy = busy;
            let made = stopped_after(timeout, &stop, || prepare(&zip, memory, &stop));
            let made = made.unwrap_or_else(|| Err(too_long(timeout)));
            if let Some(shelved) = places.lock().get_mut(&id).filter(|it| it.version == version) {
                // One that comes back is not before itself.
                shelved.earlier.retain(|(name, _)| !made.as_ref().is_ok_and(|it| it.name == *name));
                shelved.prepared = Some(made);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("prepare".to_owned()).spawn(work) {
            self.networks.lock().remove(network.id());
            tracing::warn!(network = %network.id(), %error, "there was no thread to prepare its schedule");
        }
        Ok(None)
    }

    /// Has the trips of versions read that the store keeps from before this process, once for each version in use and where
    /// there is room for more: for messages that are not about that one. To be called where that may block.
    pub(super) fn recall(&self, network: &FeedId, limits: &Validation) {
        let (memory, timeout) = (limits.memory, limits.timeout);
        let mut networks = self.networks.lock();
        let Some(shelved) = networks.get_mut(network) else { return };
        let Some(current) = shelved.to_recall().cloned() else { return };
        // Otherwise the next message asks again.
        let Some(busy) = Busy::take(&self.is_busy) else { return };
        shelved.is_recalled = true;
        let (version, earlier) = (shelved.version.clone(), shelved.earlier.clone());
        let stop = shelved.stop.0.clone();
        drop(networks);
        // The thread below does without the store, which nobody closes while it is in use.
        let Some(store) = self.store.upgrade() else { return };
        let held: Vec<&str> = earlier.iter().map(|(name, _)| &**name).collect();
        let kept = kept(&store, network, (&current, &held));
        drop(store);
        if kept.is_empty() {
            return;
        }
        let (places, id) = (Arc::clone(&self.networks), network.clone());
        let work = move || {
            let _busy = busy;
            let read = stopped_after(timeout, &stop, || read(&kept, &id, memory, &stop));
            if let Some(shelved) = places.lock().get_mut(&id).filter(|it| it.version == version) {
                shelved.add_earlier(read);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("recall".to_owned()).spawn(work) {
            tracing::warn!(%network, %error, "there was no thread to read earlier versions of its schedule");
        }
    }

    /// What messages without a schedule are held against.
    pub(super) fn nothing(&self) -> Schedule {
        let nothing = self.nothing.get_or_init(|| Arc::new(Timetable::none()));
        let notices = Arc::new(Notices::new(0));
        Schedule { name: None, timetable: Arc::clone(nothing), notices, earlier: Vec::new() }
    }

    /// Lets go of networks that are gone.
    pub(super) fn retain(&self, is_there: impl Fn(&FeedId) -> bool) {
        self.networks.lock().retain(|id, _| is_there(id));
    }
}

/// A schedule to be prepared.
#[derive(Debug)]
struct Zip {
    /// It as a GTFS zip,
    bytes: Bytes,
    /// and as it came.
    original: Bytes,
}

impl Zip {
    /// A network's schedule, if it is of this version.
    fn of(network: &Network, version: &str) -> Option<Zip> {
        let dataset = network.dataset()?;
        let held = network.schedule_feed()?.held()?;
        if format!("{:032x}", held.snapshot().hash) != version {
            return None;
        }
        let converted = dataset.converted(&held);
        let bytes = converted.as_ref().unwrap_or(&held).snapshot().bytes.clone();
        Some(Zip { bytes, original: held.snapshot().bytes.clone() })
    }
}

/// What is said of one that was stopped. Nobody asks for one that is gone.
fn too_long(limit: Duration) -> Arc<str> {
    let limit = duration_text(limit);
    format!("its schedule took longer than {limit} to prepare, which is validation.timeout").into()
}

fn unreadable(error: &Error) -> Arc<str> {
    format!("its schedule cannot be read by the rules: {error}").into()
}

/// Takes seconds for a large one; nothing if it was stopped.
fn prepare(zip: &Zip, memory: u64, stop: &Stop) -> Option<Result<Prepared, Arc<str>>> {
    let Zip { bytes, original } = zip;
    let needed = match memory_until(bytes, memory, stop) {
        Ok(needed) => needed,
        Err(_) if stop.is_stopped() => return None,
        Err(error) => return Some(Err(unreadable(&error))),
    };
    if let Some(words) = too_much(needed, memory, "validation.memory") {
        return Some(Err(format!("its schedule cannot be prepared: {words}").into()));
    }
    // What else is wrong with the schedule is not asked here, so neither is the day.
    let context = Context { today: Date::ZERO, country: None, threads: 1 };
    let made = catch_unwind(AssertUnwindSafe(|| -> Result<_, Error> {
        let source = ZipSource::in_any_folder(bytes, &Limits::default())?;
        let timetable = Timetable::read_until(&source, &context, stop)?;
        Ok(timetable.map(|timetable| {
            let mut notices = Notices::new(SAMPLES);
            validate_schedule(&timetable, &mut notices);
            (Arc::new(timetable), Arc::new(notices))
        }))
    }));
    Some(match made {
        Ok(Ok(made)) => {
            let (timetable, notices) = made?;
            let name = BlobHash::of(original).to_string().into();
            Ok(Prepared { name, timetable, notices })
        }
        Ok(Err(error)) => Err(unreadable(&error)),
        Err(_) => Err("our validator broke off over its schedule".into()),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use lineside_formats::Format;
    use lineside_ingest::Ingest;
    use lineside_sync::{SimulatedClock, UnixMillis};
    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::super::made::{polled, until};
    use super::*;

    fn zip() -> Zip {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("trips.txt", SimpleFileOptions::default()).unwrap();
        zip.write_all(b"route_id,service_id,trip_id\nR,D,T1\n").unwrap();
        let bytes = Bytes::from(zip.finish().unwrap().into_inner());
        Zip { original: bytes.clone(), bytes }
    }

    /// A network whose schedule lies in a file.
    fn ingest(folder: &tempfile::TempDir, clock: &SimulatedClock) -> Arc<Ingest> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in [
            ("agency.txt", "agency_name,agency_url,agency_timezone\nA,https://a.example,UTC\n"),
            ("calendar_dates.txt", "service_id,date,exception_type\nD,20260101,1\n"),
            ("routes.txt", "route_id,route_short_name,route_type\nR,1,3\n"),
            ("stops.txt", "stop_id,stop_name,stop_lat,stop_lon\nA,A,59,10\nB,B,59.1,10\n"),
            ("trips.txt", "route_id,service_id,trip_id\nR,D,T1\nR,D,T2\n"),
            (
                "stop_times.txt",
                "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
                 T1,08:00:00,08:00:00,A,1\nT1,08:10:00,08:10:00,B,2\n\
                 T2,09:00:00,09:00:00,A,1\nT2,09:10:00,09:10:00,B,2\n",
            ),
        ] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        polled(("city", Format::Gtfs), ("city.zip", &bytes), folder, clock, None)
    }

    #[tokio::test]
    async fn a_version_that_was_replaced_is_stopped_and_the_new_one_is_prepared() {
        let at = UnixMillis(1_767_250_000_000);
        let (folder, clock) = (tempfile::tempdir().unwrap(), SimulatedClock::new(at));
        let ingest = ingest(&folder, &clock);
        let network = ingest.feed("city").unwrap().network();
        until(&clock, || network.dataset()).await;
        let (shelf, limits) = (Shelf::default(), Validation::default());
        // The version before is being prepared.
        let (stop, busy) = (Stop::default(), Busy::take(&shelf.is_busy).unwrap());
        let before = Shelved {
            version: "before".into(),
            prepared: None,
            earlier: VecDeque::from([("older".into(), Arc::default())]),
            is_recalled: false,
            stop: WhenDropped(stop.clone()),
        };
        shelf.networks.lock().insert(network.id().clone(), before);
        assert!(shelf.get(&network, &limits).unwrap().is_none());
        assert!(stop.is_stopped(), "nobody waits for that version any more");
        let of_before = |it: &Shelved| it.version == "before";
        assert!(!shelf.networks.lock().values().any(of_before), "nor is it remembered as too long");
        drop(busy);
        let schedule = until(&clock, || shelf.get(&network, &limits).unwrap()).await;
        assert_eq!(schedule.timetable.trip_ids().len(), 2);
        let earlier: Vec<_> = schedule.earlier.iter().map(|(name, _)| &**name).collect();
        assert_eq!(earlier, ["older"]);
        ingest.shut_down().await;
    }

    #[test]
    fn a_schedule_that_nobody_waits_for_any_more_is_not_prepared() {
        let stop = Stop::default();
        let prepared = prepare(&zip(), u64::MAX, &stop).unwrap().unwrap();
        assert_eq!(prepared.timetable.trip_ids().len(), 1);
        drop(WhenDropped(stop.clone()));
        assert!(prepare(&zip(), u64::MAX, &stop).is_none());
    }
}
