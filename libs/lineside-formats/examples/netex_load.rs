//! Measures reading a NeTEx publication: `cargo run --release --example netex_load -- <file> [rounds]`.
//!
//! Beside it, over the same bytes inflated and in turn: quick-xml's events by themselves, which is the least that anyone
//! could do. The fastest round of each counts. With the variable `GTFS` set, what it comes to is written there.
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
    gtfs::{Files, MemoryTables, ZipTables},
    netex::{Limits, Source, decode, load, write_gtfs},
};
use quick_xml::{Reader, events::Event};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("the path of a publication is missing")?;
    let rounds: u32 = arguments.next().map_or(Ok(10), |rounds| rounds.parse())?;
    let (body, limits) = (fs::read(&path)?, Limits::default());
    let mut texts = Vec::new();
    let mut files = Source::new(&body, &limits.files)?;
    for name in files.names() {
        let mut text = Vec::new();
        files.open(&name)?.ok_or("a file is gone")?.read_to_end(&mut text)?;
        texts.push(String::from_utf8_lossy(&text).into_owned());
    }
    describe(&body, &limits)?;
    if let Some(to) = env::var_os("GTFS") {
        let (publication, mut problems) = decode(&mut Source::new(&body, &limits.files)?, &limits)?;
        let mut zip = ZipTables::new(fs::File::create(to)?);
        write_gtfs(&publication, &mut zip, &mut problems)?;
        zip.finish()?;
    }

    let (mut bare, mut records, mut timetable) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut tables = Duration::MAX;
    for _ in 0..rounds {
        bare = bare.min(time(|| texts.iter().for_each(|text| events(text))));
        records = records.min(time(|| {
            let files = Source::new(&body, &limits.files).ok();
            drop(black_box(files.map(|mut files| decode(&mut files, &limits))));
        }));
        tables = tables.min(time(|| {
            if let Ok(mut files) = Source::new(&body, &limits.files)
                && let Ok((publication, _)) = decode(&mut files, &limits)
            {
                let mut tables = MemoryTables::new();
                let _ = black_box(write_gtfs(&publication, &mut tables, &mut Problems::new()));
            }
        }));
        timetable = timetable.min(time(|| {
            let files = Source::new(&body, &limits.files).ok();
            drop(black_box(files.map(|mut files| load(&mut files, &limits))));
        }));
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "{bytes} bytes of XML; events: {bare:?}; inflated and records: {records:?}; tables: {tables:?}; timetable: {timetable:?}"
    );
    println!("records take {:.2} times the events", records.as_secs_f64() / bare.as_secs_f64());
    Ok(())
}

/// Says what was read, what was wrong, and what is lost.
fn describe(body: &[u8], limits: &Limits) -> Result<(), Box<dyn std::error::Error>> {
    let loaded = load(&mut Source::new(body, &limits.files)?, limits)?;
    println!("{:?}", loaded.counts);
    println!("{:?}", loaded.timetable.row_counts());
    println!(
        "zone {}, days {:?}",
        loaded.timetable.timezone_name(),
        loaded.timetable.service_range()
    );
    for (file, code, n) in loaded.problems.counts() {
        let first = loaded.problems.kept().iter().find(|it| *it.file == *file && it.code == code);
        println!("{n} × {code}: {}", first.map(ToString::to_string).unwrap_or_default());
    }
    println!("{}", serde_json::to_string(&loaded.losses)?);
    Ok(())
}

fn time(run: impl FnOnce()) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

fn events(text: &str) {
    let mut reader = Reader::from_str(text);
    while let Ok(event) = reader.read_event() {
        if matches!(black_box(event), Event::Eof) {
            break;
        }
    }
}
