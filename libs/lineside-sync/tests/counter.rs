//! Tests of counters and gauges through the public interface: exact after threads have ended, and never going back.

#![cfg(not(any(loom, shuttle)))]

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lineside_sync::counter::{Counter, Gauge, LocalCounter};
use proptest::prelude::*;

const ADDITIONS: u64 = if cfg!(miri) { 10 } else { 200_000 };
const THREADS: u64 = if cfg!(miri) { 4 } else { 24 };

#[test]
fn a_count_is_exact_after_its_threads_have_ended() {
    let counter = Counter::new();
    thread::scope(|scope| {
        for n in 0..THREADS {
            let counter = counter.clone();
            scope.spawn(move || {
                if n % 2 == 0 {
                    (0..ADDITIONS).for_each(|_| counter.increment());
                } else {
                    let counter = counter.handle_for_this_thread();
                    (0..ADDITIONS).for_each(|_| counter.increment());
                }
            });
        }
    });
    assert_eq!(counter.get(), THREADS * ADDITIONS);
}

#[test]
fn a_count_never_decreases_while_threads_start_and_end() {
    let generations = if cfg!(miri) { 3 } else { 100 };
    let counter = Counter::new();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            while !is_done.load(Ordering::Acquire) {
                let now = counter.get();
                assert!(now >= last, "{now} after {last}");
                last = now;
            }
        });
        for _ in 0..generations {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..100).for_each(|_| counter.increment()));
                }
            });
        }
        is_done.store(true, Ordering::Release);
    });
    assert_eq!(counter.get(), generations * 4 * 100);
}

#[test]
fn a_read_includes_every_ended_thread() {
    let counter = Counter::new();
    for n in 1..=if cfg!(miri) { 5 } else { 200 } {
        thread::spawn({
            let counter = counter.clone();
            move || counter.add(2)
        })
        .join()
        .unwrap();
        assert_eq!(counter.get(), 2 * n);
    }
}

thread_local! {
    static LAST_WORDS: RefCell<Option<LastWords>> = const { RefCell::new(None) };
    static KEPT: RefCell<Option<LocalCounter>> = const { RefCell::new(None) };
}

/// Counts when its thread's variables are destroyed, before or after the counters' own variables.
struct LastWords(Counter, LocalCounter);

impl Drop for LastWords {
    fn drop(&mut self) {
        self.0.increment();
        self.1.add(10);
        self.0.handle_for_this_thread().add(100);
    }
}

#[test]
fn counts_from_thread_local_destructors_are_included() {
    for counts_first in [true, false] {
        let counter = Counter::new();
        let ours = counter.clone();
        thread::spawn(move || {
            // Variables are destroyed in the order of their first use, or in reverse order: the test tries both.
            if counts_first {
                ours.add(1_000);
            }
            LAST_WORDS.with(|words| drop(words.borrow_mut()));
            ours.add(1_000);
            let last_words = LastWords(ours.clone(), ours.handle_for_this_thread());
            LAST_WORDS.set(Some(last_words));
            KEPT.set(Some(ours.handle_for_this_thread()));
        })
        .join()
        .unwrap();
        let before = if counts_first { 2_000 } else { 1_000 };
        assert_eq!(counter.get(), before + 111);
    }
}

#[test]
fn a_counter_in_a_reused_slot_starts_at_zero() {
    for _ in 0..3 {
        let counters: Vec<_> = (0..100).map(|_| Counter::new()).collect();
        for (n, counter) in counters.iter().enumerate() {
            counter.add(n as u64);
        }
        for (n, counter) in counters.iter().enumerate() {
            assert_eq!(counter.get(), n as u64);
        }
    }
}

#[test]
fn a_count_wraps_after_the_largest_value() {
    let counter = Counter::new();
    counter.add(u64::MAX);
    counter.add(3);
    assert_eq!(counter.get(), 2);
}

#[test]
fn a_gauge_is_exact_after_its_threads_have_ended() {
    let (threads, times) = if cfg!(miri) { (2, 10) } else { (8, 1_000) };
    let gauge = Gauge::new();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..times).for_each(|_| gauge.add(3)));
            scope.spawn(|| {
                let gauge = gauge.handle_for_this_thread();
                (0..times).for_each(|_| gauge.subtract(2));
                gauge.add(5);
            });
        }
    });
    assert_eq!(gauge.get(), threads * (times + 5));
    gauge.subtract(10_000);
    assert_eq!(gauge.get(), threads * (times + 5) - 10_000);
}

#[test]
fn handles_print_their_value() {
    let (counter, gauge) = (Counter::new(), Gauge::new());
    counter.add(7);
    gauge.subtract(7);
    assert_eq!(
        format!("{counter:?} {:?}", counter.handle_for_this_thread()),
        "Counter(7) LocalCounter(7)"
    );
    assert_eq!(
        format!("{gauge:?} {:?}", gauge.handle_for_this_thread()),
        "Gauge(-7) LocalGauge(-7)"
    );
}

/// A step with a handful of counters.
#[derive(Debug, Clone)]
enum Step {
    Add(usize, u64),
    AddInThread(usize, u64),
    Replace(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_usize, any::<u64>()).prop_map(|(n, by)| Step::Add(n, by)),
        2 => (0..5_usize, any::<u64>()).prop_map(|(n, by)| Step::AddInThread(n, by)),
        1 => (0..5_usize).prop_map(Step::Replace),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 128 }))]

    #[test]
    fn counters_behave_like_plain_numbers(steps in prop::collection::vec(step(), 0..60)) {
        let mut counters: Vec<_> = (0..5).map(|_| Counter::new()).collect();
        let mut numbers = [0_u64; 5];
        for step in steps {
            match step {
                Step::Add(n, by) => {
                    counters[n].add(by);
                    numbers[n] = numbers[n].wrapping_add(by);
                }
                Step::AddInThread(n, by) => {
                    thread::scope(|scope| scope.spawn(|| counters[n].add(by)).join().unwrap());
                    numbers[n] = numbers[n].wrapping_add(by);
                }
                Step::Replace(n) => {
                    counters[n] = Counter::new();
                    numbers[n] = 0;
                }
            }
        }
        let totals: Vec<_> = counters.iter().map(Counter::get).collect();
        prop_assert_eq!(totals, numbers);
    }
}
