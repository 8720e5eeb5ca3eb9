//! Reading of a schedule's files into tables, with notices about each file by itself.

use std::ops::RangeInclusive;

use lineside_formats::{Error, gtfs::fields::LOCATIONS};

use super::{
    feed::{ALWAYS, GtfsFeed},
    files::GtfsFile,
    leniency::RowRetentionRule,
    pieces, reader, simple,
    source::{CancellableFileSource, ScheduleFileSource},
    table::{FileReadStatus, GtfsTable},
    zones::{self, FlexZones},
};
use crate::{ValidationContext, cancel::CancelToken, notice::Notices};

/// The size of a file, by the archive's directory, from which several threads read it together.
const SHARED_BYTES: u64 = 1 << 20;
/// The smallest and largest piece of such a file, in bytes. There are enough pieces for a few threads, and the largest
/// pieces fit into the processor's cache several times, together with their rows.
const PIECE_BYTES: RangeInclusive<u64> = 128 << 10..=256 << 10;
const PIECES_MIN: u64 = 16;

/// Reads all files of a schedule, on as many threads as the context allows: all threads read each large file together,
/// and then one small file each.
///
/// # Errors
///
/// Returns an error if a file cannot be opened or inflated. Faults within files are reported as notices.
pub fn load_schedule(
    source: &dyn ScheduleFileSource,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Result<GtfsFeed, Error> {
    load_schedule_cancellable(source, context, &CancelToken::default(), notices)
}

/// Reads the part of a schedule that real-time rules need: their files, and in these all rows with a key, even if other
/// fields are invalid. The publisher of messages about a route is not to blame for its color.
///
/// # Errors
///
/// Returns an error if a file cannot be opened or inflated.
pub fn load_schedule_for_realtime_rules(
    source: &dyn ScheduleFileSource,
    context: &ValidationContext,
) -> Result<GtfsFeed, Error> {
    load_for_realtime_cancellable(source, context, &CancelToken::default())
}

/// Reads the part of a schedule that real-time rules need until cancelled, which is an error.
pub(crate) fn load_for_realtime_cancellable(
    source: &dyn ScheduleFileSource,
    context: &ValidationContext,
    cancel: &CancelToken,
) -> Result<GtfsFeed, Error> {
    let source = &CancellableFileSource::new(source, cancel);
    let retention_for =
        |file: GtfsFile| RowRetentionRule::retention_for_realtime_rules(file.file_name());
    let names = source.list_files();
    let mut jobs: Vec<FileToRead<'_>> = Vec::new();
    for (name, size) in &names {
        let file = gtfs_file_by_name(name, &names);
        let file = file.filter(|file| !jobs.iter().any(|job| job.file == *file));
        if let Some((file, retention)) = file.and_then(|file| Some((file, retention_for(file)?))) {
            jobs.push(FileToRead { file, name, size: *size, retention });
        }
    }
    // Faults of the schedule are reported elsewhere.
    let tables = read_schedule_files(source, jobs, context, &mut Notices::new(0))?;
    Ok(GtfsFeed::new(tables, FlexZones::NONE, names.into_iter().map(|(name, _)| name).collect()))
}

/// Returns the table of a file name. An exact name takes precedence over names in another case, as in what Lineside
/// serves.
fn gtfs_file_by_name(name: &str, names: &[(String, u64)]) -> Option<GtfsFile> {
    let file = GtfsFile::from_name(name)?;
    let is_exact = name == file.file_name();
    let is_taken = !is_exact && names.iter().any(|(other, _)| other == file.file_name());
    (!is_taken).then_some(file)
}

/// Reads a schedule like [`load_schedule`] until cancelled, which is an error.
pub(crate) fn load_schedule_cancellable(
    source: &dyn ScheduleFileSource,
    context: &ValidationContext,
    cancel: &CancelToken,
    notices: &mut Notices,
) -> Result<GtfsFeed, Error> {
    let source = &CancellableFileSource::new(source, cancel);
    let names = source.list_files();
    let mut jobs: Vec<FileToRead<'_>> = Vec::new();
    let mut zones = FlexZones::NONE;
    for (name, size) in &names {
        match gtfs_file_by_name(name, &names) {
            Some(file) if !jobs.iter().any(|job| job.file == file) => {
                jobs.push(FileToRead {
                    file,
                    name,
                    size: *size,
                    retention: RowRetentionRule::Faultless,
                });
            }
            _ if name.eq_ignore_ascii_case(LOCATIONS) => {
                zones = read_geojson_zones(source, name, cancel, notices)?;
            }
            _ => notices.count_notice_with_sample(&simple::UNKNOWN_FILE, |sample| {
                sample.set_field("filename", name.as_str());
            }),
        }
    }
    if source.has_gtfs_files_in_subfolder() {
        notices.count_notice_with_sample(&simple::INVALID_INPUT_FILES_IN_SUBFOLDER, |sample| {
            sample.set_field("message", simple::NESTED);
        });
    }
    let tables = read_schedule_files(source, jobs, context, notices)?;
    for file in ALWAYS {
        if !names.iter().any(|(name, _)| GtfsFile::from_name(name) == Some(file)) {
            notices.count_notice_with_sample(&simple::MISSING_REQUIRED_FILE, |sample| {
                sample.set_field("filename", file.file_name());
            });
        }
    }
    Ok(GtfsFeed::new(tables, zones, names.into_iter().map(|(name, _)| name).collect()))
}

#[derive(Clone, Copy, Debug)]
struct FileToRead<'a> {
    file: GtfsFile,
    name: &'a str,
    /// The size in bytes, by the archive's directory.
    size: u64,
    retention: RowRetentionRule,
}

/// Reads the files. Returns a table for each file of the reference, in its order.
fn read_schedule_files(
    source: &dyn ScheduleFileSource,
    mut jobs: Vec<FileToRead<'_>>,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Result<Vec<GtfsTable>, Error> {
    // The largest come first, so that no thread is left alone with one at the end.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.size));
    let is_shared = |job: &FileToRead<'_>| context.threads > 1 && job.size >= SHARED_BYTES;
    let (shared, others) = jobs.split_at(jobs.partition_point(is_shared));
    let missing =
        |file: GtfsFile| GtfsTable::empty_with_status(file.file_spec(), FileReadStatus::Missing);
    let mut tables: Vec<GtfsTable> = GtfsFile::ALL.into_iter().map(missing).collect();
    for job in shared {
        tables[job.file as usize] = read_schedule_file(source, *job, true, context, notices)?;
    }
    let read = |job: &_, out: &mut Notices| read_schedule_file(source, *job, false, context, out);
    for (job, result) in
        others.iter().zip(crate::jobs::run_jobs_in_parallel(others, context, notices, read))
    {
        tables[job.file as usize] = result?;
    }
    Ok(tables)
}

fn read_geojson_zones(
    source: &dyn ScheduleFileSource,
    name: &str,
    cancel: &CancelToken,
    out: &mut Notices,
) -> Result<FlexZones, Error> {
    let mut read = Ok(FlexZones::NONE);
    source.read_file_with(name, &mut |reader| {
        if let Some(reader) = reader {
            read = zones::read_geojson_zones(reader, cancel, out);
        }
    })?;
    read.map_err(|error| error.with_file(name))
}

fn read_schedule_file(
    source: &dyn ScheduleFileSource,
    FileToRead { file, name, size, retention }: FileToRead<'_>,
    is_shared: bool,
    context: &ValidationContext,
    out: &mut Notices,
) -> Result<GtfsTable, Error> {
    let spec = file.file_spec();
    let mut table = Ok(GtfsTable::empty_with_status(spec, FileReadStatus::Missing));
    source.read_file_with(name, &mut |reader| {
        if let Some(reader) = reader {
            table = match is_shared {
                true => pieces::read_table_with_threads(
                    reader,
                    size,
                    piece_size_for_file(size),
                    spec,
                    retention,
                    context,
                    out,
                ),
                false => reader::read_table(reader, size, spec, retention, context, out),
            };
        }
    })?;
    table.map_err(|error| error.with_file(name))
}

fn piece_size_for_file(size: u64) -> usize {
    (size / PIECES_MIN).clamp(*PIECE_BYTES.start(), *PIECE_BYTES.end()) as usize
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::gtfs::InMemoryFiles;

    const CONTEXT: ValidationContext =
        ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };

    /// Returns the routes in a file for real-time rules, and those for rules over schedules.
    fn routes(file: impl Into<Vec<u8>>) -> [String; 2] {
        let source = InMemoryFiles::default().with_file("routes.txt", file.into());
        let strict = load_schedule(&source, &CONTEXT, &mut Notices::new(0)).unwrap();
        [load_schedule_for_realtime_rules(&source, &CONTEXT).unwrap(), strict].map(|feed| {
            let table = feed.table(GtfsFile::Routes);
            let ids = table.text_column("route_id");
            let ids: Vec<_> = table.row_numbers().filter_map(|row| ids.get(row)).collect();
            ids.join(" ")
        })
    }

    #[test]
    fn a_lowercase_file_name_takes_precedence() {
        let rows = |id: &str| format!("route_id,route_long_name,route_type\n{id},North,3\n");
        let source = InMemoryFiles::default().with_file("ROUTES.TXT", rows("large"));
        let both = source.clone().with_file("routes.txt", rows("small"));
        for (source, id) in [(source, "large"), (both, "small")] {
            let mut notices = Notices::new(1);
            let strict = load_schedule(&source, &CONTEXT, &mut notices).unwrap();
            for feed in [load_schedule_for_realtime_rules(&source, &CONTEXT).unwrap(), strict] {
                let table = feed.table(GtfsFile::Routes);
                let ids = table.text_column("route_id");
                let ids: Vec<_> = table.row_numbers().filter_map(|row| ids.get(row)).collect();
                assert_eq!(ids, [id]);
            }
            let unknown = notices.get("unknown_file").map_or(0, |found| found.total);
            assert_eq!(
                unknown,
                u64::from(id == "small"),
                "the notices of the other zip are not reported"
            );
        }
    }

    #[test]
    fn real_time_rules_use_every_row_with_an_id() {
        let header = "route_id,route_long_name,route_type,route_color\n";
        let long = "x".repeat(5_000);
        for (file, known, sound) in [
            ("R1,North,3,\nR2,South,3,ZZZZZZ\n".to_owned(), "R1 R2", "R1"),
            ("R1,North,bus,\n,South,3,\nR3,West,3,\n".to_owned(), "R1 R3", "R3"),
            ("R1,\"North\nSouth\",3,\nR2,North,3,\n".to_owned(), "R1 R2", "R2"),
            (format!("R1,North,3,\nR2,{long},3,\nR3,South,3,\n"), "R1 R2 R3", "R1"),
            ("R1,North\n\nR2,North,South,3,\nR3,South,3,\n".to_owned(), "R1 R2 R3", "R3"),
        ] {
            assert_eq!(routes(format!("{header}{file}")), [known, sound], "{file}");
        }
        // A text in Latin-1 is invalid, but readers of messages know these ids as well.
        let ids = routes(b"route_id,route_type\nB\xE4r,3\nR2,3\n".as_slice());
        assert_eq!(ids, ["B\u{E4}r R2", "R2"]);
    }

    #[test]
    fn real_time_rules_require_only_the_id_columns() {
        assert_eq!(routes("route_id,route_id,\nR1,R2,\n"), ["R1", ""]);
        assert_eq!(routes("route_long_name,route_type\nNorth,3\n"), ["", ""]);
    }

    #[test]
    fn invalid_stop_coordinates_are_ignored() {
        let file = "stop_id,stop_lat,stop_lon\nS1,59.9,10.7\nS2,159.9,10.7\nS3,north,10.7\n";
        let source = InMemoryFiles::default().with_file("stops.txt", file);
        let feed = load_schedule_for_realtime_rules(&source, &CONTEXT).unwrap();
        let table = feed.table(GtfsFile::Stops);
        let latitudes: Vec<_> =
            table.row_numbers().map(|row| table.float_column("stop_lat").get(row)).collect();
        assert_eq!(latitudes, [Some(59.9), None, None]);
    }
}
