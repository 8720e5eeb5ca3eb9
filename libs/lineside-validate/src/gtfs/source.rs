//! Sources of a schedule's files: a zip, or texts in memory. Several files may be read at a time.

use std::{
    collections::BTreeMap,
    io::{Cursor, Read},
};

use lineside_formats::{
    Error,
    gtfs::{DatasetLimits, FileSet, ZipFiles, fields::find_file_spec},
};

use super::files::GtfsFile;
use crate::cancel::{CancelToken, CancellableReader};

/// The files of one schedule. Several threads may read different files.
pub trait ScheduleFileSource: Sync {
    /// Returns the names of the files, with their sizes in bytes; 0 if unknown.
    fn list_files(&self) -> Vec<(String, u64)>;

    /// Returns true if a GTFS file is in a subfolder, where it is ignored.
    fn has_gtfs_files_in_subfolder(&self) -> bool;

    /// Reads a file: calls `read` with its bytes, or with `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened.
    fn read_file_with(
        &self,
        name: &str,
        read: &mut dyn FnMut(Option<&mut dyn Read>),
    ) -> Result<(), Error>;
}

/// A source whose reads fail once cancelled.
#[derive(Clone, Copy)]
pub struct CancellableFileSource<'a> {
    source: &'a dyn ScheduleFileSource,
    cancel: &'a CancelToken,
}

impl<'a> CancellableFileSource<'a> {
    /// Wraps a source with a token.
    pub fn new(
        source: &'a dyn ScheduleFileSource,
        cancel: &'a CancelToken,
    ) -> CancellableFileSource<'a> {
        CancellableFileSource { source, cancel }
    }
}

impl std::fmt::Debug for CancellableFileSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancellableSource").field("stop", self.cancel).finish_non_exhaustive()
    }
}

impl ScheduleFileSource for CancellableFileSource<'_> {
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
        let stop = self.cancel;
        self.source.read_file_with(name, &mut |file| match file {
            Some(file) => read(Some(&mut CancellableReader { file, cancel: stop })),
            None => read(None),
        })
    }
}

/// A zip archive in memory or memory-mapped.
#[derive(Clone, Debug)]
pub struct ZipFileSource<'a> {
    bytes: &'a [u8],
    limits: DatasetLimits,
    files: Vec<(String, u64)>,
    has_nested: bool,
    is_in_a_folder: bool,
}

impl<'a> ZipFileSource<'a> {
    /// Reads the archive's directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a zip archive, or if its entries overlap or are too many.
    pub fn new(bytes: &'a [u8], limits: &DatasetLimits) -> Result<ZipFileSource<'a>, Error> {
        let (mut files, mut has_nested) = (Vec::new(), false);
        for (path, size) in ZipFiles::list_file_paths_and_sizes(Cursor::new(bytes), limits)? {
            match path.rsplit_once('/') {
                Some((_, name)) => {
                    has_nested |=
                        GtfsFile::from_name(name).is_some_and(|file| file.file_name() == name);
                }
                None if path != ".DS_Store" => files.push((path, size)),
                None => {}
            }
        }
        let limits = limits.clone();
        Ok(ZipFileSource { bytes, limits, files, has_nested, is_in_a_folder: false })
    }

    /// Reads the directory of an archive whose tables may all be in a folder, as readers for rider apps accept. The
    /// reference's rules ignore such tables.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a zip archive, if its entries overlap or are too many, or if it does not
    /// contain the tables of exactly one schedule.
    pub fn open_with_any_folder(
        bytes: &'a [u8],
        limits: &DatasetLimits,
    ) -> Result<ZipFileSource<'a>, Error> {
        let top = ZipFileSource::new(bytes, limits)?;
        let has = |is_table: fn(&str) -> bool| top.files.iter().any(|(name, _)| is_table(name));
        if has(|name| find_file_spec(name).is_some()) {
            return Ok(top);
        }
        let mut chosen = match ZipFiles::new(Cursor::new(bytes), limits) {
            Ok(chosen) => chosen,
            Err(_) if has(|name| GtfsFile::from_name(name).is_some()) => return Ok(top),
            Err(refused) => return Err(refused),
        };
        let mut files = Vec::new();
        for name in chosen.file_names() {
            if GtfsFile::from_name(&name).is_some() {
                let size = chosen.file_size_hint(&name).unwrap_or(0);
                files.push((name, size));
            }
        }
        Ok(ZipFileSource { files, has_nested: false, is_in_a_folder: true, ..top })
    }

    /// Returns true if the tables are in a folder.
    pub fn are_tables_in_folder(&self) -> bool {
        self.is_in_a_folder
    }
}

impl ScheduleFileSource for ZipFileSource<'_> {
    fn list_files(&self) -> Vec<(String, u64)> {
        self.files.clone()
    }

    fn has_gtfs_files_in_subfolder(&self) -> bool {
        self.has_nested
    }

    fn read_file_with(
        &self,
        name: &str,
        read: &mut dyn FnMut(Option<&mut dyn Read>),
    ) -> Result<(), Error> {
        let archive = Cursor::new(self.bytes);
        let mut files = match self.is_in_a_folder {
            true => ZipFiles::new(archive, &self.limits)?,
            false => ZipFiles::open_top_level_files(archive, &self.limits)?,
        };
        match files.open_file(name)? {
            Some(mut reader) => read(Some(&mut reader)),
            None => read(None),
        }
        Ok(())
    }
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct InMemoryFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl InMemoryFiles {
    /// Adds a file, or replaces the file of that name.
    #[must_use]
    pub fn with_file(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> InMemoryFiles {
        self.files.insert(name.to_owned(), bytes.into());
        self
    }

    /// Removes a file.
    #[must_use]
    pub fn without_file(mut self, name: &str) -> InMemoryFiles {
        self.files.remove(name);
        self
    }
}

impl ScheduleFileSource for InMemoryFiles {
    fn list_files(&self) -> Vec<(String, u64)> {
        self.files.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect()
    }

    fn has_gtfs_files_in_subfolder(&self) -> bool {
        false
    }

    fn read_file_with(
        &self,
        name: &str,
        read: &mut dyn FnMut(Option<&mut dyn Read>),
    ) -> Result<(), Error> {
        match self.files.get(name) {
            Some(bytes) => read(Some(&mut bytes.as_slice())),
            None => read(None),
        }
        Ok(())
    }
}
