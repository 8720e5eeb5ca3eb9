//! The calling thread's cells, found at the price of one thread-local load.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;

use super::cells::{CellRegistry, Cells, ThreadCells};

/// Areas whose cells are found without asking the [`ThreadCells`]: all counters and the first 44 histograms.
const QUICK: usize = 64;

static PROCESS: LazyLock<CellRegistry> = LazyLock::new(CellRegistry::new);

thread_local! {
    // Without a destructor and with a constant to begin with, access is an address and no more. An area
    // that this thread has not touched is empty, so the bounds check is the check for that, too.
    static CELLS: [Cell<Cells>; QUICK] = const { [const { Cell::new(&[]) }; QUICK] };
    static SEAT: ThreadCellsGuard = ThreadCellsGuard(Rc::new(ThreadCells::for_registry(process_registry())));
}

/// A thread's hold on its cells, let go when the thread ends.
struct ThreadCellsGuard(Rc<ThreadCells>);

impl Drop for ThreadCellsGuard {
    fn drop(&mut self) {
        // Destructors that run after this one may count as well; they must not find cells that are folded.
        CELLS.with(|quick| quick.iter().for_each(|cells| cells.set(&[])));
    }
}

/// The registry that all counters and histograms of the process share.
pub(crate) fn process_registry() -> &'static CellRegistry {
    &PROCESS
}

/// Calls `write` with the calling thread's cells of `area`.
///
/// `write` returns `None` when the cells are not there yet, and is called again with those that are.
#[inline]
pub(crate) fn with_cells(area: usize, write: impl Fn(Cells) -> Option<()>) {
    let quick = CELLS.with(|quick| quick.get(area).map_or(&[] as Cells, Cell::get));
    if write(quick).is_none() {
        with_cells_slowly(area, write);
    }
}

// Takes `write` by value: what it captures stays in registers until it comes to this.
#[cold]
#[inline(never)]
fn with_cells_slowly(area: usize, write: impl Fn(Cells) -> Option<()>) {
    let member = thread_cells();
    let cells = member.cells_in_area(area);
    // A member of its own, because the thread is ending, is folded at once.
    let is_seated = Rc::strong_count(&member) > 1;
    if is_seated {
        CELLS.with(|quick| quick.get(area).map(|quick| quick.set(cells)));
    }
    write(cells);
}

/// The calling thread's member; one of its own when the thread's values have been folded already.
pub(crate) fn thread_cells() -> Rc<ThreadCells> {
    SEAT.try_with(|seat| seat.0.clone())
        .unwrap_or_else(|_| Rc::new(ThreadCells::for_registry(process_registry())))
}
