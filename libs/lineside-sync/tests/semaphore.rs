//! Tests of permits: compared with a plain count, and under many threads.
#![cfg(not(any(loom, shuttle)))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread;

use lineside_sync::semaphore::{OwnedPermit, Semaphore};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Acquire,
    AcquireOwned,
    GiveBack(usize),
    SetLimit(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Acquire),
        3 => Just(Step::AcquireOwned),
        4 => (0usize..8).prop_map(Step::GiveBack),
        1 => (0u32..6).prop_map(Step::SetLimit),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 512 }))]

    #[test]
    fn a_semaphore_behaves_like_a_plain_counter(steps in steps()) {
        let semaphore = Arc::new(Semaphore::new(3));
        let (mut borrowed, mut owned) = (Vec::new(), Vec::new());
        let (mut limit, mut refused) = (3, 0);
        for step in steps {
            let n_held = borrowed.len() + owned.len();
            match step {
                Step::Acquire => match semaphore.try_acquire() {
                    Some(permit) => borrowed.push(permit),
                    None => refused += 1,
                },
                Step::AcquireOwned => match semaphore.try_acquire_owned() {
                    Some(permit) => owned.push(permit),
                    None => refused += 1,
                },
                Step::GiveBack(n) if n < borrowed.len() => drop(borrowed.swap_remove(n)),
                Step::GiveBack(_) => drop(owned.pop()),
                Step::SetLimit(new) => {
                    semaphore.set_limit(new);
                    limit = new;
                }
            }
            let now = borrowed.len() + owned.len();
            if now > n_held {
                prop_assert!(now <= limit as usize);
            }
            prop_assert_eq!(semaphore.permits_held() as usize, now);
            prop_assert_eq!(semaphore.limit(), limit);
            prop_assert_eq!(semaphore.refused_count(), refused);
        }
        drop((borrowed, owned));
        prop_assert_eq!(semaphore.permits_held(), 0);
    }
}

#[test]
fn many_threads_never_exceed_the_limit_and_lose_no_permit() {
    const LIMIT: u32 = 5;
    let attempts: u64 = if cfg!(miri) { 100 } else { 20_000 };
    let semaphore = Arc::new(Semaphore::new(LIMIT));
    let (inside, n_granted) = (AtomicU32::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                for n in 0..attempts {
                    let Some(_permit) = semaphore.try_acquire_owned() else { continue };
                    n_granted.fetch_add(1, Relaxed);
                    assert!(inside.fetch_add(1, Relaxed) < LIMIT);
                    if n % 64 == 0 {
                        thread::yield_now();
                    }
                    inside.fetch_sub(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(semaphore.permits_held(), 0);
    assert_eq!(n_granted.into_inner() + semaphore.refused_count(), 24 * attempts);
}

#[test]
fn an_owned_permit_can_be_dropped_in_any_thread() {
    let semaphore = Arc::new(Semaphore::new(1));
    let permit = semaphore.try_acquire_owned().expect("one permit is left");
    thread::spawn(move || drop(permit)).join().expect("any thread may drop a permit");
    assert!(semaphore.try_acquire().is_some());
}

#[test]
fn an_owned_permit_is_one_pointer() {
    assert_eq!(size_of::<OwnedPermit>(), size_of::<usize>());
    assert_eq!(size_of::<Option<OwnedPermit>>(), size_of::<usize>());
}

#[test]
fn a_limit_of_zero_refuses_every_request() {
    let semaphore = Semaphore::new(0);
    assert!(semaphore.try_acquire().is_none());
    assert_eq!((semaphore.permits_held(), semaphore.refused_count()), (0, 1));
}

#[test]
fn the_largest_limit_is_accepted() {
    let semaphore = Semaphore::new(u32::MAX);
    let permits = [semaphore.try_acquire(), semaphore.try_acquire()];
    assert!(permits.iter().all(Option::is_some));
    assert_eq!((semaphore.limit(), semaphore.permits_held()), (u32::MAX, 2));
}
