//! Histograms with cells per thread: log-linear buckets, a bounded relative error, summed by the reader.
//!
//! A shared array of atomics falls to a tenth of its speed with the second core. Here each thread records into its own
//! array with plain loads and stores, and a [`HistogramSnapshot`] sums the arrays.
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
//! In `Histogram<BITS>` each value below 2<sup>BITS + 1</sup> has its own bucket. From there on each power of two is
//! divided into 2<sup>BITS</sup> buckets of equal width. A quantile is therefore never below the true one and at most
//! 2<sup>-BITS</sup> of it above: 3.1 % with the usual 5 bits, 0.8 % with 7. Every `u64` has its bucket; nothing is
//! clamped. The least and the greatest value, the count and the sum are exact.
//!
//! # Snapshot guarantees
//! A snapshot has the guarantees of a [`Counter`](crate::counter)'s read. It includes every record that happened
//! before it, exactly once, also while threads end and others take over their cells. Of two snapshots the later has at
//! least the values of the earlier. The count is that of the buckets. Sum, least and greatest include every counted
//! value, and may already include one that is being recorded.
//!
//! # Cost
//! A record is one thread-local load, four loads and two stores; [`LocalHistogram`] saves the thread-local load. A
//! recording thread takes 15,616 bytes with 5 bits and 59,648 with 7 bits; later threads reuse that memory. The first
//! 44 histograms of a process are found by index. Further ones cost a few nanoseconds more per record, except through
//! [`LocalHistogram`].

mod buckets;
mod exponential;
mod snapshot;

#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::fmt::{self, Debug, Formatter};
use std::rc::Rc;
use std::time::Duration;

use crate::counter::cells::{
    self, CellAreaShape, CounterCellRegistry, InjectedCounterFault, ThreadAreaCells, ThreadCells,
};
use crate::counter::thread;
use crate::primitive::Arc;

pub use self::exponential::ExponentialBuckets;
pub use self::snapshot::HistogramSnapshot;

/// The precision of [`Histogram::new`] in bits: quantiles are at most 1/32 too high.
pub const BITS: u32 = 5;

/// The cells before the buckets. The first two hold the greatest value: of the records, and of the records'
/// complements.
const GREATEST: usize = 0;
const LEAST_INVERTED: usize = 1;
const SUM: usize = 2;
const HEAD: usize = 3;

/// A distribution of values, usually of nanoseconds.
///
/// A clone records into the same distribution and costs an `Arc` clone.
#[derive(Clone)]
pub struct Histogram<const PRECISION: u32 = BITS> {
    area: usize,
    shared: Arc<HistogramCellsOwner>,
}

/// The owner of a histogram's cells; returns them to the registry when the last handle is dropped.
struct HistogramCellsOwner {
    registry: &'static CounterCellRegistry,
    area: usize,
}

impl Drop for HistogramCellsOwner {
    fn drop(&mut self) {
        self.registry.release_histogram_area(self.area);
    }
}

impl Histogram {
    /// Creates an empty histogram with [`BITS`] bits of precision.
    pub fn new() -> Self {
        Self::with_precision()
    }
}

impl<const PRECISION: u32> Histogram<PRECISION> {
    /// Creates an empty histogram whose type gives the precision, 0 to 16 bits.
    pub fn with_precision() -> Self {
        Self::new_in_registry(thread::process_cell_registry())
    }

    fn new_in_registry(registry: &'static CounterCellRegistry) -> Self {
        const { assert!(PRECISION <= 16, "more than 16 bits would use megabytes per thread") };
        let cells = HEAD + buckets::bucket_count(PRECISION);
        let area = registry.reserve_histogram_area(CellAreaShape { cells, greatest: SUM });
        Self { area, shared: Arc::new(HistogramCellsOwner { registry, area }) }
    }

    /// Records one value. Wait-free except for a thread's first record.
    #[inline]
    pub fn record(&self, value: u64) {
        thread::with_thread_cells(self.area, move |cells| {
            record_in_cells::<PRECISION>(cells, value)
        });
    }

    /// Records a duration in nanoseconds; durations over 584 years are clamped.
    #[inline]
    pub fn record_duration(&self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns a handle to the calling thread's cells, which records without the look-up.
    ///
    /// The handle belongs to one thread (it is not `Send`) and keeps the cells until it is dropped.
    pub fn handle_for_this_thread(&self) -> LocalHistogram<PRECISION> {
        LocalHistogram::handle_from_thread_cells(self, thread::calling_thread_cells())
    }

    /// Returns the records of all threads, including those that have ended.
    ///
    /// Takes the lock that a thread's first record takes, for about a microsecond per thread.
    pub fn snapshot(&self) -> HistogramSnapshot<PRECISION> {
        HistogramSnapshot::from_cells(self.shared.registry.fold_area_over_threads(self.area))
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
    cells: ThreadAreaCells,
    histogram: Histogram<PRECISION>,
    /// While this is held, the cells are not folded and not handed to another thread.
    _member: Option<Rc<ThreadCells>>,
}

impl<const PRECISION: u32> LocalHistogram<PRECISION> {
    fn handle_from_thread_cells(histogram: &Histogram<PRECISION>, member: Rc<ThreadCells>) -> Self {
        let cells = member.get_or_register_area_cells(histogram.area);
        let retains_cells =
            !histogram.shared.registry.injects_fault(InjectedCounterFault::LocalKeepsNothing);
        Self { cells, histogram: histogram.clone(), _member: retains_cells.then_some(member) }
    }

    /// Records one value. Wait-free.
    #[inline]
    pub fn record(&self, value: u64) {
        record_in_cells::<PRECISION>(self.cells, value);
    }

    /// Records a duration in nanoseconds; durations over 584 years are clamped.
    #[inline]
    pub fn record_duration(&self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the histogram that this handle records into.
    pub fn histogram(&self) -> &Histogram<PRECISION> {
        &self.histogram
    }
}

impl<const PRECISION: u32> Debug for LocalHistogram<PRECISION> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalHistogram").field(&self.histogram.snapshot()).finish()
    }
}

/// Returns `None` and records nothing if the cells do not exist yet.
#[inline]
fn record_in_cells<const PRECISION: u32>(cells: ThreadAreaCells, value: u64) -> Option<()> {
    let (head, buckets) = cells.split_first_chunk::<HEAD>()?;
    cells::raise_cell_to_at_least(&head[GREATEST], value);
    cells::raise_cell_to_at_least(&head[LEAST_INVERTED], !value);
    cells::add_to_cell(&head[SUM], value);
    cells::add_to_cell_written_last(buckets.get(buckets::bucket_index(PRECISION, value))?, 1);
    Some(())
}
