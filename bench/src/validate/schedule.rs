//! All rules over a schedule, with one thread and with two: CPU, time and peak memory.

use std::{fs, path::Path};

use anyhow::ensure;
use jiff::civil::date;
use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::{GtfsFile, ZipFileSource, load_schedule},
    rules::gtfs::validate_schedule,
};

use super::{Subject, reference};
use crate::{
    child::{Contender, Finding, Kept, Outcome, measure, measure_two_at_once},
    report::{Report, Row},
    rounds::{Effort, median},
};

const MEBIBYTE: f64 = 1_048_576.0;
/// The allowed ratios of CPU and memory to the reference.
const CPU_AIM: f64 = 0.05;
const MEMORY_AIM: f64 = 0.1;
/// The allowed ratio of all rules with loading to loading alone.
const RULES_AIM: f64 = 2.0;
/// The allowed ratio of the time with two threads to that with one: 1.6 times faster.
const THREADS_AIM: f64 = 0.625;

pub(super) const ONE_THREAD: Contender = Contender { name: "1 thread", run: |file| judge(file, 1) };
pub(super) const TWO_THREADS: Contender =
    Contender { name: "2 threads", run: |file| judge(file, 2) };
pub(super) const ONLY_LOADING: Contender = Contender { name: "only loading", run: only_load };

pub(super) fn run(subject: &Subject, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let Subject { name, file, recorded } = subject;
    let contenders = [ONE_THREAD, TWO_THREADS, ONLY_LOADING];
    let mut outcomes: [Vec<Outcome>; 3] = Default::default();
    let mut at_once = Vec::new();
    for _ in 0..effort.rounds {
        for (contender, outcomes) in contenders.iter().zip(&mut outcomes) {
            outcomes.push(measure(contender.name, file)?);
        }
        at_once.push(measure_two_at_once(ONE_THREAD.name, file)? / 2.0);
    }
    let beside = reference::measure(file)?;
    let [one, two, loading] = outcomes;
    let mut judged = one.iter().chain(&two).map(|outcome| outcome.finding.n);
    let n_notices = judged.next().unwrap_or_default();
    ensure!(judged.all(|n| n == n_notices), "{name}: one thread and two found different things");

    let cpu = |of: &[Outcome]| median(of.iter().map(|outcome| outcome.cpu_seconds));
    let seconds = |of: &[Outcome]| median(of.iter().map(|outcome| outcome.seconds));
    let peak = |of: &[Outcome]| median(of.iter().map(|outcome| outcome.peak_bytes)) / MEBIBYTE;
    let is_small = seconds(&one) < 0.3;
    let mut row = Row::new(format!("{name}: processors, 1 thread"), cpu(&one), "s");
    let mut memory = Row::new(format!("{name}: peak memory, 2 threads"), peak(&two), "MiB");
    if beside.is_some() || recorded.is_some() {
        row = row.beside("reference", beside.map(|(seconds, _)| seconds));
        memory = memory.beside("reference", beside.map(|(_, mebibytes)| mebibytes));
    }
    if let Some((seconds, mebibytes)) = *recorded {
        row = row.recorded("reference", seconds);
        memory = memory.recorded("reference", mebibytes);
    }
    report.add(row.at_most_times(CPU_AIM, "reference"));
    let mut row = Row::new(format!("{name}: processors, 2 threads"), cpu(&two), "s")
        .beside("reference", beside.map(|(seconds, _)| seconds));
    if let Some((seconds, _)) = *recorded {
        row = row.recorded("reference", seconds);
    }
    report.add(row.at_most_times(CPU_AIM, "reference"));
    report.add(memory.at_most_times(MEMORY_AIM, "reference"));
    report.add(
        Row::new(format!("{name}: processors, 1 thread"), cpu(&one), "s")
            .beside("only loading", cpu(&loading))
            .at_most_times(RULES_AIM, "only loading"),
    );
    let row = Row::new(format!("{name}: time, 2 threads"), seconds(&two), "s")
        .beside("1 thread", seconds(&one))
        // The best gain of this machine's second processor.
        .beside("1 thread, half of two at once", median(at_once));
    // Shorter runs end before a second thread is of use.
    report.add(if is_small { row } else { row.at_most_times(THREADS_AIM, "1 thread") });
    Ok(())
}

fn context(threads: usize) -> ValidationContext {
    ValidationContext { today: date(2024, 1, 1), country: None, threads }
}

fn judge(file: &Path, threads: usize) -> anyhow::Result<(Finding, Kept)> {
    let (bytes, limits) = (fs::read(file)?, DatasetLimits::default());
    let source = ZipFileSource::new(&bytes, &limits)?;
    let mut notices = Notices::new(Notices::SAMPLES_MAX);
    let (feed, errors) = validate_schedule(&source, &context(threads), &mut notices)?;
    ensure!(errors.is_empty(), "rules failed: {errors:?}");
    let n = notices.iter().map(|found| found.total).sum();
    Ok((Finding { n, ..Finding::default() }, Box::new((feed, notices))))
}

fn only_load(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let (bytes, limits) = (fs::read(file)?, DatasetLimits::default());
    let source = ZipFileSource::new(&bytes, &limits)?;
    let feed = load_schedule(&source, &context(1), &mut Notices::new(Notices::SAMPLES_MAX))?;
    let n = feed.table(GtfsFile::StopTimes).len().into();
    Ok((Finding { n, ..Finding::default() }, Box::new(feed)))
}
