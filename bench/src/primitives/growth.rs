//! Estimates for 64 cores, computed from this run, because two cores cannot show them.
//!
//! Primitives without shared data scale by Amdahl's law, from the measured step between one thread and two. Primitives
//! whose threads all write one line, or hand over data, scale no further than a cache line moves between cores, which
//! is measured here.

use std::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

use super::Bench;
use crate::{
    plot::{Plot, Series},
    report::Row,
    rounds::timed,
};

const CORES: f64 = 64.0;
/// The number of cores of the measurement.
const MEASURED_CORES: f64 = 2.0;
/// Round trips between two readings of the clock: few enough to pass without interruption.
const ROUND_TRIPS: usize = 1_000;
const RUNS: usize = 500;
const RUNS_QUICK: usize = 20;
/// The nanoseconds of a cache line's move on the machine of the recorded results.
const LINE_NS_RECORDED: f64 = 66.0;
/// Messages of one word in a cache line.
const MESSAGES_PER_LINE: f64 = 8.0;
/// Acquiring and releasing a permit each need the line.
const TRANSFERS_PER_PAIR: f64 = 2.0;

/// The limit of a primitive's scaling.
#[derive(Clone, Copy)]
enum Law {
    /// The serial part of the work; the plot shows rates.
    Amdahl,
    /// The serial part of the work; the plot shows the time of all threads together.
    AmdahlOfTimes,
    /// One cache line that every caller writes.
    SharedLine,
    /// Data that move once from the sender's core to the receiver's.
    HandedOver,
    /// Partitions that share the rows, each of which needs a signal.
    Partitions,
}

/// The scaling laws by plot.
const LAWS: [(&str, Law); 7] = [
    ("mailbox", Law::HandedOver),
    ("counter", Law::Amdahl),
    ("histogram", Law::Amdahl),
    ("table", Law::Amdahl),
    ("hashring", Law::AmdahlOfTimes),
    ("semaphore-1000", Law::SharedLine),
    ("fanout", Law::Partitions),
];

/// Adds a row for each plot with a known law.
pub(super) fn run(bench: &mut Bench) {
    let with_laws: Vec<(&Plot, Law)> = bench
        .plots
        .iter()
        .filter_map(|plot| Some((plot, LAWS.iter().find(|(name, _)| *name == plot.name)?.1)))
        .collect();
    if with_laws.is_empty() {
        return;
    }
    let line = line_ns(bench.effort.size(RUNS_QUICK, RUNS));
    let what = "a cache line from core to core";
    let mut rows =
        vec![Row::new(what, line, "ns").recorded("machine of the prototypes", LINE_NS_RECORDED)];
    rows.extend(with_laws.into_iter().filter_map(|(plot, law)| row(plot, law, line)));
    rows.into_iter().for_each(|row| bench.report.add(row));
}

fn row(plot: &Plot, law: Law, line_ns: f64) -> Option<Row> {
    let ours = plot.series.first()?;
    let what = |about: &str| format!("{}, {CORES} cores: {about}", plot.name);
    let a_second = 1e3 / line_ns;
    match law {
        Law::Amdahl | Law::AmdahlOfTimes => {
            let serial = |series: &Series| {
                let step = step(series)?;
                serial_part(if matches!(law, Law::AmdahlOfTimes) { 1.0 / step } else { step })
            };
            let part = serial(ours)?;
            let row = Row::new(what("times one thread"), speedup(part, CORES), "x");
            let row = row.computed(format!(
                "Amdahl: the step from 1 thread to 2 leaves {:.1} % one after the other",
                part * 100.0
            ));
            let others = plot.series.iter().skip(1);
            let others = others.filter_map(|series| Some((&series.name, serial(series)?)));
            Some(others.fold(row, |row, (name, part)| row.beside(name, speedup(part, CORES))))
        }
        Law::SharedLine => {
            let row = Row::new(
                what("pairs when each moves the line"),
                a_second / TRANSFERS_PER_PAIR,
                "M/s",
            );
            Some(row.computed(format!("each needs the line twice, {line_ns:.0} ns each")))
        }
        Law::HandedOver => {
            let row = Row::new(
                what("messages when lines come one by one"),
                a_second * MESSAGES_PER_LINE,
                "M/s",
            );
            Some(row.computed(format!(
                "{MESSAGES_PER_LINE} messages of a word in each line that moves, {line_ns:.0} ns each"
            )))
        }
        Law::Partitions => {
            let &(rows, milliseconds) = ours.points.last()?;
            let told = CORES * line_ns / 1e6;
            let row = Row::new(
                what(&format!("last of {rows} rows")),
                milliseconds * MEASURED_CORES / CORES + told,
                "ms",
            );
            Some(row.computed(format!(
                "{milliseconds:.3} ms by {MEASURED_CORES} partitions, shared by {CORES}, and a line to tell each"
            )))
        }
    }
}

/// Returns the ratio of the result with two threads to that with one.
fn step(series: &Series) -> Option<f64> {
    let rate = |threads: f64| series.points.iter().find(|(x, _)| *x == threads).map(|(_, y)| *y);
    Some(rate(2.0)? / rate(1.0)?)
}

/// Returns the serial part of the work, if two threads do `step` times the work of one.
fn serial_part(step: f64) -> Option<f64> {
    (step.is_finite() && step > 0.0).then(|| (2.0 / step - 1.0).clamp(0.0, 1.0))
}

/// Returns the speedup by Amdahl's law.
fn speedup(serial_part: f64, cores: f64) -> f64 {
    1.0 / (serial_part + (1.0 - serial_part) / cores)
}

/// Returns the time until one core sees another's write: half a round trip, in the best of many runs, because in the
/// others a thread was interrupted.
fn line_ns(runs: usize) -> f64 {
    let ball = AtomicU32::new(0);
    let hit = |from: u32, to: u32| {
        while ball.compare_exchange(from, to, SeqCst, SeqCst).is_err() {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| (0..runs * ROUND_TRIPS).for_each(|_| hit(1, 0)));
        let run = || timed(|| (0..ROUND_TRIPS).for_each(|_| hit(0, 1))).0.as_nanos() as f64;
        let best = (0..runs).map(|_| run()).fold(f64::INFINITY, f64::min);
        best / (2 * ROUND_TRIPS) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_one_after_the_other_bounds_the_speedup() {
        let of = |step: f64| speedup(serial_part(step).unwrap(), 64.0);
        assert_eq!(of(2.0), 64.0);
        assert_eq!(of(2.1), 64.0, "no more than there are cores");
        assert!((of(1.8) - 8.0).abs() < 1e-9, "a ninth is serial: 1 / (1/9 + 8/9/64)");
        assert_eq!(of(1.0), 1.0);
        assert_eq!(of(0.3), 1.0);
        assert!(serial_part(f64::NAN).is_none());
    }

    #[test]
    fn a_row_compares_what_each_would_make_of_the_cores() {
        let series = vec![
            Series::new("Lineside", vec![(1.0, 10.0), (2.0, 20.0)]),
            Series::new("peer", vec![(1.0, 10.0), (2.0, 10.0)]),
            Series::new("unmeasured", vec![(1.0, 10.0)]),
        ];
        let plot = Plot { name: "counter", x: "threads", y: "million bumps a second", series };
        let row = serde_json::to_value(row(&plot, Law::Amdahl, 66.0).unwrap()).unwrap();
        assert_eq!(row["ours"], 64.0);
        assert_eq!(row["beside"], serde_json::json!({"peer": 1.0}));
        assert!(row["computed"].is_string());
    }
}
