//! Models of counters: what must hold in every interleaving of threads that count, end and read.

use super::cells::{CounterCellRegistry, InjectedCounterFault, ThreadCells};
use super::{Counter, LocalCounter};
use crate::model::{explore, finds_a_fault};
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{Arc, thread};
use std::rc::Rc;

/// Leaks a small registry for one run of a model, which must not outlive the run.
fn registry(fault: Option<InjectedCounterFault>) -> &'static CounterCellRegistry {
    Box::leak(Box::new(CounterCellRegistry::with_fault(fault)))
}

/// Runs the life of a thread that adds `n` and ends.
fn count(registry: &'static CounterCellRegistry, counter: &Counter, n: u64) {
    let member = Rc::new(ThreadCells::new_in_registry(registry));
    LocalCounter::handle_from_thread_cells(counter, member.clone()).add(n);
    drop(member);
}

/// A thread counts and ends while another reads twice.
fn reads_beside_an_end(fault: Option<InjectedCounterFault>) {
    let registry = registry(fault);
    let counter = Counter::new_in_registry(registry);
    let has_counted = Arc::new(AtomicBool::new(false));
    let writer = {
        let (counter, has_counted) = (counter.clone(), has_counted.clone());
        thread::spawn(move || {
            let member = Rc::new(ThreadCells::new_in_registry(registry));
            LocalCounter::handle_from_thread_cells(&counter, member.clone()).add(2);
            has_counted.store(true, Ordering::Release);
            drop(member);
        })
    };
    let least = if has_counted.load(Ordering::Acquire) { 2 } else { 0 };
    let first = counter.get();
    let second = counter.get();
    assert!(first >= least, "an earlier addition is missing");
    assert!(first <= 2 && second <= 2, "an addition is counted twice");
    assert!(second >= first, "the count decreased");
    writer.join().unwrap();
    assert_eq!(counter.get(), 2);
}

#[test]
fn a_read_during_the_end_of_a_thread_counts_once() {
    explore(|| reads_beside_an_end(None));
}

#[test]
fn counting_values_twice_is_detected() {
    finds_a_fault(|| reads_beside_an_end(Some(InjectedCounterFault::FoldTwice)));
}

#[test]
fn hiding_values_between_cell_and_base_is_detected() {
    finds_a_fault(|| reads_beside_an_end(Some(InjectedCounterFault::LeaveThenFold)));
}

/// A thread ends while the next one begins and takes over its cells.
fn hands_cells_on(fault: Option<InjectedCounterFault>) {
    let registry = registry(fault);
    let counter = Counter::new_in_registry(registry);
    let writers: Vec<_> = [1, 2]
        .map(|n| {
            let counter = counter.clone();
            thread::spawn(move || count(registry, &counter, n))
        })
        .into();
    let first = counter.get();
    assert!(first <= 3 && counter.get() >= first);
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(counter.get(), 3);
}

#[test]
fn reused_cells_neither_lose_nor_double_values() {
    explore(|| hands_cells_on(None));
}

#[test]
fn reusing_cells_too_early_is_detected() {
    finds_a_fault(|| hands_cells_on(Some(InjectedCounterFault::SpareThenFold)));
}

/// A local handle outlives its thread's own hold on the cells, as a handle in a thread-local variable may.
fn outlives_its_thread(fault: Option<InjectedCounterFault>) {
    let registry = registry(fault);
    let counter = Counter::new_in_registry(registry);
    let outliving = {
        let counter = counter.clone();
        thread::spawn(move || {
            let member = Rc::new(ThreadCells::new_in_registry(registry));
            let local = LocalCounter::handle_from_thread_cells(&counter, member.clone());
            drop(member);
            local.add(1);
            local.add(1);
        })
    };
    count(registry, &counter, 4);
    outliving.join().unwrap();
    assert_eq!(counter.get(), 6);
}

#[test]
fn a_local_handle_preserves_its_cell_after_its_thread_ends() {
    explore(|| outlives_its_thread(None));
}

#[test]
fn a_cell_with_two_writers_is_detected() {
    finds_a_fault(|| outlives_its_thread(Some(InjectedCounterFault::LocalKeepsNothing)));
}

/// One thread drops the last handle while another thread, which has counted, lives on; then the slot is reused.
fn uses_a_slot_again(fault: Option<InjectedCounterFault>) {
    let registry = registry(fault);
    let first = Counter::new_in_registry(registry);
    let mine = Rc::new(ThreadCells::new_in_registry(registry));
    LocalCounter::handle_from_thread_cells(&first, mine.clone()).add(1);
    let other = {
        let first = first.clone();
        thread::spawn(move || {
            count(registry, &first, 2);
            drop(first);
        })
    };
    drop(first);
    let second = Counter::new_in_registry(registry);
    LocalCounter::handle_from_thread_cells(&second, mine.clone()).add(4);
    assert_eq!(second.get(), 4, "a new counter starts at zero");
    other.join().unwrap();
    let third = Counter::new_in_registry(registry);
    LocalCounter::handle_from_thread_cells(&third, mine).add(8);
    assert_eq!((second.get(), third.get()), (4, 8));
}

#[test]
fn a_closed_slot_is_reused_from_zero() {
    explore(|| uses_a_slot_again(None));
}

#[test]
fn a_slot_that_is_not_cleared_is_detected() {
    finds_a_fault(|| uses_a_slot_again(Some(InjectedCounterFault::CloseWithoutClearing)));
}
