//! Models of the semaphore: the guarantees of its permits in every interleaving.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU32 as Plain;
use std::sync::atomic::Ordering::SeqCst;

use super::Semaphore;
use crate::model::{explore, finds_a_fault};
use crate::primitive::Arc;
use crate::primitive::atomic::AtomicU32;
use crate::primitive::atomic::Ordering::Relaxed;
use crate::primitive::thread;

/// An injected fault; a model must detect each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SemaphoreFault {
    ChecksThenActs,
    #[cfg_attr(not(loom), expect(dead_code, reason = "only loom detects this memory order"))]
    ComesBackUnordered,
    ComesBackInTwoSteps,
    LimitIsStored,
    LostByPanic,
}

fn semaphore(limit: u32, fault: Option<SemaphoreFault>) -> Arc<Semaphore> {
    Arc::new(Semaphore { fault, ..Semaphore::new(limit) })
}

/// Three threads ask for two permits; each holder checks the number of holders.
fn the_limit(fault: Option<SemaphoreFault>) {
    const LIMIT: u32 = 2;
    let semaphore = semaphore(LIMIT, fault);
    // Not an atomic of the model: it only counts holders and must not synchronize.
    let inside = std::sync::Arc::new(Plain::new(0));
    let ask = |semaphore: &Semaphore, inside: &Plain| {
        let Some(permit) = semaphore.try_acquire() else { return 0 };
        assert!(inside.fetch_add(1, SeqCst) < LIMIT, "more threads than the limit hold a permit");
        thread::yield_now();
        inside.fetch_sub(1, SeqCst);
        drop(permit);
        1
    };
    let others: Vec<_> = (0..2)
        .map(|_| {
            let (semaphore, inside) = (Arc::clone(&semaphore), std::sync::Arc::clone(&inside));
            thread::spawn(move || ask(&semaphore, &inside))
        })
        .collect();
    let mut given = ask(&semaphore, &inside);
    for other in others {
        given += other.join().expect("a thread that acquires");
    }
    assert_eq!(
        given + semaphore.refused_count(),
        3,
        "every attempt is either granted or counted as refused"
    );
    assert!(given >= 2, "at least two of three threads get a permit");
    all_come_back(&semaphore, LIMIT);
}

fn all_come_back(semaphore: &Semaphore, limit: u32) {
    assert_eq!(semaphore.permits_held(), 0, "permits were lost or created");
    let permits: Vec<_> = (0..limit).filter_map(|_| semaphore.try_acquire()).collect();
    assert_eq!(permits.len(), limit as usize);
    assert!(semaphore.try_acquire().is_none());
}

#[test]
fn the_limit_is_never_exceeded() {
    explore(|| the_limit(None));
}

#[test]
fn checking_before_acting_is_detected() {
    finds_a_fault(|| the_limit(Some(SemaphoreFault::ChecksThenActs)));
}

#[test]
fn releasing_a_permit_in_two_steps_is_detected() {
    finds_a_fault(|| the_limit(Some(SemaphoreFault::ComesBackInTwoSteps)));
}

/// With one permit a semaphore is a lock: writes under it are visible to the next holder.
fn handing_on(fault: Option<SemaphoreFault>) {
    let semaphore = semaphore(1, fault);
    let count = Arc::new(AtomicU32::new(0));
    let bump = |semaphore: &Semaphore, count: &AtomicU32| {
        let Some(_permit) = semaphore.try_acquire() else { return 0 };
        count.store(count.load(Relaxed) + 1, Relaxed);
        1
    };
    let other = {
        let (semaphore, count) = (Arc::clone(&semaphore), Arc::clone(&count));
        thread::spawn(move || bump(&semaphore, &count))
    };
    let given = bump(&semaphore, &count) + bump(&semaphore, &count);
    let given = given + other.join().expect("a thread that increments");
    assert_eq!(
        count.load(Relaxed),
        given,
        "an increment under a permit was not visible to the next holder"
    );
}

#[test]
fn writes_under_a_permit_are_visible_to_the_next_holder() {
    explore(|| handing_on(None));
}

// shuttle models only sequential consistency.
#[cfg(loom)]
#[test]
fn releasing_a_permit_without_memory_order_is_detected() {
    finds_a_fault(|| handing_on(Some(SemaphoreFault::ComesBackUnordered)));
}

fn resizing(fault: Option<SemaphoreFault>) {
    let semaphore = semaphore(1, fault);
    let other = {
        let semaphore = Arc::clone(&semaphore);
        thread::spawn(move || drop(semaphore.try_acquire()))
    };
    semaphore.set_limit(2);
    assert_eq!(semaphore.limit(), 2);
    other.join().expect("a thread that acquires");
    all_come_back(&semaphore, 2);
}

#[test]
fn no_permit_is_lost_while_the_limit_changes() {
    explore(|| resizing(None));
}

#[test]
fn storing_the_limit_without_coordination_is_detected() {
    finds_a_fault(|| resizing(Some(SemaphoreFault::LimitIsStored)));
}

fn panicking(fault: Option<SemaphoreFault>) {
    let semaphore = semaphore(1, fault);
    let other = {
        let semaphore = Arc::clone(&semaphore);
        thread::spawn(move || {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let _permit = semaphore.try_acquire();
                resume_unwind(Box::new(()));
            }));
            assert!(ended.is_err());
        })
    };
    drop(semaphore.try_acquire());
    other.join().expect("the panic was caught");
    all_come_back(&semaphore, 1);
}

#[test]
fn a_panic_releases_its_permit() {
    explore(|| panicking(None));
}

#[test]
fn losing_a_permit_in_a_panic_is_detected() {
    finds_a_fault(|| panicking(Some(SemaphoreFault::LostByPanic)));
}
