//! How far an input has been read, for whoever waits, and how reading ends once nobody waits any more.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_formats::gtfs::Files;
use lineside_formats::{Error, Problems};
use lineside_validate::Stop;
use lineside_validate::gtfs::Source;

/// How many bytes were read, of how many.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    read: AtomicU64,
    all: AtomicU64,
    stop: Stop,
}

impl Progress {
    /// Says how many bytes there will be.
    pub(super) fn expect(&self, bytes: u64) {
        self.all.store(bytes, Ordering::Relaxed);
    }

    /// Has the look end within a moment, whether it reads or rules run.
    pub(crate) fn stop(&self) {
        self.stop.stop();
    }

    pub(crate) fn stopper(&self) -> &Stop {
        &self.stop
    }

    /// The part that was read, from 0 to 1; none as long as nobody knows how much there is.
    pub(crate) fn part(&self) -> Option<f64> {
        let all = self.all.load(Ordering::Relaxed);
        let read = self.read.load(Ordering::Relaxed);
        (all > 0).then(|| (read as f64 / all as f64).min(1.0))
    }
}

/// A source whose bytes are counted as they are read.
pub(super) struct Counted<'a, S> {
    source: S,
    progress: &'a Progress,
}

impl<'a, S> Counted<'a, S> {
    pub(super) fn new(source: S, progress: &'a Progress) -> Self {
        Self { source, progress }
    }
}

impl<S: Source> Source for Counted<'_, S> {
    fn list(&self) -> Vec<(String, u64)> {
        self.source.list()
    }

    fn has_nested(&self) -> bool {
        self.source.has_nested()
    }

    fn read(&self, name: &str, read: &mut dyn FnMut(Option<&mut dyn Read>)) -> Result<(), Error> {
        self.source.read(name, &mut |reader| match reader {
            Some(reader) => read(Some(&mut Counting { reader, progress: self.progress })),
            None => read(None),
        })
    }
}

struct Counting<'a> {
    reader: &'a mut dyn Read,
    progress: &'a Progress,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.progress.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Files that are read until the look is stopped.
pub(super) struct Stoppable<'a> {
    files: &'a mut dyn Files,
    stop: &'a Stop,
    left_out: BTreeSet<String>,
}

impl<'a> Stoppable<'a> {
    pub(super) fn new(files: &'a mut dyn Files, stop: &'a Stop) -> Self {
        Self { files, stop, left_out: BTreeSet::new() }
    }

    /// Has these be as if they were not there.
    pub(super) fn leave_out<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        self.left_out.extend(names.map(str::to_owned));
    }
}

impl Files for Stoppable<'_> {
    fn names(&mut self) -> Vec<String> {
        let mut names = self.files.names();
        names.retain(|name| !self.left_out.contains(name));
        names
    }

    fn open<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
        let stop = self.stop;
        let file = self.files.open(name)?;
        Ok(file.map(|file| Box::new(UntilStopped { file, stop }) as Box<dyn Read + 'a>))
    }

    fn size_hint(&mut self, name: &str) -> Option<u64> {
        self.files.size_hint(name)
    }

    fn take_problems(&mut self) -> Problems {
        self.files.take_problems()
    }
}

struct UntilStopped<'a> {
    file: Box<dyn Read + 'a>,
    stop: &'a Stop,
}

impl Read for UntilStopped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_stopped() {
            return Err(stopped());
        }
        self.file.read(buffer)
    }
}

/// What reading and writing end with once the look is stopped. Nobody is told.
pub(super) fn stopped() -> io::Error {
    io::Error::other("the look was stopped")
}
