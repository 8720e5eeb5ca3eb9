//! Histograms with cells per thread: log-linear buckets, a bounded relative error, folded when read.
//!
//! A shared array of atomics falls to a tenth of its speed with the second core. Here each thread records into an
//! array of its own with plain loads and stores, and a [`HistogramSnapshot`] adds the arrays up.
//!
//! ```
//! use lineside_sync::histogram::Histogram;
//!
//! let latencies = Histogram::new(); // of nanoseconds, say
//! (1..=1_000).for_each(|n| latencies.record(n * 1_000));
//!
//! let snapshot = latencies.snapshot();
//! assert_eq!((snapshot.value_count(), snapshot.min(), snapshot.max()), (1_000, Some(1_000), Some(1_000_000)));
//! let p99 = snapshot.quantile(0.99).unwrap();
//! assert!((990_000..=990_000 + 990_000 / 32).contains(&p99));
//! ```
//!
//! # Buckets
//! `Histogram<BITS>` tells values below 2<sup>BITS + 1</sup> apart exactly; from there on each power of two is cut
//! into 2<sup>BITS</sup> buckets of one width. A quantile is therefore never below the true one and at most
//! 2<sup>-BITS</sup> of it above: 3.1 % with the usual 5 bits, 0.8 % with 7. Every `u64` has its bucket; nothing is
//! clamped. The least and the greatest value, the count and the sum are exact.
//!
//! # What a snapshot promises
//! As a [`Counter`](crate::counter)'s read: every record that happened before it is in it, once, also while threads
//! end and others take over their cells; of two snapshots the later has at least the earlier's values. The count
//! is that of the buckets; sum, least and greatest take in every value that is counted, and may already have one
//! that is under way.
//!
//! # What it costs
//! A record is one thread-local load, four loads and two stores, with [`LocalHistogram`] without the
//! thread-local one. With 5 bits a thread that records takes 15,616 bytes, with 7 bits 59,648; what it had is kept
//! for later threads. The first 44 histograms of a process are found by index; further ones cost a few
//! nanoseconds more a record, unless recorded through [`LocalHistogram`].

mod buckets;
mod exponential;
mod snapshot;

#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::fmt::{self, Debug, Formatter};
use std::rc::Rc;
use std::time::Duration;

use crate::counter::cells::{self, AreaKind, CellRegistry, Cells, CounterFault, ThreadCells};
use crate::counter::thread;
use crate::primitive::Arc;

pub use self::exponential::ExponentialBuckets;
pub use self::snapshot::HistogramSnapshot;

/// Bits of precision of [`Histogram::new`]: quantiles are at most 1/32 too high.
pub const BITS: u32 = 5;

/// The cells before the buckets. The first two keep the greatest value, of records and of their complements.
const GREATEST: usize = 0;
const LEAST_INVERTED: usize = 1;
const SUM: usize = 2;
const HEAD: usize = 3;

/// A distribution of values, usually of nanoseconds.
///
/// A clone records into the same figure and costs as much as an `Arc`'s.
#[derive(Clone)]
pub struct Histogram<const PRECISION: u32 = BITS> {
    area: usize,
    shared: Arc<HistogramCells>,
}

/// The last handle to go gives the cells back.
struct HistogramCells {
    registry: &'static CellRegistry,
    area: usize,
}

impl Drop for HistogramCells {
    fn drop(&mut self) {
        self.registry.close_area(self.area);
    }
}

impl Histogram {
    /// An empty histogram of the usual precision.
    pub fn new() -> Self {
        Self::with_precision()
    }
}

impl<const PRECISION: u32> Histogram<PRECISION> {
    /// An empty histogram whose precision the type says, 0 to 16 bits.
    pub fn with_precision() -> Self {
        Self::in_registry(thread::process_registry())
    }

    fn in_registry(registry: &'static CellRegistry) -> Self {
        const { assert!(PRECISION <= 16, "more than 16 bits would take megabytes per thread") };
        let cells = HEAD + buckets::bucket_count(PRECISION);
        let area = registry.open_area(AreaKind { cells, greatest: SUM });
        Self { area, shared: Arc::new(HistogramCells { registry, area }) }
    }

    /// Records one value. Wait-free but for a thread's first.
    #[inline]
    pub fn record(&self, value: u64) {
        thread::with_cells(self.area, move |cells| record_in_cells::<PRECISION>(cells, value));
    }

    /// Records a duration in nanoseconds; beyond 584 years it counts as that.
    #[inline]
    pub fn record_duration(&self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The calling thread's cells themselves: records without the look-up.
    ///
    /// They belong to one thread (it is not `Send`), which keeps them until this is dropped.
    pub fn local_handle(&self) -> LocalHistogram<PRECISION> {
        LocalHistogram::from_thread_cells(self, thread::thread_cells())
    }

    /// What was recorded, by all threads, those that ended included.
    ///
    /// Takes the lock that a thread's first record takes, for about a microsecond per thread.
    pub fn snapshot(&self) -> HistogramSnapshot<PRECISION> {
        HistogramSnapshot::from_cells(self.shared.registry.fold_area(self.area))
    }
}

impl<const PRECISION: u32> Default for Histogram<PRECISION> {
    fn default() -> Self {
        Self::with_precision()
    }
}

impl<const PRECISION: u32> Debug for Histogram<PRECISION> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Histogram").field(&self.snapshot()).finish()
    }
}

/// A [`Histogram`] for one thread.
pub struct LocalHistogram<const PRECISION: u32 = BITS> {
    cells: Cells,
    histogram: Histogram<PRECISION>,
    /// The cells are not folded, and not another thread's, while this is held.
    _member: Option<Rc<ThreadCells>>,
}

impl<const PRECISION: u32> LocalHistogram<PRECISION> {
    fn from_thread_cells(histogram: &Histogram<PRECISION>, member: Rc<ThreadCells>) -> Self {
        let cells = member.cells_in_area(histogram.area);
        let keeps = !histogram.shared.registry.injects_fault(CounterFault::LocalKeepsNothing);
        Self { cells, histogram: histogram.clone(), _member: keeps.then_some(member) }
    }

    /// Records one value. Wait-free.
    #[inline]
    pub fn record(&self, value: u64) {
        record_in_cells::<PRECISION>(self.cells, value);
    }

    /// Records a duration in nanoseconds; beyond 584 years it counts as that.
    #[inline]
    pub fn record_duration(&self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The histogram that this is a part of.
    pub fn histogram(&self) -> &Histogram<PRECISION> {
        &self.histogram
    }
}

impl<const PRECISION: u32> Debug for LocalHistogram<PRECISION> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalHistogram").field(&self.histogram.snapshot()).finish()
    }
}

/// `None`, and nothing done, where the cells are not there.
#[inline]
fn record_in_cells<const PRECISION: u32>(cells: Cells, value: u64) -> Option<()> {
    let (head, buckets) = cells.split_first_chunk::<HEAD>()?;
    cells::raise_cell(&head[GREATEST], value);
    cells::raise_cell(&head[LEAST_INVERTED], !value);
    cells::add_to_cell(&head[SUM], value);
    cells::add_to_last_cell(buckets.get(buckets::bucket_index(PRECISION, value))?, 1);
    Some(())
}
