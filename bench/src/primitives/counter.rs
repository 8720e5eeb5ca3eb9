//! `counter`: increments of one counter by many threads, measured for a fifth of a second and scaled to five.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use fast_counter::ConcurrentCounter;
use lineside_sync::counter::Counter;
use prometheus::IntCounter;

use super::crowd::Seat;
use super::{Bench, PUBLISHED_THREADS, crowd};
use crate::report::Row;

/// The increments between two checks of the stop flag.
const BATCH: u64 = 1_024;

const LOCAL: &str = "ours, local handle";
const FAST_COUNTER: &str = "fast-counter";
const ATOMIC: &str = "AtomicU64";
const PROMETHEUS: &str = "prometheus IntCounter";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let names = ["ours", LOCAL, FAST_COUNTER, ATOMIC, PROMETHEUS];
    bench.by_threads("counter", "million bumps in 5 seconds", names, measure, add_rows)
}

fn measure(bench: &Bench, threads: usize) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let time = Duration::from_millis(bench.effort.size(20, 200) as u64);
    let (ours, atomic) = (Counter::new(), AtomicU64::new(0));
    let fast = ConcurrentCounter::new(threads);
    let prometheus = IntCounter::new("bumps", "bumps")?;
    let local = ours.clone();
    bench.medians(vec![
        (
            "ours",
            Box::new(move || {
                // A clone for each thread, as in the server.
                let handle = || {
                    let ours = ours.clone();
                    move || ours.increment()
                };
                Ok(millions(threads, time, handle))
            }),
        ),
        (
            LOCAL,
            Box::new(move || {
                let handle = || {
                    let local = local.handle_for_this_thread();
                    move || local.increment()
                };
                Ok(millions(threads, time, handle))
            }),
        ),
        (FAST_COUNTER, Box::new(move || Ok(millions(threads, time, || || fast.add(1))))),
        (
            ATOMIC,
            Box::new(move || {
                let bump = || {
                    atomic.fetch_add(1, Relaxed);
                };
                Ok(millions(threads, time, || bump))
            }),
        ),
        (PROMETHEUS, Box::new(move || Ok(millions(threads, time, || || prometheus.inc())))),
    ])
}

fn add_rows(bench: &mut Bench, threads: usize, figures: &BTreeMap<&'static str, f64>) {
    let what = format!("counter, {threads} thread{}", if threads == 1 { "" } else { "s" });
    let mut row = Row::new(&what, figures["ours"], "M/5 s");
    for name in [LOCAL, FAST_COUNTER, ATOMIC, PROMETHEUS] {
        row = row.beside(name, figures[name]);
    }
    if threads == PUBLISHED_THREADS {
        let recorded = [("ets", 66.6), ("counters", 257.0), ("atomics", 62.1)];
        for (kind, figure) in recorded {
            let name = format!("OTP {kind}");
            row = row
                .beside(&name, bench.erlang(&format!("counter_{kind}_{PUBLISHED_THREADS}")))
                .recorded(&name, figure);
        }
        row = row.at_least_times(2.0, FAST_COUNTER).at_least_times(15.0, "OTP counters");
    }
    bench.report.add(row);
}

/// Returns the millions of increments in 5 seconds by this number of threads, each with its own `ready` handle.
fn millions<W: FnMut()>(threads: usize, time: Duration, ready: impl Fn() -> W + Sync) -> f64 {
    let work = |seat: Seat<'_>| {
        let mut once = ready();
        while seat.goes_on(BATCH) {
            (0..BATCH).for_each(|_| once());
        }
    };
    crowd::millions_in_5_s(threads, time, work)
}
