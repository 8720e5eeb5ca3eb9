//! Measures loading a GTFS zip: `cargo run --release --example gtfs_load -- <zip>
//! [load|rows|floor|raw]`.
//!
//! `rows` only streams and checks the rows. `floor` is the minimum work: it inflates every table and walks its records
//! with `csv`. `raw` is gtfs-structures' RawGtfs. Each process runs one mode, because peak memory is that of the
//! process.
#![expect(clippy::print_stdout, reason = "a command that reports")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    env, fs,
    io::{BufReader, Read},
    time::Instant,
};

use lineside_formats::{
    Problems,
    gtfs::{self, DatasetLimits, FileSet, ZipFiles, fields::FILES, rows::TableReader},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("the path of a zip is missing")?;
    let mode = arguments.next().unwrap_or_else(|| "load".into());
    let started = Instant::now();
    match mode.as_str() {
        "load" => measure_load(&path)?,
        "rows" => measure_rows(&path)?,
        "floor" => measure_read_floor(&path)?,
        "raw" => measure_raw_read(&path)?,
        other => return Err(format!("unknown mode {other}").into()),
    }
    println!("{mode}: {:.3} s, peak {} KiB", started.elapsed().as_secs_f64(), peak_memory_kib()?);
    Ok(())
}

fn measure_load(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let limits = DatasetLimits::default();
    let mut files = ZipFiles::new(BufReader::new(fs::File::open(path)?), &limits)?;
    let (timetable, problems) = gtfs::load_timetable(&mut files, &limits)?;
    let n_stop_times = timetable.stop_time_count().max(1);
    println!("{:?}", timetable.row_counts());
    println!(
        "{} patterns, {n_stop_times} stop times in {} bytes, {:.2} each; timetable {} bytes",
        timetable.pattern_count(),
        timetable.stop_time_memory_bytes(),
        timetable.stop_time_memory_bytes() as f64 / n_stop_times as f64,
        timetable.memory_bytes(),
    );
    println!("{} problems", problems.total_count());
    for (file, code, n) in problems.problem_counts() {
        println!("  {file} {code} {n}");
    }
    for problem in problems.retained_problems().iter().take(20) {
        println!("  {problem}");
    }
    Ok(())
}

fn measure_rows(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let limits = DatasetLimits::default();
    let mut files = ZipFiles::new(BufReader::new(fs::File::open(path)?), &limits)?;
    let mut problems = Problems::new();
    let mut n_rows = 0;
    for spec in FILES {
        let Some(reader) = files.open_file(spec.name)? else { continue };
        let Some(mut rows) = TableReader::new(reader, spec, &limits, &mut problems)? else {
            continue;
        };
        while rows.next_row(&mut problems)?.is_some() {}
        n_rows += rows.row_count();
    }
    println!("{n_rows} rows, {} problems", problems.total_count());
    Ok(())
}

fn measure_read_floor(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut archive = zip::ZipArchive::new(BufReader::new(fs::File::open(path)?))?;
    let mut n_records = 0_u64;
    for entry in 0..archive.len() {
        let reader: Box<dyn Read> = Box::new(archive.by_index(entry)?);
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(reader);
        let mut record = csv::ByteRecord::new();
        while rows.read_byte_record(&mut record)? {
            n_records += 1;
        }
    }
    println!("{n_records} records");
    Ok(())
}

fn measure_raw_read(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let raw = gtfs_structures::RawGtfs::from_path(path)?;
    println!("{} stop times", raw.stop_times.map_or(0, |rows| rows.len()));
    Ok(())
}

/// Returns the peak resident size of the process in KiB, as reported by Linux.
fn peak_memory_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}
