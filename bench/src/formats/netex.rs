//! Reading a publication: time, and peak memory.

use std::fs;
use std::hint::black_box;
use std::io::Read as _;
use std::path::Path;

use anyhow::ensure;
use lineside_formats::gtfs::FileSet;
use lineside_formats::netex::{
    PublicationLimits, PublicationSource, decode_publication, load_timetable,
};

use super::{events, made};
use crate::child::{Contender, Finding, Kept, measure};
use crate::report::{Report, Row};
use crate::rounds::{Effort, Samples, timed};

const LINES: usize = 40;
const LINES_QUICK: usize = 2;
const MB: f64 = 1e6;
/// The allowed ratio of the peaks with and without irrelevant elements.
const STUFFED_FACTOR: f64 = 1.25;

pub(super) const EVENTS: Contender = Contender { name: "NeTEx events", run: scan };
pub(super) const OURS: Contender = Contender { name: "NeTEx", run: read };

pub(super) fn run(effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let lines = effort.size(LINES_QUICK, LINES);
    let plain = folder.path().join("plain.zip");
    fs::write(&plain, made::publication(lines, false)?)?;
    let peak = compare("made NeTEx", &plain, effort, report)?;
    let stuffed = folder.path().join("stuffed.zip");
    fs::write(&stuffed, made::publication(lines, true)?)?;
    let mut samples = Samples::default();
    for _ in 0..effort.rounds {
        samples.add("ours", measure(OURS.name, &stuffed)?.peak_bytes / MB);
    }
    let bytes = texts(&stuffed)?.iter().map(String::len).sum::<usize>() as f64 / MB;
    let what = format!("the same with notes in it, {bytes:.0} MB of XML: peak memory");
    let row = Row::new(what, samples.median("ours"), "MB").beside("without them", peak);
    report.add(row.at_most_times(STUFFED_FACTOR, "without them"));
    // The largest real publication, if a folder with it is next to the repository.
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/netex/entur-gjb.zip");
    if real.exists() && !effort.is_quick {
        compare("a railway's NeTEx", &real, effort, report)?;
    }
    Ok(())
}

/// Compares contenders. Returns the peak memory of a load, in MB.
fn compare(name: &str, file: &Path, effort: Effort, report: &mut Report) -> anyhow::Result<f64> {
    let (body, limits, texts) = (fs::read(file)?, PublicationLimits::default(), texts(file)?);
    let mut samples = Samples::default();
    let mut n = 0;
    for _ in 0..effort.rounds {
        // Both include reading the zip.
        let (bare, counted) = timed(|| scan_body(&body));
        n = counted?;
        let (records, read) = timed(|| {
            PublicationSource::new(&body, &limits.files)
                .and_then(|mut files| decode_publication(&mut files, &limits))
        });
        black_box(read?);
        let (timetable, loaded) = timed(|| {
            PublicationSource::new(&body, &limits.files)
                .and_then(|mut files| load_timetable(&mut files, &limits))
        });
        let loaded = loaded?;
        ensure!(
            loaded.counts.service_journeys as u64 == n,
            "{} journeys of {n}",
            loaded.counts.service_journeys
        );
        for (name, time) in [("bare", bare), ("records", records), ("timetable", timetable)] {
            samples.add(name, time.as_secs_f64() * 1e3);
        }
        for (name, contender) in [("events' peak", EVENTS), ("peak", OURS)] {
            let outcome = measure(contender.name, file)?;
            ensure!(outcome.finding.n == n, "{name}: {} journeys of {n}", outcome.finding.n);
            samples.add(name, outcome.peak_bytes / MB);
            samples.add("kept", outcome.finding.kept_bytes as f64 / MB);
        }
    }
    let bytes = texts.iter().map(String::len).sum::<usize>() as f64 / MB;
    let bare = samples.median("bare");
    let what = format!("{name}, {bytes:.1} MB, {n} journeys");
    for (how, sample) in [("to records", "records"), ("to a timetable", "timetable")] {
        let row = Row::new(format!("{what}: {how}"), samples.median(sample), "ms");
        report.add(row.beside("bare pass", bare).at_most_times(2.5, "bare pass"));
    }
    let peak = samples.median("peak");
    let row = Row::new("the same: peak memory of a load", peak, "MB").beside("its XML", bytes);
    let row = row.beside("bare pass", samples.median("events' peak"));
    report.add(row.beside("the timetable that stays", samples.most("kept")));
    Ok(peak)
}

/// Returns all files of a publication, inflated.
fn texts(file: &Path) -> anyhow::Result<Vec<String>> {
    let body = fs::read(file)?;
    let mut files = PublicationSource::new(&body, &PublicationLimits::default().files)?;
    files.file_names().iter().map(|name| text(&mut files, name)).collect()
}

fn text(files: &mut dyn FileSet, name: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    if let Some(mut file) = files.open_file(name)? {
        file.read_to_string(&mut text)?;
    }
    Ok(text)
}

fn scan(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let n = scan_body(&fs::read(file)?)?;
    Ok((Finding { n, ..Finding::default() }, Box::new(())))
}

/// Inflates each file and reads its events; returns the number of journeys.
fn scan_body(body: &[u8]) -> anyhow::Result<u64> {
    let mut files = PublicationSource::new(body, &PublicationLimits::default().files)?;
    let mut n = 0;
    for name in files.file_names() {
        n += events::count(&text(&mut files, &name)?, "ServiceJourney")?;
    }
    Ok(n)
}

fn read(file: &Path) -> anyhow::Result<(Finding, Kept)> {
    let (body, limits) = (fs::read(file)?, PublicationLimits::default());
    let loaded = load_timetable(&mut PublicationSource::new(&body, &limits.files)?, &limits)?;
    let kept_bytes = loaded.timetable.memory_bytes() as u64;
    let finding =
        Finding { n: loaded.counts.service_journeys as u64, kept_bytes, ..Finding::default() };
    Ok((finding, Box::new(loaded)))
}
