//! Loading a schedule: time and peak memory, compared with `gtfs-structures` and with the floor.
//!
//! The floor is the least work of any reader: inflating the archive and splitting each file into fields, with the `csv`
//! crate.

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use gtfs_structures::RawGtfs;
use lineside_formats::gtfs::{self, DatasetLimits, Timetable, ZipFiles};

use crate::{
    child::{Contender, Finding, Kept, Outcome, measure},
    report::{Report, Row},
    rounds::{Effort, median},
};

const MEBIBYTE: f64 = 1_048_576.0;
/// The goal for the bytes of a stop time.
const STOP_TIME_BYTES_AIM: f64 = 16.0;

pub(super) const FLOOR: Contender = Contender { name: "floor", run: scan };
pub(super) const RAW_GTFS: Contender = Contender { name: "RawGtfs", run: load_raw };
pub(super) const OURS: Contender = Contender { name: "ours", run: load };
pub(super) const OURS_TWICE: Contender = Contender { name: "ours twice", run: load_twice };

/// Measures the generated `city` and, if it is present, the merged feed.
pub(super) fn run(city: &Path, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    compare("generated city", city, effort, report)?;
    match merged_feed() {
        Some(path) if !effort.is_quick => compare("merged feed", &path, effort, report),
        _ => Ok(()),
    }
}

/// Returns thirteen real feeds merged into one, if a folder with it is next to the repository.
fn merged_feed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gtfs");
    Some(root.join("large-merged-clean.zip")).filter(|path| path.exists())
}

fn compare(name: &str, file: &Path, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let contenders = [FLOOR, RAW_GTFS, OURS, OURS_TWICE];
    let mut outcomes: [Vec<Outcome>; 4] = Default::default();
    for _ in 0..effort.rounds {
        for (contender, outcomes) in contenders.iter().zip(&mut outcomes) {
            outcomes.push(measure(contender.name, file)?);
        }
    }
    let [floor, raw, ours, twice] = outcomes;
    let seconds = |of: &[Outcome]| median(of.iter().map(|outcome| outcome.seconds));
    let peak = |of: &[Outcome]| median(of.iter().map(|outcome| outcome.peak_bytes)) / MEBIBYTE;
    let found = ours.first().context("at least one round")?.finding;
    let all = [&floor, &raw, &ours, &twice].into_iter().flatten();
    if let Some(other) = all.map(|outcome| outcome.finding.n).find(|&n| n != found.n) {
        bail!("the contenders did not read the same: {} and {other} stop times", found.n);
    }
    let millions = found.n as f64 / 1e6;

    report.add(
        Row::new(format!("{name}, {millions:.1} M stop times: load"), seconds(&ours), "s")
            .beside("floor", seconds(&floor))
            .beside("RawGtfs", seconds(&raw))
            .at_most_times(2.5, "floor"),
    );
    report.add(
        Row::new(format!("{name}: peak memory of a load"), peak(&ours), "MiB")
            .beside("floor", peak(&floor))
            .beside("RawGtfs", peak(&raw))
            .at_most_times(0.2, "RawGtfs"),
    );
    report.add(
        Row::new(format!("{name}: peak memory while swapping"), peak(&twice), "MiB")
            .beside("one load", peak(&ours))
            .beside("RawGtfs", peak(&raw)),
    );
    report.add(
        Row::new(format!("{name}: a stop time"), found.n_bytes as f64 / found.n as f64, "B")
            .at_most(STOP_TIME_BYTES_AIM),
    );
    report.add(Row::new(
        format!("{name}: the whole timetable, per stop time"),
        found.kept_bytes as f64 / found.n as f64,
        "B",
    ));
    Ok(())
}

fn open(file: &Path) -> anyhow::Result<BufReader<File>> {
    let file = File::open(file).with_context(|| format!("{}", file.display()))?;
    Ok(BufReader::new(file))
}

fn scan(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let mut archive = zip::ZipArchive::new(open(file)?)?;
    let mut finding = Finding::default();
    for i in 0..archive.len() {
        let entry = archive.by_index(i)?;
        let is_stop_times = entry.name()?.ends_with("stop_times.txt");
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(entry);
        let mut row = csv::ByteRecord::new();
        while rows.read_byte_record(&mut row)? {
            finding.n += u64::from(is_stop_times);
        }
    }
    Ok((finding, Box::new(archive)))
}

fn load_raw(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let raw = RawGtfs::from_path(file)?;
    let stop_times = raw.stop_times.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((Finding { n: stop_times.len() as u64, ..Finding::default() }, Box::new(raw)))
}

fn load_timetable(file: &Path) -> anyhow::Result<Timetable> {
    let limits = DatasetLimits::default();
    let mut files = ZipFiles::new(open(file)?, &limits)?;
    let (timetable, _) = gtfs::load_timetable(&mut files, &limits)?;
    Ok(timetable)
}

fn load(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let timetable = load_timetable(file)?;
    let finding = Finding {
        n: timetable.stop_time_count(),
        kept_bytes: timetable.memory_bytes() as u64,
        n_bytes: timetable.stop_time_memory_bytes() as u64,
    };
    Ok((finding, Box::new(timetable)))
}

/// Loads a new dataset while the old one is still in memory, as the server does.
fn load_twice(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let old = load_timetable(file)?;
    let (finding, new) = load(file)?;
    Ok((finding, Box::new((old, new))))
}
