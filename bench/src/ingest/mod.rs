//! `ingest`: from a feed's bytes to published changes, beside what others need to read the same bytes.

mod realtime;
mod schedule;
mod workload;

use crate::{child::Contender, report::Report, rounds::Effort};

/// Everything of this suite that runs in a process of its own.
pub(crate) static CONTENDERS: &[Contender] =
    &[schedule::FLOOR, schedule::RAW_GTFS, schedule::OURS, schedule::OURS_TWICE];

/// Stop times of the generated city.
const STOP_TIMES: usize = 2_500_000;
const STOP_TIMES_QUICK: usize = 100_000;

pub(crate) fn run(effort: Effort) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let n = effort.size(STOP_TIMES_QUICK, STOP_TIMES);
    let city = lineside_sim::write_benchmark_city(folder.path(), n)?;
    let mut report = Report::new("ingest", effort);
    schedule::run(&city, effort, &mut report)?;
    realtime::run(&city, effort, &mut report)?;
    report.write()
}
