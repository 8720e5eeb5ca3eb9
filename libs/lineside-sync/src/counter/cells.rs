//! Ownership of the cells of counters and histograms. An *area* belongs to one group of counters or to one histogram.
//! It holds one slice of cells per thread, and a base with the values of threads that have ended.
//!
//! A cell has one writer at a time, so an addition is a plain load and store and never takes the lock. A reader takes
//! the lock, as does a thread that first touches an area and a thread that ends. An ending thread moves its values
//! into the base in one step under that lock, so a reader sees a value either in the cells or in the base.
//!
//! Cells are never returned to the allocator. The next thread takes them over, so a plain reference to a cell needs no
//! lifetime. Their number is the highest number of threads alive at the same time.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::primitive::Mutex;
use crate::primitive::atomic::AtomicU64;
use crate::primitive::atomic::Ordering::{Acquire, Relaxed, Release};

/// One thread's cells of one area. No two slices share a pair of cache lines (processors fetch pairs).
pub(crate) type ThreadAreaCells = &'static [AtomicU64];

/// The cells in a pair of cache lines.
const LINE: usize = LINE_BYTES / size_of::<u64>();
const LINE_BYTES: usize = 128;

/// The areas of counters come first, each twice the size of the previous one; models use smaller areas.
const COUNTER_AREAS: usize = 20;
const CELLS_FIRST: usize = if cfg!(any(loom, shuttle)) { 1 } else { 2 * LINE };

/// The largest number of counters that can be open in a process at the same time.
pub(crate) const COUNTERS_MAX: usize = CELLS_FIRST * ((1 << COUNTER_AREAS) - 1);

/// The address of a counter's cell within each thread's cells, fixed when the counter is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellAddress {
    pub(crate) area: u32,
    pub(crate) cell: u32,
}

/// The shape of an area: a closed area is reused for a histogram of the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellAreaShape {
    /// The number of cells per thread.
    pub(crate) cells: usize,
    /// The first `greatest` cells keep the greatest value; the others are summed.
    pub(crate) greatest: usize,
}

/// All areas. A process has one registry; each model has its own.
#[derive(Debug)]
pub(crate) struct CounterCellRegistry {
    state: Mutex<RegistryState>,
    #[cfg(any(loom, shuttle))]
    fault: Option<InjectedCounterFault>,
}

#[derive(Debug, Default)]
struct RegistryState {
    areas: Vec<CellArea>,
    /// The areas of dropped histograms.
    closed: Vec<usize>,
    /// Cells without an owner, all zero, by slice length.
    spare: BTreeMap<usize, Vec<ThreadAreaCells>>,
    /// Returned counter slots for reuse; `slots_used` is the first slot that was never used.
    slots: Vec<usize>,
    slots_used: usize,
}

#[derive(Debug)]
struct CellArea {
    kind: CellAreaShape,
    /// The values of threads that have ended; empty until the area is first used.
    base: Box<[u64]>,
    /// The slices of living threads.
    live: Vec<ThreadAreaCells>,
}

/// A fault that a model injects on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedCounterFault {
    /// An ending thread's values are added to the base and also stay in its cells.
    FoldTwice,
    /// An ending thread's cells leave the list first and are folded under a second lock.
    LeaveThenFold,
    /// An ending thread's cells are handed to the next thread before they are folded.
    SpareThenFold,
    /// A closed counter's cells keep their values.
    CloseWithoutClearing,
    /// A reader reads the cells of a record in the order in which they are written.
    ReadForwards,
    /// A local handle does not keep its thread's cells alive.
    LocalKeepsNothing,
}

impl CounterCellRegistry {
    pub(crate) fn new() -> Self {
        let areas = (0..COUNTER_AREAS)
            .map(|n| CellArea::new(CellAreaShape { cells: CELLS_FIRST << n, greatest: 0 }));
        let state = RegistryState { areas: areas.collect(), ..RegistryState::default() };
        Self {
            state: Mutex::new(state),
            #[cfg(any(loom, shuttle))]
            fault: None,
        }
    }

    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn with_fault(fault: Option<InjectedCounterFault>) -> Self {
        Self { fault, ..Self::new() }
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn injects_fault(&self, fault: InjectedCounterFault) -> bool {
        self.fault == Some(fault)
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn injects_fault(&self, _: InjectedCounterFault) -> bool {
        false
    }

    /// Reserves a cell for one more counter, zero in every thread.
    ///
    /// # Panics
    /// Panics if [`COUNTERS_MAX`] counters are open.
    pub(crate) fn reserve_counter_cell(&self) -> CellAddress {
        let mut state = self.state.lock();
        let slot = state.slots.pop().unwrap_or_else(|| {
            state.slots_used += 1;
            state.slots_used - 1
        });
        let address = cell_address_of_slot(slot);
        assert!(slot < COUNTERS_MAX, "at most {COUNTERS_MAX} counters can be open");
        state.areas[address.area as usize].allocate_base_if_empty();
        address
    }

    /// Takes a counter's cell back. No handle to the counter may exist any more.
    pub(crate) fn release_counter_cell(&self, address: CellAddress) {
        let mut state = self.state.lock();
        if !self.injects_fault(InjectedCounterFault::CloseWithoutClearing) {
            state.areas[address.area as usize].clear_cell(address.cell as usize);
        }
        state.slots.push(slot_of_cell_address(address));
    }

    /// Opens an area that is zero in every thread, for one histogram.
    pub(crate) fn reserve_histogram_area(&self, kind: CellAreaShape) -> usize {
        let mut state = self.state.lock();
        let reused = state.closed.iter().position(|&area| state.areas[area].kind == kind);
        if let Some(n) = reused {
            return state.closed.swap_remove(n);
        }
        let mut area = CellArea::new(kind);
        area.allocate_base_if_empty();
        state.areas.push(area);
        state.areas.len() - 1
    }

    /// Takes an area back. No handle to its histogram may exist any more.
    pub(crate) fn release_histogram_area(&self, area: usize) {
        let mut state = self.state.lock();
        state.areas[area].clear_all_cells();
        state.closed.push(area);
    }

    /// Returns the sum of one cell over all threads, including those that have ended; wraps.
    pub(crate) fn sum_cell_over_threads(&self, address: CellAddress) -> u64 {
        let state = self.state.lock();
        let (area, cell) = (&state.areas[address.area as usize], address.cell as usize);
        let cells = area.live.iter().map(|cells| cells[cell].load(Relaxed));
        cells.fold(area.base[cell], u64::wrapping_add)
    }

    /// Returns all cells of an area, folded over all threads.
    pub(crate) fn fold_area_over_threads(&self, area: usize) -> Box<[u64]> {
        let state = self.state.lock();
        let area = &state.areas[area];
        let mut folded = area.base.clone();
        for cells in &area.live {
            if self.injects_fault(InjectedCounterFault::ReadForwards) {
                cells
                    .iter()
                    .enumerate()
                    .for_each(|(n, cell)| area.kind.fold_cell(&mut folded, n, cell));
            } else {
                area.kind.fold_thread_cells(&mut folded, cells);
            }
        }
        folded
    }

    /// Returns zeroed cells of an area to a thread that has none there yet.
    fn register_thread_cells(&self, area: usize) -> ThreadAreaCells {
        let mut state = self.state.lock();
        let n = state.areas[area].kind.cells;
        let spare = state.spare.get_mut(&n).and_then(Vec::pop);
        let cells = spare.unwrap_or_else(|| allocate_cells(n));
        state.areas[area].live.push(cells);
        cells
    }

    /// Moves the values of an ending thread's cells into the base, once, and frees the cells for another thread.
    fn fold_and_free_thread_cells(&self, area: usize, cells: ThreadAreaCells) {
        let mut state = self.state.lock();
        if self.injects_fault(InjectedCounterFault::LeaveThenFold) {
            state.areas[area].unregister_cells(cells);
            drop(state);
            state = self.state.lock();
        }
        if self.injects_fault(InjectedCounterFault::SpareThenFold) {
            state.areas[area].unregister_cells(cells);
            state.spare.entry(cells.len()).or_default().push(cells);
            drop(state);
            state = self.state.lock();
        }
        let of = &mut state.areas[area];
        of.kind.fold_thread_cells(&mut of.base, cells);
        if !self.injects_fault(InjectedCounterFault::FoldTwice) {
            of.unregister_cells(cells);
            zero_cells(cells);
        }
        if !self.injects_fault(InjectedCounterFault::SpareThenFold) {
            state.spare.entry(cells.len()).or_default().push(cells);
        }
    }
}

impl CellArea {
    fn new(kind: CellAreaShape) -> Self {
        Self { kind, base: Box::default(), live: Vec::new() }
    }

    fn allocate_base_if_empty(&mut self) {
        if self.base.is_empty() {
            self.base = vec![0; self.kind.cells].into_boxed_slice();
        }
    }

    fn unregister_cells(&mut self, cells: ThreadAreaCells) {
        self.live.retain(|live| !std::ptr::eq(*live, cells));
    }

    fn clear_cell(&mut self, cell: usize) {
        self.base[cell] = 0;
        for cells in &self.live {
            cells[cell].store(0, Relaxed);
        }
    }

    fn clear_all_cells(&mut self) {
        self.base.fill(0);
        for cells in &self.live {
            zero_cells(cells);
        }
    }
}

impl CellAreaShape {
    /// Folds the last cells first: a value written before an [`add_to_cell_written_last`] that is seen here is then
    /// seen as well.
    fn fold_thread_cells(self, into: &mut [u64], cells: ThreadAreaCells) {
        for (n, cell) in cells.iter().enumerate().rev() {
            self.fold_cell(into, n, cell);
        }
    }

    fn fold_cell(self, into: &mut [u64], n: usize, cell: &AtomicU64) {
        let value = cell.load(Acquire);
        into[n] = if n < self.greatest { into[n].max(value) } else { into[n].wrapping_add(value) };
    }
}

/// Adds to a cell that only the calling thread writes; wraps.
#[inline]
pub(crate) fn add_to_cell(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Like [`add_to_cell`], for the last of several cells that are written together: a reader that sees this addition
/// sees the other cells' values too.
#[inline]
pub(crate) fn add_to_cell_written_last(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Release);
}

/// Raises a cell that only the calling thread writes to at least `value`.
#[inline]
pub(crate) fn raise_cell_to_at_least(cell: &AtomicU64, value: u64) {
    if cell.load(Relaxed) < value {
        cell.store(value, Relaxed);
    }
}

fn zero_cells(cells: ThreadAreaCells) {
    for cell in cells {
        cell.store(0, Relaxed);
    }
}

/// Aligns the cells to a pair of cache lines by hand and pads them to whole pairs, so that heap neighbors are on other
/// lines.
fn allocate_cells(n: usize) -> ThreadAreaCells {
    let padding = if cfg!(any(loom, shuttle)) { 0 } else { n.next_multiple_of(LINE) - n + LINE };
    let cells = (0..n + padding).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak();
    let off = cells.as_ptr().addr() % LINE_BYTES / size_of::<AtomicU64>();
    let start = if off == 0 { 0 } else { padding.min(LINE - off) };
    &cells[start..start + n]
}

/// Returns the address of a slot. Slots fill the areas in turn: area `n` begins at `CELLS_FIRST * (2^n - 1)`.
fn cell_address_of_slot(slot: usize) -> CellAddress {
    let area = (slot / CELLS_FIRST + 1).ilog2();
    let cell = slot - CELLS_FIRST * ((1 << area) - 1);
    CellAddress { area, cell: cell as u32 }
}

fn slot_of_cell_address(address: CellAddress) -> usize {
    CELLS_FIRST * ((1 << address.area) - 1) + address.cell as usize
}

/// One thread's cells in all areas that it has touched; they are folded when the last holder is dropped.
#[derive(Debug)]
pub(crate) struct ThreadCells {
    registry: &'static CounterCellRegistry,
    /// The cells by area; empty for an area that this thread has not touched.
    cells: RefCell<Vec<ThreadAreaCells>>,
}

impl ThreadCells {
    pub(crate) fn new_in_registry(registry: &'static CounterCellRegistry) -> Self {
        Self { registry, cells: RefCell::default() }
    }

    /// Returns this thread's cells of `area`; takes cells from the registry on first use.
    pub(crate) fn get_or_register_area_cells(&self, area: usize) -> ThreadAreaCells {
        let mut cells = self.cells.borrow_mut();
        if cells.len() <= area {
            cells.resize(area + 1, &[]);
        }
        if cells[area].is_empty() {
            cells[area] = self.registry.register_thread_cells(area);
        }
        cells[area]
    }
}

impl Drop for ThreadCells {
    fn drop(&mut self) {
        for (area, &cells) in self.cells.get_mut().iter().enumerate() {
            if !cells.is_empty() {
                self.registry.fold_and_free_thread_cells(area, cells);
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    #[test]
    fn every_slot_has_a_unique_address() {
        assert_eq!(cell_address_of_slot(0), CellAddress { area: 0, cell: 0 });
        assert_eq!(cell_address_of_slot(31), CellAddress { area: 0, cell: 31 });
        assert_eq!(cell_address_of_slot(32), CellAddress { area: 1, cell: 0 });
        for slot in (0..5_000).chain([COUNTERS_MAX - 1]) {
            let address = cell_address_of_slot(slot);
            assert_eq!(slot_of_cell_address(address), slot);
            assert!(
                (address.area as usize) < COUNTER_AREAS
                    && (address.cell as usize) < CELLS_FIRST << address.area
            );
        }
        assert_eq!(cell_address_of_slot(COUNTERS_MAX).area as usize, COUNTER_AREAS);
    }

    #[test]
    fn cells_of_an_ended_thread_are_reused() {
        static REGISTRY: LazyLock<CounterCellRegistry> = LazyLock::new(CounterCellRegistry::new);
        let registry: &'static CounterCellRegistry = &REGISTRY;
        let address = registry.reserve_counter_cell();
        let first = ThreadCells::new_in_registry(registry);
        let cells = first.get_or_register_area_cells(0);
        add_to_cell(&cells[address.cell as usize], 5);
        drop(first);
        let second = ThreadCells::new_in_registry(registry);
        assert!(std::ptr::eq(cells, second.get_or_register_area_cells(0)));
        add_to_cell(&cells[address.cell as usize], 2);
        assert_eq!(registry.sum_cell_over_threads(address), 7);
    }

    #[test]
    fn a_closed_area_is_reused_from_zero() {
        static REGISTRY: LazyLock<CounterCellRegistry> = LazyLock::new(CounterCellRegistry::new);
        let registry: &'static CounterCellRegistry = &REGISTRY;
        let kind = CellAreaShape { cells: 2, greatest: 1 };
        let area = registry.reserve_histogram_area(kind);
        let (one, two) =
            (ThreadCells::new_in_registry(registry), ThreadCells::new_in_registry(registry));
        for (member, value) in [(&one, 3), (&two, 4)] {
            raise_cell_to_at_least(&member.get_or_register_area_cells(area)[0], value);
            add_to_cell(&member.get_or_register_area_cells(area)[1], value);
        }
        drop(one);
        assert_eq!(*registry.fold_area_over_threads(area), [4, 7]);
        registry.release_histogram_area(area);
        assert_ne!(registry.reserve_histogram_area(CellAreaShape { cells: 3, ..kind }), area);
        assert_eq!(registry.reserve_histogram_area(kind), area);
        assert_eq!(*registry.fold_area_over_threads(area), [0, 0]);
    }
}
