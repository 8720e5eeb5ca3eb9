//! `ingest`: from a feed's bytes to published changes, compared with other readers of the same bytes.

mod realtime;
mod schedule;
mod workload;

use crate::{child::Contender, report::Report, rounds::Effort};

/// All contenders of this suite that run in a separate process.
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
