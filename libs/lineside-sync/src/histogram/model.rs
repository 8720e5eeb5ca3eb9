//! Models of histograms: what must hold in every interleaving of threads that record, end and take snapshots.

use std::rc::Rc;

use super::{Histogram, LocalHistogram};
use crate::counter::cells::{CounterCellRegistry, InjectedCounterFault, ThreadCells};
use crate::model::{explore, finds_a_fault};
use crate::primitive::thread;

/// The coarsest histogram: a model has a step for every cell that a snapshot reads.
type Coarse = Histogram<0>;

fn record(registry: &'static CounterCellRegistry, histogram: &Coarse, values: &[u64]) {
    let local = LocalHistogram::handle_from_thread_cells(
        histogram,
        Rc::new(ThreadCells::new_in_registry(registry)),
    );
    values.iter().for_each(|&value| local.record(value));
}

/// Two threads record and end, in sequence or at the same time, while snapshots are taken.
fn snapshots_beside_an_end(fault: Option<InjectedCounterFault>) {
    let registry: &'static CounterCellRegistry =
        Box::leak(Box::new(CounterCellRegistry::with_fault(fault)));
    let histogram = Coarse::new_in_registry(registry);
    let writer = {
        let histogram = histogram.clone();
        thread::spawn(move || record(registry, &histogram, &[4, 1]))
    };
    let meanwhile = histogram.snapshot();
    match meanwhile.value_count() {
        0 => assert_eq!((meanwhile.min(), meanwhile.max()), (None, None)),
        1 => assert!(
            meanwhile.min() <= Some(4) && meanwhile.max() == Some(4) && meanwhile.sum() >= 4
        ),
        2 => assert_eq!((meanwhile.min(), meanwhile.max(), meanwhile.sum()), (Some(1), Some(4), 5)),
        more => panic!("the snapshot has {more} values instead of at most two"),
    }
    record(registry, &histogram, &[2]);
    writer.join().unwrap();
    let at_last = histogram.snapshot();
    assert_eq!((at_last.value_count(), at_last.sum()), (3, 7));
    assert_eq!((at_last.min(), at_last.max()), (Some(1), Some(4)));
}

#[test]
fn a_snapshot_during_the_end_of_a_thread_has_each_value_once() {
    explore(|| snapshots_beside_an_end(None));
}

#[test]
fn a_value_in_two_places_is_detected() {
    finds_a_fault(|| snapshots_beside_an_end(Some(InjectedCounterFault::FoldTwice)));
}

// Only loom's memory model makes this fault visible.
#[cfg(loom)]
#[test]
fn reusing_cells_too_early_is_detected() {
    finds_a_fault(|| snapshots_beside_an_end(Some(InjectedCounterFault::SpareThenFold)));
}

#[test]
fn reading_cells_in_write_order_is_detected() {
    finds_a_fault(|| snapshots_beside_an_end(Some(InjectedCounterFault::ReadForwards)));
}
