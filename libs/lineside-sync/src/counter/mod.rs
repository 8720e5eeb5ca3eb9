//! Counters with one cell per thread, summed by the reader and when a thread ends.
//!
//! A shared atomic moves its cache line between cores at every addition, and does not get faster with more cores. Here
//! each thread adds to its own cell with a plain load and store, and a reader sums the cells.
//!
//! ```
//! use lineside_sync::counter::Counter;
//!
//! let deliveries = Counter::new();
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         scope.spawn(|| {
//!             let deliveries = deliveries.handle_for_this_thread(); // for a hot loop: the thread's cell itself
//!             (0..1_000).for_each(|_| deliveries.increment());
//!         });
//!     }
//! });
//! assert_eq!(deliveries.get(), 4_000);
//! ```
//!
//! # Read guarantees
//! - A read includes every addition that happened before it, exactly once. It may or may not include an addition that
//!   runs at the same time. This holds while threads end and while other threads take over their cells.
//! - A value never goes back: of two successive reads in any threads, the later is at least the earlier.
//! - Two counters are not read at the same instant.
//!
//! Additions are relaxed: they order nothing else.
//!
//! # Cost
//! An addition is one thread-local load, a load and a store. These take a lock: a thread's first addition, a read,
//! creating or dropping a counter, and the end of a thread. The first 32 counters of a process take 384 bytes per
//! thread. The next 64 take another 640 bytes in the threads that add to one of them, and so on. That memory is reused
//! by later threads.

pub(crate) mod cells;
mod gauge;
pub(crate) mod thread;

#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::fmt::{self, Debug, Formatter};
use std::rc::Rc;

use self::cells::{CellAddress, CounterCellRegistry, InjectedCounterFault, ThreadCells};
use crate::primitive::Arc;
use crate::primitive::atomic::AtomicU64;

pub use self::gauge::{Gauge, LocalGauge};

/// A count of events. It only rises, and wraps after `u64::MAX`.
///
/// A clone adds to the same count and costs an `Arc` clone. Look a counter up once and keep the handle. Not for use
/// inside a global allocator: a thread's first addition allocates.
#[derive(Clone)]
pub struct Counter {
    address: CellAddress,
    slot: Arc<CounterCellOwner>,
}

/// The owner of a counter's cell; returns the cell to the registry when the last handle is dropped.
struct CounterCellOwner {
    registry: &'static CounterCellRegistry,
    address: CellAddress,
}

impl Drop for CounterCellOwner {
    fn drop(&mut self) {
        self.registry.release_counter_cell(self.address);
    }
}

impl Counter {
    /// Creates a counter at zero.
    ///
    /// # Panics
    /// Panics if more than 33 million counters are open.
    pub fn new() -> Self {
        Self::new_in_registry(thread::process_cell_registry())
    }

    fn new_in_registry(registry: &'static CounterCellRegistry) -> Self {
        let address = registry.reserve_counter_cell();
        Self { address, slot: Arc::new(CounterCellOwner { registry, address }) }
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `n`. Wait-free except for a thread's first addition.
    #[inline]
    pub fn add(&self, n: u64) {
        let CellAddress { area, cell } = self.address;
        thread::with_thread_cells(area as usize, move |cells| {
            cells::add_to_cell(cells.get(cell as usize)?, n);
            Some(())
        });
    }

    /// Returns a handle to the calling thread's cell, which adds without the look-up.
    ///
    /// The handle belongs to one thread (it is not `Send`) and keeps its cell until it is dropped.
    pub fn handle_for_this_thread(&self) -> LocalCounter {
        LocalCounter::handle_from_thread_cells(self, thread::calling_thread_cells())
    }

    /// Returns the count over all threads, including those that have ended. Takes a lock; linear in the threads.
    pub fn get(&self) -> u64 {
        self.slot.registry.sum_cell_over_threads(self.address)
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Debug for Counter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counter").field(&self.get()).finish()
    }
}

/// A [`Counter`] for one thread.
pub struct LocalCounter {
    cell: &'static AtomicU64,
    counter: Counter,
    /// While this is held, the cells are not folded and not handed to another thread.
    _member: Option<Rc<ThreadCells>>,
}

impl LocalCounter {
    fn handle_from_thread_cells(counter: &Counter, member: Rc<ThreadCells>) -> Self {
        let CellAddress { area, cell } = counter.address;
        let cell = &member.get_or_register_area_cells(area as usize)[cell as usize];
        let retains_cells =
            !counter.slot.registry.injects_fault(InjectedCounterFault::LocalKeepsNothing);
        Self { cell, counter: counter.clone(), _member: retains_cells.then_some(member) }
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `n`. Wait-free: a load and a store.
    #[inline]
    pub fn add(&self, n: u64) {
        cells::add_to_cell(self.cell, n);
    }

    /// Returns the counter that this handle adds to.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }
}

impl Debug for LocalCounter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalCounter").field(&self.counter.get()).finish()
    }
}
