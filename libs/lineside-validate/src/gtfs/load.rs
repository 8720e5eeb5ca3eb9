//! Reads a schedule's files into tables, and says what is wrong about each by itself.

use std::io::Read;

use lineside_formats::{Error, gtfs::fields::LOCATIONS};

use super::{
    feed::{ALWAYS, Feed},
    files::File,
    pieces, reader, simple,
    source::Source,
    table::{Status, Table},
    zones::{self, Zones},
};
use crate::{
    Context,
    notice::Notices,
    stop::{Stop, Stoppable},
};

/// Bytes of a file, as the archive's directory says, from which several threads read it together.
const SHARED_BYTES: u64 = 4 << 20;
/// Bytes of the pieces in which they do.
const PIECE_BYTES: usize = 1 << 20;
/// Reads all files of a schedule, on as many threads as the context allows: the large files one
/// after the other by all of them, the others side by side.
///
/// # Errors
///
/// If a file cannot be opened or inflated; what is wrong inside of files is said in notices.
pub fn load(source: &dyn Source, context: &Context, notices: &mut Notices) -> Result<Feed, Error> {
    load_until(source, context, &Stop::default(), notices)
}

/// The same until it is stopped, which is an error.
pub(crate) fn load_until(
    source: &dyn Source,
    context: &Context,
    stop: &Stop,
    notices: &mut Notices,
) -> Result<Feed, Error> {
    let source = &Watched { source, stop };
    let names = source.list();
    let mut jobs: Vec<(File, &str, u64)> = Vec::new();
    let mut zones = Zones::NONE;
    for (name, size) in &names {
        match File::of_name(name) {
            Some(file) if !jobs.iter().any(|(other, ..)| *other == file) => {
                jobs.push((file, name, *size));
            }
            _ if name.eq_ignore_ascii_case(LOCATIONS) => {
                zones = read_zones(source, name, stop, notices)?;
            }
            _ => notices.add(&simple::UNKNOWN_FILE, |sample| {
                sample.put("filename", name.as_str());
            }),
        }
    }
    if source.has_nested() {
        notices.add(&simple::INVALID_INPUT_FILES_IN_SUBFOLDER, |sample| {
            sample.put("message", simple::NESTED);
        });
    }
    // The largest first, so that no thread is left alone with it at the end.
    jobs.sort_by_key(|&(_, _, size)| std::cmp::Reverse(size));
    let is_shared = |job: &(File, &str, u64)| context.threads > 1 && job.2 >= SHARED_BYTES;
    let (shared, others) = jobs.split_at(jobs.partition_point(is_shared));
    let mut tables: Vec<Option<Table>> = File::ALL.iter().map(|_| None).collect();
    for job in shared {
        tables[job.0 as usize] = Some(read_file(source, *job, true, context, notices)?);
    }
    let read = |job: &_, out: &mut Notices| read_file(source, *job, false, context, out);
    for (job, result) in others.iter().zip(crate::rules::in_turn(others, context, notices, read)) {
        tables[job.0 as usize] = Some(result?);
    }
    for file in File::ALL {
        if tables[file as usize].is_none() && ALWAYS.contains(&file) {
            notices.add(&simple::MISSING_REQUIRED_FILE, |sample| {
                sample.put("filename", file.name());
            });
        }
    }
    let tables = File::ALL.into_iter().zip(tables);
    let tables = tables
        .map(|(file, table)| {
            table.unwrap_or_else(|| Table::without_rows(file.spec(), Status::Missing))
        })
        .collect();
    Ok(Feed::new(tables, zones, names.into_iter().map(|(name, _)| name).collect()))
}

fn read_zones(
    source: &dyn Source,
    name: &str,
    stop: &Stop,
    out: &mut Notices,
) -> Result<Zones, Error> {
    let mut read = Ok(Zones::NONE);
    source.read(name, &mut |reader| {
        if let Some(reader) = reader {
            read = zones::read(reader, stop, out);
        }
    })?;
    read.map_err(|error| error.in_file(name))
}

fn read_file(
    source: &dyn Source,
    (file, name, size): (File, &str, u64),
    is_shared: bool,
    context: &Context,
    out: &mut Notices,
) -> Result<Table, Error> {
    let mut table = Ok(Table::without_rows(file.spec(), Status::Missing));
    source.read(name, &mut |reader| {
        if let Some(reader) = reader {
            table = match is_shared {
                true => pieces::read(reader, size, PIECE_BYTES, file.spec(), context, out),
                false => reader::read(reader, size, file.spec(), context, out),
            };
        }
    })?;
    table.map_err(|error| error.in_file(name))
}

/// A source whose files are read until the look is stopped.
struct Watched<'a> {
    source: &'a dyn Source,
    stop: &'a Stop,
}

impl Source for Watched<'_> {
    fn list(&self) -> Vec<(String, u64)> {
        self.source.list()
    }

    fn has_nested(&self) -> bool {
        self.source.has_nested()
    }

    fn read(&self, name: &str, read: &mut dyn FnMut(Option<&mut dyn Read>)) -> Result<(), Error> {
        let stop = self.stop;
        self.source.read(name, &mut |file| match file {
            Some(file) => read(Some(&mut Stoppable { file, stop })),
            None => read(None),
        })
    }
}
