//! Tests of the cache: compared with a plain map, its loads, and its readers during writes.
#![cfg(not(any(loom, shuttle)))]

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use futures_executor::block_on;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
use proptest::prelude::*;

const UNLIMITED: CacheLimits = CacheLimits { entries: usize::MAX, weight: usize::MAX, age: None };

#[derive(Debug, Clone)]
enum Step {
    Insert(u8, usize),
    Load(u8, usize),
    FailToLoad(u8),
    Remove(u8),
    Sweep(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (key, weight) = (0u8..6, 0usize..12);
    let step = prop_oneof![
        4 => (key.clone(), weight.clone()).prop_map(|(key, weight)| Step::Insert(key, weight)),
        4 => (key.clone(), weight).prop_map(|(key, weight)| Step::Load(key, weight)),
        1 => key.clone().prop_map(Step::FailToLoad),
        1 => key.prop_map(Step::Remove),
        2 => (0u64..5).prop_map(Step::Sweep),
    ];
    prop::collection::vec(step, 0..80)
}

/// A plain model of the cache: the oldest entry first, with the time at which a sweep first met it.
#[derive(Default)]
struct Plain {
    entries: VecDeque<(u8, usize, Option<u64>)>,
}

impl Plain {
    fn weight(&self) -> usize {
        self.entries.iter().map(|(_, weight, _)| weight).sum()
    }

    fn remove(&mut self, key: u8) {
        self.entries.retain(|(found, _, _)| *found != key);
    }

    fn insert(&mut self, key: u8, weight: usize, limits: &CacheLimits) {
        self.remove(key);
        if weight > limits.weight {
            return;
        }
        while self.entries.len() >= limits.entries || self.weight() + weight > limits.weight {
            self.entries.pop_front();
        }
        self.entries.push_back((key, weight, None));
    }

    fn sweep(&mut self, now: u64, age: u64) {
        self.entries.retain(|(_, _, seen)| seen.is_none_or(|seen| now - seen < age));
        for (_, _, seen) in &mut self.entries {
            seen.get_or_insert(now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 512 }))]

    #[test]
    fn a_cache_behaves_like_a_plain_map(steps in steps()) {
        const AGE: u64 = 6;
        let limits = CacheLimits { entries: 4, weight: 20, age: Some(Duration::from_secs(AGE)) };
        let table: LoadingCache<u8, usize, ()> = LoadingCache::new(limits, |_, weight| *weight);
        let (mut plain, mut now) = (Plain::default(), 0);
        for step in steps {
            match step {
                Step::Insert(key, weight) => {
                    table.insert(key, weight);
                    plain.insert(key, weight, &limits);
                }
                Step::Load(key, weight) => {
                    let found = plain.entries.iter().find(|(found, _, _)| *found == key);
                    let expected = found.map_or(weight, |(_, weight, _)| *weight);
                    let is_missing = found.is_none();
                    prop_assert_eq!(block_on(table.get_or_load(key, async || Ok(weight))), Ok(expected));
                    if is_missing {
                        plain.insert(key, weight, &limits);
                    }
                }
                Step::FailToLoad(key) => {
                    let found = plain.entries.iter().find(|(found, _, _)| *found == key);
                    let expected = found.map(|(_, weight, _)| *weight).ok_or(());
                    prop_assert_eq!(table.get_or_load_blocking(key, || Err(())), expected);
                }
                Step::Remove(key) => {
                    table.remove(&key);
                    plain.remove(key);
                }
                Step::Sweep(later) => {
                    now += later;
                    table.remove_aged_entries(Duration::from_secs(now));
                    plain.sweep(now, AGE);
                }
            }
            let expected: HashMap<_, _> = plain.entries.iter().map(|(key, weight, _)| (*key, *weight)).collect();
            let pinned = table.pin_for_reading();
            for key in 0..6 {
                prop_assert_eq!(pinned.get(&key), expected.get(&key));
            }
            prop_assert_eq!((table.len(), table.total_weight()), (plain.entries.len(), plain.weight()));
            prop_assert!(table.len() <= limits.entries && table.total_weight() <= limits.weight);
        }
    }
}

#[test]
fn concurrent_callers_load_a_missing_key_once() {
    const CALLERS: usize = if cfg!(miri) { 4 } else { 64 };
    let table: LoadingCache<u32, u32> = LoadingCache::new(UNLIMITED, |_, _| 1);
    let (loads, start) = (AtomicU32::new(0), Barrier::new(CALLERS));
    thread::scope(|scope| {
        for asker in 0..CALLERS {
            let (table, loads, start) = (&table, &loads, &start);
            scope.spawn(move || {
                let load = || {
                    thread::sleep(Duration::from_millis(5));
                    Ok(loads.fetch_add(1, Relaxed))
                };
                start.wait();
                let loaded = match asker % 2 {
                    0 => table.get_or_load_blocking(7, load),
                    _ => block_on(table.get_or_load(7, async || load())),
                };
                assert_eq!(loaded, Ok(0));
            });
        }
    });
    assert_eq!(loads.into_inner(), 1);
}

#[test]
fn loads_of_different_keys_are_independent() {
    let table: LoadingCache<u32, u32> = LoadingCache::new(UNLIMITED, |_, _| 1);
    let mut stuck = Box::pin(table.get_or_load(1, pending));
    assert!(stuck.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(table.get_or_load_blocking(2, || Ok(2)), Ok(2));
}

#[test]
fn a_waiting_caller_takes_over_a_cancelled_load() {
    let table: LoadingCache<u32, u32> = LoadingCache::new(UNLIMITED, |_, _| 1);
    let mut canceled = Box::pin(table.get_or_load(7, pending));
    assert!(canceled.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut waits = Box::pin(table.get_or_load(7, async || Ok(1)));
    assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(canceled);
    assert_eq!(block_on(waits), Ok(1));
    assert_eq!(table.pin_for_reading().get(&7), Some(&1));
}

#[test]
fn a_failure_is_returned_to_all_waiting_callers_and_not_cached() {
    let table: LoadingCache<u32, u32, &str> = LoadingCache::new(UNLIMITED, |_, _| 1);
    let mut turns = 0;
    let fails = async || {
        std::future::poll_fn(|context| {
            turns += 1;
            context.waker().wake_by_ref();
            if turns == 2 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        Err("no")
    };
    let mut leads = Box::pin(table.get_or_load(7, fails));
    let mut context = Context::from_waker(Waker::noop());
    assert!(leads.as_mut().poll(&mut context).is_pending());
    let mut waits = Box::pin(table.get_or_load(7, async || unreachable!("the other caller loads")));
    assert!(waits.as_mut().poll(&mut context).is_pending());
    assert_eq!((block_on(leads), block_on(waits)), (Err("no"), Err("no")));
    assert_eq!(table.get_or_load_blocking(7, || Ok(1)), Ok(1));
}

#[test]
fn an_insertion_wins_over_an_earlier_load() {
    let table: LoadingCache<u32, u32> = LoadingCache::new(UNLIMITED, |_, _| 1);
    let loaded = table.get_or_load_blocking(7, || {
        table.insert(7, 2);
        Ok(1)
    });
    assert_eq!(loaded, Ok(1), "the caller gets the value that it loaded");
    assert_eq!(table.pin_for_reading().get(&7), Some(&2), "the newer value stays cached");
    assert_eq!((table.len(), table.total_weight()), (1, 1));
}

#[test]
fn a_value_above_the_total_weight_is_returned_and_not_cached() {
    let limits = CacheLimits { weight: 10, ..UNLIMITED };
    let table: LoadingCache<u32, usize> = LoadingCache::new(limits, |_, weight| *weight);
    table.insert(1, 4);
    assert_eq!(table.get_or_load_blocking(2, || Ok(11)), Ok(11));
    assert_eq!((table.len(), table.total_weight()), (1, 4), "no entry was evicted for it");
}

#[test]
fn an_entry_expires_within_its_age_and_two_sweeps() {
    let seconds = Duration::from_secs;
    let limits = CacheLimits { age: Some(seconds(60)), ..UNLIMITED };
    let table: LoadingCache<u32, u32> = LoadingCache::new(limits, |_, _| 1);
    table.remove_aged_entries(seconds(10));
    table.insert(1, 1);
    table.remove_aged_entries(seconds(20));
    table.insert(2, 2);
    table.remove_aged_entries(seconds(79));
    assert_eq!(table.len(), 2);
    table.remove_aged_entries(seconds(80));
    assert_eq!(table.pin_for_reading().get(&1), None);
    assert_eq!(table.pin_for_reading().get(&2), Some(&2), "the sweep at 79 s first saw this entry");
    table.remove_aged_entries(seconds(139));
    assert!(table.is_empty());
}

/// A value whose content shows if it was torn or freed.
struct Checked([u64; 64]);

#[test]
fn concurrent_readers_see_complete_and_increasing_values() {
    let n_swaps = if cfg!(miri) { 20 } else { 20_000 };
    let table: LoadingCache<&str, Arc<Checked>> = LoadingCache::new(UNLIMITED, |_, _| 1);
    table.insert("hot", Arc::new(Checked([0; 64])));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut newest = 0;
                while !done.load(Relaxed) {
                    let pinned = table.pin_for_reading();
                    let value = &pinned.get("hot").expect("it is never missing").0;
                    assert!(value.iter().all(|part| *part == value[0]));
                    assert!(value[0] >= newest);
                    newest = value[0];
                }
            });
        }
        for swap in 1..=n_swaps {
            table.insert("hot", Arc::new(Checked([swap; 64])));
        }
        done.store(true, Relaxed);
    });
    assert_eq!((table.len(), table.total_weight()), (1, 1));
}

#[test]
fn concurrent_operations_leave_count_and_weight_exact() {
    let (n_threads, n_steps) = if cfg!(miri) { (3, 20) } else { (8, 20_000) };
    let limits = CacheLimits { entries: 8, weight: 40, age: Some(Duration::ZERO) };
    let table: LoadingCache<u8, usize> = LoadingCache::new(limits, |_, weight| *weight);
    thread::scope(|scope| {
        for seed in 0..n_threads {
            let table = &table;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                for step in 0..n_steps {
                    let (key, weight) = (rng.u8(..16), rng.usize(..10));
                    match rng.u8(..8) {
                        0 => table.insert(key, weight),
                        1 => table.remove(&key),
                        2 if seed == 0 => table.remove_aged_entries(Duration::from_secs(step)),
                        3 => assert!(block_on(table.get_or_load(key, async || Ok(weight))).is_ok()),
                        _ => assert!(table.get_or_load_blocking(key, || Ok(weight)).is_ok()),
                    }
                    assert!(table.total_weight() <= limits.weight);
                }
            });
        }
    });
    let cached: Vec<_> =
        (0..16).filter_map(|key| table.pin_for_reading().get(&key).copied()).collect();
    assert_eq!((cached.len(), cached.iter().sum()), (table.len(), table.total_weight()));
    assert!(table.len() <= limits.entries);
}

#[test]
fn a_load_is_send() {
    fn is_send<T: Send>(_: &T) {}
    let table: LoadingCache<Arc<str>, Arc<str>, Arc<str>> = LoadingCache::new(UNLIMITED, |_, _| 1);
    is_send(&table.get_or_load("key".into(), async || Ok("value".into())));
}
