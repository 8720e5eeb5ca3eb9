//! `histogram`: values recorded by many threads, measured for a fifth of a second and scaled to five.
//!
//! The values are spread evenly over six powers of ten. Ours has 7 bits here, the precision of hdrhistogram's two
//! digits; the usual 5 bits are measured too. hdrhistogram's recorder belongs to one thread, like our local handle.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hdrhistogram::sync::SyncHistogram;
use lineside_sync::histogram::Histogram;
use prometheus::HistogramOpts;
use prometheus_client::metrics::histogram::exponential_buckets;

use super::crowd::Seat;
use super::{Bench, PUBLISHED_THREADS, crowd};
use crate::report::Row;

/// The values between two checks of the stop flag.
const BATCH: usize = 1_024;
const BITS: u32 = 7;
/// The precision of 7 bits in hdrhistogram's digits.
const DIGITS: u8 = 2;

const LOCAL: &str = "ours, local handle";
const COARSE: &str = "ours, 5 bits";
const RECORDER: &str = "hdrhistogram recorder";
const PROMETHEUS: &str = "prometheus Histogram";
const CLIENT: &str = "prometheus-client Histogram";
const SHARED: &str = "shared array of atomics";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let names = ["ours", LOCAL, COARSE, RECORDER, SHARED, PROMETHEUS, CLIENT];
    bench.by_threads("histogram", "million values in 5 seconds", names, measure, add_rows)
}

fn measure(bench: &Bench, threads: usize) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let time = Duration::from_millis(bench.effort.size(20, 200) as u64);
    let (ours, coarse) = (Histogram::<BITS>::with_precision(), Histogram::new());
    let local = ours.clone();
    let shared = SharedArray::new();
    let options = HistogramOpts::new("values", "values");
    let prometheus = prometheus::Histogram::with_opts(
        options.buckets(prometheus::exponential_buckets(1.0, 2.0, 20)?),
    )?;
    let client =
        prometheus_client::metrics::histogram::Histogram::new(exponential_buckets(1.0, 2.0, 20));
    bench.medians(vec![
        ("ours", Box::new(move || Ok(recording(threads, time, || handle(&ours))))),
        (
            LOCAL,
            Box::new(move || {
                let handle = || {
                    let local = local.handle_for_this_thread();
                    move |value| local.record(value)
                };
                Ok(recording(threads, time, handle))
            }),
        ),
        (COARSE, Box::new(move || Ok(recording(threads, time, || handle(&coarse))))),
        (RECORDER, Box::new(move || with_recorders(threads, time))),
        (SHARED, Box::new(move || Ok(recording(threads, time, || |value| shared.record(value))))),
        (
            PROMETHEUS,
            Box::new(move || {
                Ok(recording(threads, time, || |value| prometheus.observe(value as f64)))
            }),
        ),
        (
            CLIENT,
            Box::new(move || Ok(recording(threads, time, || |value| client.observe(value as f64)))),
        ),
    ])
}

fn add_rows(bench: &mut Bench, threads: usize, figures: &BTreeMap<&'static str, f64>) {
    let what = format!("histogram, {threads} thread{}", if threads == 1 { "" } else { "s" });
    let mut row = Row::new(&what, figures["ours"], "M/5 s");
    for name in [LOCAL, COARSE, RECORDER, SHARED, PROMETHEUS, CLIENT] {
        row = row.beside(name, figures[name]);
    }
    if threads == 1 {
        for (kind, figure) in [("ets", 50.9), ("atomics", 171.0)] {
            let name = format!("OTP {kind}");
            row = row
                .beside(&name, bench.erlang(&format!("histogram_{kind}_1")))
                .recorded(&name, figure);
        }
    }
    if threads == PUBLISHED_THREADS {
        row = row.at_least_times(2.5, RECORDER);
    }
    bench.report.add(row);
}

/// Each thread has its own handle, as in the server.
fn handle<const BITS: u32>(histogram: &Histogram<BITS>) -> impl FnMut(u64) + use<BITS> {
    let histogram = histogram.clone();
    move |value| histogram.record(value)
}

/// Returns the millions of values recorded in 5 seconds.
fn recording<R: FnMut(u64)>(threads: usize, time: Duration, ready: impl Fn() -> R + Sync) -> f64 {
    let values = values();
    let work = |seat: Seat<'_>| {
        let mut record = ready();
        while seat.goes_on(BATCH as u64) {
            values.iter().for_each(|&value| record(value));
        }
    };
    crowd::millions_in_5_s(threads, time, work)
}

/// Returns values of all sizes up to 4 seconds in nanoseconds; generated beforehand, because a random number costs as
/// much as a record.
fn values() -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(BATCH as u64);
    (0..BATCH).map(|_| u64::from(rng.u32(..)) >> rng.u32(..20)).collect()
}

fn with_recorders(threads: usize, time: Duration) -> anyhow::Result<f64> {
    let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, DIGITS)?;
    let histogram = SyncHistogram::from(histogram);
    Ok(recording(threads, time, || {
        let mut recorder = histogram.recorder();
        move |value| recorder.saturating_record(value)
    }))
}

/// A histogram without a library: shared buckets and a sum.
struct SharedArray {
    sum: AtomicU64,
    buckets: Vec<AtomicU64>,
}

impl SharedArray {
    fn new() -> SharedArray {
        let n = (65 - BITS as usize) << BITS;
        SharedArray { sum: AtomicU64::new(0), buckets: (0..n).map(|_| AtomicU64::new(0)).collect() }
    }

    fn record(&self, value: u64) {
        let shift = (63 - BITS) - (value | (1 << BITS)).leading_zeros();
        let bucket = ((shift as usize) << BITS) + (value >> shift) as usize;
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }
}
