//! Access to the calling thread's cells at the cost of one thread-local load.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;

use super::cells::{CounterCellRegistry, ThreadAreaCells, ThreadCells};

/// The areas whose cells are found without the [`ThreadCells`]: all counters and the first 44 histograms.
const DIRECT_AREAS: usize = 64;

static PROCESS: LazyLock<CounterCellRegistry> = LazyLock::new(CounterCellRegistry::new);

thread_local! {
    // Without a destructor and with a constant initial value, access is only an address. An area that this thread has
    // not touched is empty, so the bounds check covers that case too.
    static CELLS: [Cell<ThreadAreaCells>; DIRECT_AREAS] = const { [const { Cell::new(&[]) }; DIRECT_AREAS] };
    static THREAD_CELLS: ThreadCellsGuard = ThreadCellsGuard(Rc::new(ThreadCells::new_in_registry(process_cell_registry())));
}

/// A thread's hold on its cells, dropped when the thread ends.
struct ThreadCellsGuard(Rc<ThreadCells>);

impl Drop for ThreadCellsGuard {
    fn drop(&mut self) {
        // Destructors that run after this one may count as well; they must not find folded cells.
        CELLS.with(|quick| quick.iter().for_each(|cells| cells.set(&[])));
    }
}

/// Returns the registry that all counters and histograms of the process share.
pub(crate) fn process_cell_registry() -> &'static CounterCellRegistry {
    &PROCESS
}

/// Calls `write` with the calling thread's cells of `area`.
///
/// `write` returns `None` if the cells do not exist yet, and is then called again with new ones.
#[inline]
pub(crate) fn with_thread_cells(area: usize, write: impl Fn(ThreadAreaCells) -> Option<()>) {
    let quick = CELLS.with(|quick| quick.get(area).map_or(&[] as ThreadAreaCells, Cell::get));
    if write(quick).is_none() {
        with_newly_registered_cells(area, write);
    }
}

// Takes `write` by value, so that its captures stay in registers until this slow path is reached.
#[cold]
#[inline(never)]
fn with_newly_registered_cells(area: usize, write: impl Fn(ThreadAreaCells) -> Option<()>) {
    let member = calling_thread_cells();
    let cells = member.get_or_register_area_cells(area);
    // While the thread is ending, this `ThreadCells` has only this holder and is folded at the end of this call.
    let is_registered = Rc::strong_count(&member) > 1;
    if is_registered {
        CELLS.with(|quick| quick.get(area).map(|quick| quick.set(cells)));
    }
    write(cells);
}

/// Returns the calling thread's cells; a separate set if the thread's own values are folded already.
pub(crate) fn calling_thread_cells() -> Rc<ThreadCells> {
    THREAD_CELLS
        .try_with(|guard| guard.0.clone())
        .unwrap_or_else(|_| Rc::new(ThreadCells::new_in_registry(process_cell_registry())))
}
