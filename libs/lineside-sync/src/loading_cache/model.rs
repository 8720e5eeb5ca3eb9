//! Models of loads: their guarantees in every interleaving.
//!
//! papaya is not part of the models: each of its operations is one step (the atomic `touched` shows the checker the
//! reads and writes). The models cover the code around it, where a load could run twice or a waiter be forgotten.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU32 as Plain;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Waker};

use super::{CacheLimits, LoadingCache};
use crate::model::{explore, finds_a_fault};
use crate::primitive::atomic::AtomicU32;
use crate::primitive::atomic::Ordering::Relaxed;
use crate::primitive::thread;

/// An injected fault; a model must detect each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheFault {
    ChecksOnce,
    ChecksThenRegisters,
    WakesOnlyOne,
    LeavesWithoutWake,
    LoadWinsOverRemoval,
}

const KEY: u8 = 7;
const LIMITS: CacheLimits = CacheLimits { entries: 4, weight: 4, age: None };

type Numbers<E = Infallible> = LoadingCache<u8, u32, E>;

fn table<E>(fault: Option<CacheFault>) -> Arc<Numbers<E>> {
    Arc::new(LoadingCache { fault, ..LoadingCache::new(LIMITS, |_, _| 1) })
}

fn nothing_is_under_way<E>(table: &Numbers<E>) {
    assert!(table.bookkeeping.lock().in_flight.is_empty(), "a load is still registered");
}

/// Several callers ask for the key at the same time.
fn asking(n_askers: u32, fault: Option<CacheFault>) {
    let table = table::<Infallible>(fault);
    // Not an atomic of the model: it only counts loads and must not synchronize.
    let loads = Arc::new(Plain::new(0));
    let ask = |table: &Numbers, loads: &Plain| {
        let Ok(value) = table.get_or_load_blocking(KEY, || Ok(loads.fetch_add(1, SeqCst)));
        assert_eq!(value, 0, "only the first load runs");
    };
    let others: Vec<_> = (1..n_askers)
        .map(|_| {
            let (table, loads) = (Arc::clone(&table), Arc::clone(&loads));
            thread::spawn(move || ask(&table, &loads))
        })
        .collect();
    ask(&table, &loads);
    others.into_iter().for_each(|other| other.join().expect("a thread that loads"));
    assert_eq!(loads.load(SeqCst), 1);
    nothing_is_under_way(&table);
}

#[test]
fn a_missing_value_is_loaded_once_for_all_callers() {
    explore(|| asking(3, None));
}

#[test]
fn checking_only_before_the_lock_is_detected() {
    finds_a_fault(|| asking(2, Some(CacheFault::ChecksOnce)));
}

#[test]
fn a_waiter_that_registers_too_late_is_detected() {
    finds_a_fault(|| asking(2, Some(CacheFault::ChecksThenRegisters)));
}

// shuttle also wakes parked threads at random, which would rescue the forgotten waiter.
#[cfg(loom)]
#[test]
fn a_waiter_that_is_never_woken_is_detected() {
    finds_a_fault(|| asking(3, Some(CacheFault::WakesOnlyOne)));
}

/// One loader panics; the other caller loads by itself.
fn panicking(fault: Option<CacheFault>) {
    let table = table::<Infallible>(fault);
    let other = {
        let table = Arc::clone(&table);
        thread::spawn(move || {
            let load = || table.get_or_load_blocking(KEY, || resume_unwind(Box::new(())));
            // If the other caller loaded first, this one got its value.
            assert!(!matches!(catch_unwind(AssertUnwindSafe(load)), Ok(Ok(0))));
        })
    };
    assert_eq!(table.get_or_load_blocking(KEY, || Ok(1)), Ok(1));
    other.join().expect("the panic was caught");
    nothing_is_under_way(&table);
}

#[test]
fn another_caller_takes_over_from_a_panicking_loader() {
    explore(|| panicking(None));
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A load is canceled while one caller waits for it and another stops waiting.
fn canceling(fault: Option<CacheFault>) {
    let table = table::<Infallible>(fault);
    let mut canceled = Box::pin(table.get_or_load(KEY, pending));
    let mut context = Context::from_waker(Waker::noop());
    assert!(canceled.as_mut().poll(&mut context).is_pending());
    let stays = {
        let table = Arc::clone(&table);
        thread::spawn(move || assert_eq!(table.get_or_load_blocking(KEY, || Ok(1)), Ok(1)))
    };
    let goes = {
        let table = Arc::clone(&table);
        thread::spawn(move || {
            let polled = poll_once(table.get_or_load(KEY, pending));
            assert!(matches!(polled, Poll::Pending | Poll::Ready(Ok(1))));
        })
    };
    drop(canceled);
    stays.join().expect("every waiting thread returns");
    goes.join().expect("a thread that loads");
    nothing_is_under_way(&table);
}

#[test]
fn another_caller_takes_over_from_a_cancelled_loader() {
    explore(|| canceling(None));
}

#[test]
fn a_loader_that_ends_without_waking_others_is_detected() {
    finds_a_fault(|| canceling(Some(CacheFault::LeavesWithoutWake)));
    finds_a_fault(|| panicking(Some(CacheFault::LeavesWithoutWake)));
}

/// Both loaders fail with different errors; each caller gets one of the two.
fn failing() {
    let table = table::<u8>(None);
    let other = {
        let table = Arc::clone(&table);
        thread::spawn(move || table.get_or_load_blocking(KEY, || Err(1)))
    };
    let heard = table.get_or_load_blocking(KEY, || Err(2));
    let other = other.join().expect("a thread that loads");
    assert!(matches!((heard, other), (Err(2), Err(1)) | (Err(1), Err(1)) | (Err(2), Err(2))));
    assert!(table.is_empty(), "a failure is not cached");
    nothing_is_under_way(&table);
}

#[test]
fn a_failure_is_returned_to_all_waiting_callers() {
    explore(failing);
}

/// The source changes while a value is loaded, and the entry is removed.
fn removing(fault: Option<CacheFault>) {
    let table = table::<Infallible>(fault);
    let source = Arc::new(AtomicU32::new(1));
    let loads = {
        let (table, source) = (Arc::clone(&table), Arc::clone(&source));
        thread::spawn(move || table.get_or_load_blocking(KEY, || Ok(source.load(Relaxed))))
    };
    source.store(2, Relaxed);
    table.remove(&KEY);
    let Ok(loaded) = loads.join().expect("a thread that loads");
    let kept = table.pin_for_reading().get(&KEY).copied();
    assert!(kept.is_none_or(|kept| kept == 2 && loaded == 2), "a removed value is cached again");
    assert_eq!(table.total_weight(), table.len(), "the total weight is wrong");
    nothing_is_under_way(&table);
}

#[test]
fn a_removal_wins_over_an_earlier_load() {
    explore(|| removing(None));
}

#[test]
fn a_load_that_wins_over_a_later_removal_is_detected() {
    finds_a_fault(|| removing(Some(CacheFault::LoadWinsOverRemoval)));
}
