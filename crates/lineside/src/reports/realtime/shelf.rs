//! Schedules as the rules over messages want them: prepared once for each version, on a thread of its own, and shared.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::Error;
use lineside_formats::gtfs::Limits;
use lineside_ingest::{FeedId, Network};
use lineside_store::BlobHash;
use lineside_validate::gtfs::{ZipSource, load};
use lineside_validate::rules::gtfs_rt::{Timetable, TripIds};
use lineside_validate::{Context, Notices};
use parking_lot::Mutex;
use smol_str::SmolStr;

use super::super::reckoning::memory_for;
use crate::config::size_text;

/// Versions before the one in use whose trips are remembered, of each network: some 30 bytes for each trip.
const EARLIER_MAX: usize = 2;

/// A schedule, and the trips of the versions before it.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// The SHA-256 of its bytes; none where there is no schedule.
    pub(super) name: Option<Arc<str>>,
    pub(super) timetable: Arc<Timetable>,
    pub(super) earlier: Vec<(Arc<str>, Arc<TripIds>)>,
}

/// A schedule with its name, or why it cannot be prepared.
type Prepared = Result<(Arc<str>, Arc<Timetable>), Arc<str>>;

/// What is known of a network's schedule.
#[derive(Debug)]
struct Shelved {
    /// The version as ingest names it.
    version: SmolStr,
    /// None while it is prepared; else it, or why it cannot be.
    prepared: Option<Prepared>,
    earlier: VecDeque<(Arc<str>, Arc<TripIds>)>,
}

/// The prepared schedules: one of each network that has real time.
///
/// Bound: one is prepared at a time, and none that would take more memory meanwhile than one look at a schedule may.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    networks: Arc<Mutex<HashMap<FeedId, Shelved>>>,
    /// One is being prepared.
    is_busy: Arc<AtomicBool>,
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
    /// The schedule of a network. If its version is not prepared yet, that begins, and there is none so far; where it cannot
    /// be, why.
    pub(super) fn get(&self, network: &Network, memory: u64) -> Result<Option<Schedule>, Arc<str>> {
        let Some(dataset) = network.dataset() else { return Ok(None) };
        let mut networks = self.networks.lock();
        let known = networks.get(network.id()).filter(|it| it.version == dataset.version);
        match known.map(|known| (known, &known.prepared)) {
            Some((known, Some(Ok((name, timetable))))) => {
                return Ok(Some(Schedule {
                    name: Some(Arc::clone(name)),
                    timetable: Arc::clone(timetable),
                    earlier: known.earlier.iter().cloned().collect(),
                }));
            }
            Some((_, Some(Err(words)))) => return Err(Arc::clone(words)),
            Some((_, None)) => return Ok(None),
            None => {}
        }
        // Another one is being prepared: the next message asks again.
        let Some(busy) = Busy::take(&self.is_busy) else { return Ok(None) };
        let Some(bytes) = bytes_of(network, &dataset.version) else { return Ok(None) };
        let mut earlier = VecDeque::new();
        if let Some(before) = networks.remove(network.id()) {
            earlier = before.earlier;
            if let Some(Ok((name, timetable))) = before.prepared {
                earlier.push_front((name, timetable.trip_ids()));
                earlier.truncate(EARLIER_MAX);
            }
        }
        let version = dataset.version.clone();
        let shelved = Shelved { version: version.clone(), prepared: None, earlier };
        networks.insert(network.id().clone(), shelved);
        drop(networks);
        let (places, id) = (Arc::clone(&self.networks), network.id().clone());
        let work = move || {
            let _busy = busy;
            let made = prepare(&bytes, memory);
            if let Some(shelved) = places.lock().get_mut(&id).filter(|it| it.version == version) {
                shelved.prepared = Some(made);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("prepare".to_owned()).spawn(work) {
            self.networks.lock().remove(network.id());
            tracing::warn!(network = %network.id(), %error, "there was no thread to prepare its schedule");
        }
        Ok(None)
    }

    /// What messages without a schedule are held against.
    pub(super) fn nothing(&self) -> Schedule {
        let nothing = self.nothing.get_or_init(|| Arc::new(Timetable::none()));
        Schedule { name: None, timetable: Arc::clone(nothing), earlier: Vec::new() }
    }

    /// Lets go of networks that are gone.
    pub(super) fn retain(&self, is_there: impl Fn(&FeedId) -> bool) {
        self.networks.lock().retain(|id, _| is_there(id));
    }
}

/// The bytes of a network's schedule as a GTFS zip, if they are those of this version.
fn bytes_of(network: &Network, version: &str) -> Option<Bytes> {
    let dataset = network.dataset()?;
    let held = network.schedule_feed()?.held()?;
    if format!("{:032x}", held.snapshot().hash) != version {
        return None;
    }
    let converted = dataset.converted(&held);
    Some(converted.as_ref().unwrap_or(&held).snapshot().bytes.clone())
}

/// Takes seconds for a large one.
fn prepare(bytes: &Bytes, memory: u64) -> Result<(Arc<str>, Arc<Timetable>), Arc<str>> {
    let needed = memory_for(bytes, memory);
    if needed > memory {
        let (needs, may) = (size_text(needed.div_ceil(1 << 20) << 20), size_text(memory));
        return Err(format!(
            "its schedule would take about {needs} of memory to prepare, and validation.memory allows {may}"
        )
        .into());
    }
    // What is wrong with the schedule is not asked here, so neither is the day.
    let context = Context { today: Date::ZERO, country: None, threads: 1 };
    let made = catch_unwind(AssertUnwindSafe(|| -> Result<_, Error> {
        let source = ZipSource::new(bytes, &Limits::default())?;
        let feed = load(&source, &context, &mut Notices::new(0))?;
        Ok(Arc::new(Timetable::new(&feed)))
    }));
    match made {
        Ok(Ok(timetable)) => Ok((BlobHash::of(bytes).to_string().into(), timetable)),
        Ok(Err(error)) => Err(format!("its schedule cannot be read by the rules: {error}").into()),
        Err(_) => Err("our validator broke off over its schedule".into()),
    }
}
