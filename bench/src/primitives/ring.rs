//! `ring`: a buffer of 200,000 items of 1 KiB that drops its oldest; 2,000,000 requests, in cycles of 15 pushes and 5
//! pulls.
//!
//! Each request is timed separately, minus the cost of reading the clock. *The operation* is a push, including the
//! freed item, or a pull; *the whole* also includes creating the item and dropping the pulled one. Two baselines:
//! writing 1 KiB to uncached memory, and work of the same duration in registers, which shows the machine's
//! interruptions.

mod buffers;
mod readers;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use self::buffers::{ArrayQueue, Buffer, Cold, Lineside, MutexedDeque};
use super::Bench;
use crate::{report::Row, rounds::median};

const ITEM_BYTES: usize = 1024;
const CAPACITY: usize = 200_000;
const REQUESTS: usize = 2_000_000;
const CYCLE: usize = 20;
const PUSHES: usize = 15;

type Content = [u8; ITEM_BYTES];

/// In microseconds: average, p99.99, p99.999, maximum of the operation; then average and p99.99 of the whole.
type Figures = [f64; 6];

const OURS: &str = "Lineside";
const DEQUE: &str = "VecDeque and mutex";
const ARRAY: &str = "crossbeam ArrayQueue";
const COLD: &str = "1 KiB of cold memory";
const TIMER: &str = "timer floor";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let capacity = bench.effort.size(2_000, CAPACITY);
    let requests = bench.effort.size(20_000, REQUESTS);
    let clock = clock_cost();
    let mut longest = Vec::new();
    let length = calibrate::<Lineside>(capacity, requests / 10, clock);
    let spins = spins_of(length);
    let medians = bench.medians_of::<6>(vec![
        (OURS, Box::new(|| Ok(requested::<Lineside>(capacity, requests, clock, &mut longest)))),
        (
            DEQUE,
            Box::new(|| Ok(requested::<MutexedDeque>(capacity, requests, clock, &mut Vec::new()))),
        ),
        (
            ARRAY,
            Box::new(|| Ok(requested::<ArrayQueue>(capacity, requests, clock, &mut Vec::new()))),
        ),
        (COLD, Box::new(|| Ok(touched(capacity, requests, clock)))),
        (TIMER, Box::new(|| Ok(spun(requests, clock, spins)))),
    ])?;
    add_rows(bench, &|name, which| medians[name][which]);
    let longest: Vec<String> = longest.iter().map(|took| format!("{took:.1}")).collect();
    println!("the ten longest operations of the last round, in us: {}", longest.join(" "));
    readers::run(bench)
}

fn add_rows(bench: &mut Bench, figure: &dyn Fn(&str, usize) -> f64) {
    let erlang = |buffer: &str, which: &str| bench.erlang(&format!("ring_{buffer}_{which}"));
    let row = |which: usize, what: &str, name: &str, queue: f64, ets: f64| {
        let mut row = Row::new(format!("ring, {what}"), figure(OURS, which), "us");
        for peer in [DEQUE, ARRAY, COLD, TIMER] {
            row = row.beside(peer, figure(peer, which));
        }
        row.beside("OTP queue", erlang("queue", name))
            .beside("OTP ETS", erlang("ets", name))
            .recorded("OTP queue, published", queue)
            .recorded("OTP ETS, published", ets)
    };
    let rows = [
        row(0, "average of an operation", "avg", 6.9, 6.53).at_most_times(1.2, COLD),
        row(1, "p99.99", "p9999", 74.0, 50.0).at_most_times(1.0, DEQUE),
        row(2, "p99.999", "p99999", 21_695.0, 66.0).at_most_times(1.5, TIMER),
        row(3, "longest", "max", 37_381.0, 308.0),
    ];
    let whole = |which: usize, what: &str| {
        [DEQUE, ARRAY].into_iter().fold(
            Row::new(format!("ring, with making and dropping, {what}"), figure(OURS, which), "us"),
            |row, peer| row.beside(peer, figure(peer, which)),
        )
    };
    let whole = [whole(4, "average"), whole(5, "p99.99")];
    rows.into_iter().chain(whole).for_each(|row| bench.report.add(row));
}

/// Nanoseconds of each request.
#[derive(Default)]
struct Times(Vec<u32>);

impl Times {
    fn with_capacity(requests: usize) -> Times {
        // Writing to the pages beforehand avoids page faults during the measurement.
        let mut times = vec![u32::MAX; requests];
        times.clear();
        Times(times)
    }

    fn add(&mut self, took: Duration, clock: Duration) {
        let nanoseconds = took.saturating_sub(clock).as_nanos();
        self.0.push(u32::try_from(nanoseconds).unwrap_or(u32::MAX));
    }

    fn average(&self) -> f64 {
        let sum: u64 = self.0.iter().copied().map(u64::from).sum();
        sum as f64 / self.0.len() as f64 / 1e3
    }

    /// Returns the time that one request in `one_in` exceeds; `self` is sorted.
    fn exceeded_by(&self, one_in: usize) -> f64 {
        let at = self.0.len().saturating_sub(self.0.len() / one_in + 1);
        f64::from(self.0.get(at).copied().unwrap_or(0)) / 1e3
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
    }

    fn longest(&self, n: usize) -> Vec<f64> {
        self.0.iter().rev().take(n).map(|&took| f64::from(took) / 1e3).collect()
    }
}

/// Returns the cost of one clock reading: the median difference of two consecutive readings.
fn clock_cost() -> Duration {
    let cost = median((0..100_001).map(|_| {
        let start = Instant::now();
        start.elapsed().as_nanos() as f64
    }));
    Duration::from_nanos(cost as u64)
}

fn figures(mut operation: Times, mut whole: Times, longest: &mut Vec<f64>) -> Figures {
    let averages = (operation.average(), whole.average());
    operation.sort();
    whole.sort();
    *longest = operation.longest(10);
    [
        averages.0,
        operation.exceeded_by(10_000),
        operation.exceeded_by(100_000),
        longest.first().copied().unwrap_or(0.0),
        averages.1,
        whole.exceeded_by(10_000),
    ]
}

/// Runs the workload on a full buffer.
fn requested<B: Buffer>(
    capacity: usize,
    requests: usize,
    clock: Duration,
    longest: &mut Vec<f64>,
) -> Figures {
    let template: Content = [7; ITEM_BYTES];
    let mut buffer = B::new(capacity);
    (0..capacity).for_each(|_| buffer.push(B::make(&template)));
    let (mut operation, mut whole) =
        (Times::with_capacity(requests), Times::with_capacity(requests));
    for request in 0..requests {
        let begun = Instant::now();
        let (start, end) = if request % CYCLE < PUSHES {
            let item = B::make(black_box(&template));
            let start = Instant::now();
            buffer.push(item);
            (start, Instant::now())
        } else {
            let start = Instant::now();
            let item = buffer.pull();
            let end = Instant::now();
            drop(black_box(item));
            (start, end)
        };
        let ended = Instant::now();
        operation.add(end - start, clock);
        whole.add(ended - begun, clock * 3);
    }
    figures(operation, whole, longest)
}

/// Returns the average time of an operation.
fn calibrate<B: Buffer>(capacity: usize, requests: usize, clock: Duration) -> Duration {
    let [average, ..] = requested::<B>(capacity, requests, clock, &mut Vec::new());
    Duration::from_nanos((average * 1e3) as u64)
}

/// Writes 1 KiB to a random place in as much memory as the buffer holds.
fn touched(capacity: usize, requests: usize, clock: Duration) -> Figures {
    let template: Content = [7; ITEM_BYTES];
    let mut memory = Cold::new(capacity);
    let mut times = Times::with_capacity(requests);
    for _ in 0..requests {
        let place = memory.place();
        let start = Instant::now();
        place.copy_from_slice(black_box(&template));
        times.add(start.elapsed(), clock);
    }
    figures(times, Times::default(), &mut Vec::new())
}

/// Works in registers.
fn spin(spins: u64) -> u64 {
    (0..spins).fold(1, |value: u64, _| black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// Returns the number of spins that take this time.
fn spins_of(length: Duration) -> u64 {
    const TRIED: u64 = 1_000_000;
    let start = Instant::now();
    black_box(spin(TRIED));
    let each = start.elapsed().as_nanos() as f64 / TRIED as f64;
    (length.as_nanos() as f64 / each) as u64
}

/// Measures requests that touch no memory and take as long as ours on average.
fn spun(requests: usize, clock: Duration, spins: u64) -> Figures {
    let mut times = Times::with_capacity(requests);
    for _ in 0..requests {
        let start = Instant::now();
        black_box(spin(black_box(spins)));
        times.add(start.elapsed(), clock);
    }
    figures(times, Times::default(), &mut Vec::new())
}
