//! The progress of reading an input, and its cancellation.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_formats::gtfs::FileSet;
use lineside_formats::{Error, Problems};
use lineside_validate::CancelToken;
use lineside_validate::gtfs::ScheduleFileSource;

/// Number of bytes read so far, out of a total.
#[derive(Debug, Default)]
pub struct CheckReadProgress {
    read: AtomicU64,
    all: AtomicU64,
    stop: CancelToken,
}

impl CheckReadProgress {
    /// Sets the total number of bytes.
    pub(super) fn set_total_bytes(&self, bytes: u64) {
        self.all.store(bytes, Ordering::Relaxed);
    }

    /// Ends the check soon, during reading and during rules.
    pub fn cancel_check(&self) {
        self.stop.cancel();
    }

    pub fn cancel_token(&self) -> &CancelToken {
        &self.stop
    }

    /// Returns the fraction read, from 0 to 1; `None` while the total is unknown.
    pub fn fraction_read(&self) -> Option<f64> {
        let all = self.all.load(Ordering::Relaxed);
        let read = self.read.load(Ordering::Relaxed);
        (all > 0).then(|| (read as f64 / all as f64).min(1.0))
    }
}

/// A source that counts the bytes that are read from it.
pub(super) struct ProgressFileSource<'a, S> {
    source: S,
    progress: &'a CheckReadProgress,
}

impl<'a, S> ProgressFileSource<'a, S> {
    pub(super) fn new(source: S, progress: &'a CheckReadProgress) -> Self {
        Self { source, progress }
    }
}

impl<S: ScheduleFileSource> ScheduleFileSource for ProgressFileSource<'_, S> {
    fn list_files(&self) -> Vec<(String, u64)> {
        self.source.list_files()
    }

    fn has_gtfs_files_in_subfolder(&self) -> bool {
        self.source.has_gtfs_files_in_subfolder()
    }

    fn read_file_with(
        &self,
        name: &str,
        read: &mut dyn FnMut(Option<&mut dyn Read>),
    ) -> Result<(), Error> {
        self.source.read_file_with(name, &mut |reader| match reader {
            Some(reader) => read(Some(&mut ProgressReader { reader, progress: self.progress })),
            None => read(None),
        })
    }
}

struct ProgressReader<'a> {
    reader: &'a mut dyn Read,
    progress: &'a CheckReadProgress,
}

impl Read for ProgressReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.progress.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A file set that can be read until the check is cancelled.
pub(super) struct CancellableFileSet<'a> {
    files: &'a mut dyn FileSet,
    stop: &'a CancelToken,
    omitted: BTreeSet<String>,
}

impl<'a> CancellableFileSet<'a> {
    pub(super) fn new(files: &'a mut dyn FileSet, stop: &'a CancelToken) -> Self {
        Self { files, stop, omitted: BTreeSet::new() }
    }

    /// Hides these files.
    pub(super) fn hide_files<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        self.omitted.extend(names.map(str::to_owned));
    }
}

impl FileSet for CancellableFileSet<'_> {
    fn file_names(&mut self) -> Vec<String> {
        let mut names = self.files.file_names();
        names.retain(|name| !self.omitted.contains(name));
        names
    }

    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
        let stop = self.stop;
        let file = self.files.open_file(name)?;
        Ok(file.map(|file| Box::new(CancellableReader { file, stop }) as Box<dyn Read + 'a>))
    }

    fn file_size_hint(&mut self, name: &str) -> Option<u64> {
        self.files.file_size_hint(name)
    }

    fn take_problems(&mut self) -> Problems {
        self.files.take_problems()
    }
}

struct CancellableReader<'a> {
    file: Box<dyn Read + 'a>,
    stop: &'a CancelToken,
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(cancelled_error());
        }
        self.file.read(buffer)
    }
}

/// Returns the error that ends reading and writing after a cancellation. No user sees it.
pub(super) fn cancelled_error() -> io::Error {
    io::Error::other("the check was cancelled")
}
