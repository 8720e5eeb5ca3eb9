//! `primitives`: the primitives of lineside-sync, compared with the best crates and Erlang/OTP, on published workloads.
//!
//! A module measures one primitive, adds its rows and draws its plot.

mod counter;
mod crowd;
mod erlang;
mod fanout;
mod growth;
mod hashring;
mod histogram;
mod mailbox;
mod ring;
mod semaphore;
mod table;

use std::collections::BTreeMap;

use self::erlang::Erlang;
use crate::{
    plot::{Plot, Series},
    report::Report,
    rounds::{Effort, median, timed},
};

/// Numbers of threads that share one counter or histogram.
const THREADS: [usize; 6] = [1, 2, 4, 8, 20, 64];
/// The number of threads in the published workload.
const PUBLISHED_THREADS: usize = 20;

/// A function that measures one primitive.
type Measure = fn(&mut Bench) -> anyhow::Result<()>;

static MODULES: [Measure; NAMES.len()] = [
    mailbox::run,
    ring::run,
    counter::run,
    histogram::run,
    table::run,
    fanout::run,
    hashring::run,
    semaphore::run,
];

/// The modules in the order in which they are measured.
pub(crate) const NAMES: &[&str] =
    &["mailbox", "ring", "counter", "histogram", "table", "fanout", "hashring", "semaphore"];

/// Measures all modules, or `only` one: its rows are written to a separate file.
pub(crate) fn run(effort: Effort, only: Option<&'static str>) -> anyhow::Result<()> {
    let suite = only.map_or("primitives".to_owned(), |only| format!("primitives-{only}"));
    let mut bench = Bench {
        effort,
        report: Report::new(suite, effort),
        plots: Vec::new(),
        erlang: Erlang::new(effort),
    };
    for (&name, module) in NAMES.iter().zip(MODULES) {
        if only.is_none_or(|only| only == name) {
            println!("\n── {name} ──");
            let (elapsed, measured) = timed(|| module(&mut bench));
            measured?;
            println!("── {name} took {:.1} s", elapsed.as_secs_f64());
        }
    }
    println!("\n── growth ──");
    growth::run(&mut bench);
    bench.report.write()
}

/// The context of the modules' measurements.
pub(super) struct Bench {
    pub(super) effort: Effort,
    pub(super) report: Report,
    /// The drawn plots, for the computed estimates.
    plots: Vec<Plot>,
    erlang: Erlang,
}

/// A contender: a call measures it once and returns the result.
type Contender<'a, F = f64> = (&'static str, Box<dyn FnMut() -> anyhow::Result<F> + 'a>);

impl Bench {
    /// Measures each contender once per round, alternately; returns the median of each.
    pub(super) fn medians(
        &self,
        contenders: Vec<Contender<'_>>,
    ) -> anyhow::Result<BTreeMap<&'static str, f64>> {
        let contenders = contenders.into_iter().map(|(name, mut run)| {
            let run: Box<dyn FnMut() -> anyhow::Result<[f64; 1]>> = Box::new(move || Ok([run()?]));
            (name, run)
        });
        let medians = self.medians_of(contenders.collect())?;
        Ok(medians.into_iter().map(|(name, [median])| (name, median)).collect())
    }

    /// Returns medians of contenders with several results, such as an average and percentiles.
    pub(super) fn medians_of<const N: usize>(
        &self,
        mut contenders: Vec<Contender<'_, [f64; N]>>,
    ) -> anyhow::Result<BTreeMap<&'static str, [f64; N]>> {
        let mut samples: BTreeMap<&'static str, Vec<[f64; N]>> = BTreeMap::new();
        for _ in 0..self.effort.rounds {
            for (name, run) in &mut contenders {
                samples.entry(name).or_default().push(run()?);
            }
        }
        let median_of = |samples: &[[f64; N]]| {
            std::array::from_fn(|at| median(samples.iter().map(|sample| sample[at])))
        };
        Ok(samples.iter().map(|(&name, samples)| (name, median_of(samples))).collect())
    }

    /// Measures with increasing numbers of threads, adds the rows of each, and draws a line for each of `names`.
    pub(super) fn by_threads<const N: usize>(
        &mut self,
        name: &'static str,
        y: &'static str,
        names: [&'static str; N],
        measure: impl Fn(&Bench, usize) -> anyhow::Result<BTreeMap<&'static str, f64>>,
        add_rows: impl Fn(&mut Bench, usize, &BTreeMap<&'static str, f64>),
    ) -> anyhow::Result<()> {
        let mut by_threads = Vec::new();
        for threads in THREADS {
            let figures = measure(self, threads)?;
            add_rows(self, threads, &figures);
            by_threads.push((threads as f64, figures));
        }
        let series = names.map(|name| {
            let points = by_threads.iter().map(|(threads, figures)| (*threads, figures[name]));
            Series::new(name, points.collect())
        });
        self.plot(name, "threads", y, series.into())
    }

    /// Draws `target/bench/primitives-<name>.svg`, ours as the first series. The `x` axis is the number of senders,
    /// readers or threads, and each step of both axes is a doubling.
    pub(super) fn plot(
        &mut self,
        name: &'static str,
        x: &'static str,
        y: &'static str,
        series: Vec<Series>,
    ) -> anyhow::Result<()> {
        let plot = Plot { name, x, y, series };
        plot.draw("primitives", self.effort)?;
        self.plots.push(plot);
        Ok(())
    }

    /// Returns a result of Erlang/OTP on this machine, or `None` without `erl`. The first request for a primitive runs
    /// its whole script.
    pub(super) fn erlang(&self, figure: &str) -> Option<f64> {
        self.erlang.figure(figure)
    }
}
