//! Measures reading a NeTEx publication: `cargo run --release --example netex_load -- <file> [rounds]`.
//!
//! For comparison it runs, in turn over the same uncompressed bytes, quick-xml's events alone, which is the minimum
//! work. The fastest round of each counts. If the variable `GTFS` is set, the result is written there.
#![expect(clippy::print_stdout, reason = "a command that reports")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    env, fs,
    hint::black_box,
    io::Read,
    time::{Duration, Instant},
};

use lineside_formats::{
    Problems,
    gtfs::{FileSet, InMemoryTables, ZipTableWriter},
    netex::{PublicationLimits, PublicationSource, decode_publication, load_timetable, write_gtfs},
};
use quick_xml::{Reader, events::Event};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("the path of a publication is missing")?;
    let rounds: u32 = arguments.next().map_or(Ok(10), |rounds| rounds.parse())?;
    let (body, limits) = (fs::read(&path)?, PublicationLimits::default());
    let mut texts = Vec::new();
    let mut files = PublicationSource::new(&body, &limits.files)?;
    for name in files.file_names() {
        let mut text = Vec::new();
        files.open_file(&name)?.ok_or("a file is missing")?.read_to_end(&mut text)?;
        texts.push(String::from_utf8_lossy(&text).into_owned());
    }
    print_summary(&body, &limits)?;
    if let Some(to) = env::var_os("GTFS") {
        let (publication, mut problems) =
            decode_publication(&mut PublicationSource::new(&body, &limits.files)?, &limits)?;
        let mut zip = ZipTableWriter::new(fs::File::create(to)?);
        write_gtfs(&publication, &mut zip, &mut problems)?;
        zip.finish_archive()?;
    }

    let (mut bare, mut records, mut timetable) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut tables = Duration::MAX;
    for _ in 0..rounds {
        bare = bare.min(measure_time(|| texts.iter().for_each(|text| read_all_events(text))));
        records = records.min(measure_time(|| {
            let files = PublicationSource::new(&body, &limits.files).ok();
            drop(black_box(files.map(|mut files| decode_publication(&mut files, &limits))));
        }));
        tables = tables.min(measure_time(|| {
            if let Ok(mut files) = PublicationSource::new(&body, &limits.files)
                && let Ok((publication, _)) = decode_publication(&mut files, &limits)
            {
                let mut tables = InMemoryTables::new();
                let _ = black_box(write_gtfs(&publication, &mut tables, &mut Problems::new()));
            }
        }));
        timetable = timetable.min(measure_time(|| {
            let files = PublicationSource::new(&body, &limits.files).ok();
            drop(black_box(files.map(|mut files| load_timetable(&mut files, &limits))));
        }));
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "{bytes} bytes of XML; events: {bare:?}; inflated and records: {records:?}; tables: {tables:?}; timetable: {timetable:?}"
    );
    println!("records take {:.2} times the events", records.as_secs_f64() / bare.as_secs_f64());
    Ok(())
}

/// Prints the records, the problems, and the dropped data.
fn print_summary(
    body: &[u8],
    limits: &PublicationLimits,
) -> Result<(), Box<dyn std::error::Error>> {
    let loaded = load_timetable(&mut PublicationSource::new(body, &limits.files)?, limits)?;
    println!("{:?}", loaded.counts);
    println!("{:?}", loaded.timetable.row_counts());
    println!(
        "zone {}, days {:?}",
        loaded.timetable.timezone_name(),
        loaded.timetable.service_date_range()
    );
    for (file, code, n) in loaded.problems.problem_counts() {
        let first = loaded
            .problems
            .retained_problems()
            .iter()
            .find(|it| *it.file == *file && it.code == code);
        println!("{n} × {code}: {}", first.map(ToString::to_string).unwrap_or_default());
    }
    println!("{}", serde_json::to_string(&loaded.losses)?);
    Ok(())
}

fn measure_time(run: impl FnOnce()) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

fn read_all_events(text: &str) {
    let mut reader = Reader::from_str(text);
    while let Ok(event) = reader.read_event() {
        if matches!(black_box(event), Event::Eof) {
            break;
        }
    }
}
