//! Counters with a cell per thread, folded when read and when a thread ends.
//!
//! A shared atomic that two cores add to moves its cache line at every addition and does not get faster with
//! cores. Here each thread adds to a cell of its own with a plain load and store; who reads adds the cells up.
//!
//! ```
//! use lineside_sync::counter::Counter;
//!
//! let deliveries = Counter::new();
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         scope.spawn(|| {
//!             let deliveries = deliveries.local_handle(); // for a hot loop: the thread's cell itself
//!             (0..1_000).for_each(|_| deliveries.increment());
//!         });
//!     }
//! });
//! assert_eq!(deliveries.get(), 4_000);
//! ```
//!
//! # What a read promises
//! - Every addition that happened before the read is in it, once; whether one that runs meanwhile is, is open.
//!   That holds while threads end and while others take over their cells.
//! - What is read never goes back: of two reads one after the other, in whatever threads, the later is at
//!   least the earlier.
//! - Two counters are not read at the same instant.
//!
//! Additions order nothing else: they are relaxed.
//!
//! # What it costs
//! An addition is one thread-local load, a load and a store; the first of a thread takes a lock, as do reads,
//! making and dropping a counter, and the end of a thread. The first 32 counters of a process take 384 bytes per
//! thread together, the next 64 another 640 in those threads that add to one of them, and so on; that memory
//! is kept for later threads.

pub(crate) mod cells;
mod gauge;
pub(crate) mod thread;

#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::fmt::{self, Debug, Formatter};
use std::rc::Rc;

use self::cells::{CellAddress, CellRegistry, CounterFault, ThreadCells};
use crate::primitive::Arc;
use crate::primitive::atomic::AtomicU64;

pub use self::gauge::{Gauge, LocalGauge};

/// A count of what has happened; it only rises, and wraps after `u64::MAX`.
///
/// A clone counts into the same figure and costs as much as an `Arc`'s. Look a counter up once and keep the
/// handle. Not for use inside a global allocator: a thread's first addition allocates.
#[derive(Clone)]
pub struct Counter {
    place: CellAddress,
    slot: Arc<CounterSlot>,
}

/// The last handle to go gives the cell back.
struct CounterSlot {
    registry: &'static CellRegistry,
    place: CellAddress,
}

impl Drop for CounterSlot {
    fn drop(&mut self) {
        self.registry.close_counter(self.place);
    }
}

impl Counter {
    /// A counter at zero.
    ///
    /// # Panics
    /// When more than 33 million counters are open.
    pub fn new() -> Self {
        Self::in_registry(thread::process_registry())
    }

    fn in_registry(registry: &'static CellRegistry) -> Self {
        let place = registry.open_counter();
        Self { place, slot: Arc::new(CounterSlot { registry, place }) }
    }

    /// Counts one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Counts `n`. Wait-free but for a thread's first addition.
    #[inline]
    pub fn add(&self, n: u64) {
        let CellAddress { area, cell } = self.place;
        thread::with_cells(area as usize, move |cells| {
            cells::add_to_cell(cells.get(cell as usize)?, n);
            Some(())
        });
    }

    /// The calling thread's cell itself: additions without the look-up.
    ///
    /// It belongs to one thread (it is not `Send`) and keeps its cell until it is dropped.
    pub fn local_handle(&self) -> LocalCounter {
        LocalCounter::from_thread_cells(self, thread::thread_cells())
    }

    /// What was counted, by all threads, those that ended included. Takes a lock; linear in the threads.
    pub fn get(&self) -> u64 {
        self.slot.registry.sum_cell(self.place)
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
    /// The cells are not folded, and not another thread's, while this is held.
    _member: Option<Rc<ThreadCells>>,
}

impl LocalCounter {
    fn from_thread_cells(counter: &Counter, member: Rc<ThreadCells>) -> Self {
        let CellAddress { area, cell } = counter.place;
        let cell = &member.cells_in_area(area as usize)[cell as usize];
        let keeps = !counter.slot.registry.injects_fault(CounterFault::LocalKeepsNothing);
        Self { cell, counter: counter.clone(), _member: keeps.then_some(member) }
    }

    /// Counts one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Counts `n`. Wait-free: a load and a store.
    #[inline]
    pub fn add(&self, n: u64) {
        cells::add_to_cell(self.cell, n);
    }

    /// The counter that this is a part of.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }
}

impl Debug for LocalCounter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalCounter").field(&self.counter.get()).finish()
    }
}
