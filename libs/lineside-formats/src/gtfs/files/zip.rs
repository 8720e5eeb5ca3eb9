//! Reads a dataset from an untrusted zip. Sizes in the directory are not trusted, entries may not overlap, and data
//! that inflate beyond the limits are refused while they stream.

use std::{
    collections::BTreeMap,
    fmt,
    io::{Read, Seek},
};

use zip::{ZipArchive, result::ZipError};

use super::{FileSet, SizeLimitedReader, too_large_error};
use crate::{
    Error, ErrorKind, Problem, Problems,
    body_prefix::{looks_like_gzip, looks_like_html},
    gtfs::{DatasetLimits, fields},
};

/// Number of bytes that are read to describe a body that is not a zip.
const PREFIX_BYTES: u64 = 1_024;

/// The files of a zip archive.
///
/// The tables are at the top level or, with a problem, in one sub-directory. Files that macOS adds (`__MACOSX`, `._…`,
/// `.DS_Store`) are ignored.
pub struct ZipFiles<R> {
    archive: ZipArchive<R>,
    /// Indexes of the archive's entries by name.
    entries: BTreeMap<String, usize>,
    limits: DatasetLimits,
    total_left: u64,
    problems: Problems,
}

impl<R> fmt::Debug for ZipFiles<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipFiles").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl<R: Read + Seek> ZipFiles<R> {
    /// Reads the archive's directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a zip, if its entries overlap or exceed a limit, or if it is not clear
    /// which tables to read: there are none, or several datasets in sub-directories.
    pub fn new(reader: R, limits: &DatasetLimits) -> Result<ZipFiles<R>, Error> {
        ZipFiles::open_with_selection(reader, limits, find_gtfs_table_files)
    }

    /// Reads the directory of an archive, of which all files at the top level are used. If several have the same name,
    /// the first is used.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a zip, or if its entries overlap or exceed a limit.
    pub fn open_top_level_files(reader: R, limits: &DatasetLimits) -> Result<ZipFiles<R>, Error> {
        let mut files = ZipFiles::open_with_selection(reader, limits, |_, _| Ok(BTreeMap::new()))?;
        for entry in 0..files.archive.len() {
            if let Some(Ok(name)) = files.archive.name_for_index(entry) {
                let path = normalize_path_separators(&name);
                if !path.contains('/') {
                    files.entries.entry(path).or_insert(entry);
                }
            }
        }
        Ok(files)
    }

    /// Returns the paths of all files of an archive, with `/` between the segments, and their sizes in bytes as its
    /// directory states them. Directories are omitted.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a zip, or if its entries overlap or exceed a limit.
    pub fn list_file_paths_and_sizes(
        reader: R,
        limits: &DatasetLimits,
    ) -> Result<Vec<(String, u64)>, Error> {
        let mut files = ZipFiles::open_with_selection(reader, limits, |_, _| Ok(BTreeMap::new()))?;
        let mut paths = Vec::new();
        for entry in 0..files.archive.len() {
            let file = files.archive.by_index_raw(entry).map_err(|error| error_from_zip(&error))?;
            if !file.is_dir() {
                let name = file.name().map_err(|error| error_from_zip(&error))?;
                paths.push((normalize_path_separators(&name), file.size()));
            }
        }
        Ok(paths)
    }

    /// Reads the directory of an archive of XML files, which are named by their paths.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a zip, if its entries overlap or exceed a limit, or if none of them is
    /// XML.
    #[cfg(feature = "netex")]
    pub fn open_xml_archive(reader: R, limits: &DatasetLimits) -> Result<ZipFiles<R>, Error> {
        ZipFiles::open_with_selection(reader, limits, |paths, _| select_xml_files(paths))
    }

    /// Reads the archive's directory; `choose` selects and names the files.
    fn open_with_selection(
        mut reader: R,
        limits: &DatasetLimits,
        choose: impl FnOnce(&[(String, usize)], &mut Problems) -> Result<BTreeMap<String, usize>, Error>,
    ) -> Result<ZipFiles<R>, Error> {
        let is_begun = reject_empty_or_html_body(&mut reader)?;
        let mut archive =
            ZipArchive::new(reader).map_err(|error| match error_from_zip(&error) {
                // The directory is at the end, so an archive without one was truncated.
                refused if is_begun && refused.kind() == ErrorKind::NotAZip => Error::new(
                    ErrorKind::Truncated,
                    "the zip archive is truncated: the directory at its end is missing",
                ),
                refused if refused.kind() == ErrorKind::NotAZip => {
                    Error::new(ErrorKind::NotAZip, "the bytes are not a zip archive")
                }
                refused => refused,
            })?;
        if archive.len() > limits.entries {
            let detail = format!(
                "the archive has {} entries; the limit is {}",
                archive.len(),
                limits.entries
            );
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        if archive.has_overlapping_files().map_err(|error| error_from_zip(&error))? {
            return Err(Error::new(ErrorKind::Bomb, "entries of the archive share the same bytes"));
        }
        let mut problems = Problems::new();
        if archive.has_duplicate_names() {
            problems.push(Problem::new(
                "archive",
                "duplicate_file",
                "the archive has several entries with the same name",
            ));
        }
        let entries = choose(&list_files_without_macos_extras(&archive), &mut problems)?;
        Ok(ZipFiles {
            archive,
            entries,
            limits: limits.clone(),
            total_left: limits.total_bytes,
            problems,
        })
    }
}

/// Refuses empty bodies and web pages with an error of their own; the zip reader refuses all else. Returns true if the
/// bytes begin like a zip.
fn reject_empty_or_html_body(reader: &mut (impl Read + Seek)) -> Result<bool, Error> {
    let mut start = Vec::new();
    reader.rewind().map_err(Error::from_io)?;
    reader.by_ref().take(PREFIX_BYTES).read_to_end(&mut start).map_err(Error::from_io)?;
    reader.rewind().map_err(Error::from_io)?;
    if start.is_empty() {
        return Err(Error::new(ErrorKind::Empty, "the body is empty"));
    }
    if looks_like_html(&start) {
        return Err(Error::new(ErrorKind::Html, "expected a zip archive, but got a web page"));
    }
    if looks_like_gzip(&start) {
        let detail = "expected a zip archive, but the bytes are compressed with gzip";
        return Err(Error::new(ErrorKind::NotAZip, detail));
    }
    Ok(start.starts_with(b"PK\x03\x04"))
}

/// Returns an entry's path with `/` between the segments, because some programs write `\`.
fn normalize_path_separators(name: &str) -> String {
    name.replace('\\', "/")
}

/// Returns the archive's files by path, without those that macOS adds.
fn list_files_without_macos_extras<R: Read + Seek>(
    archive: &ZipArchive<R>,
) -> Vec<(String, usize)> {
    let mut paths = Vec::new();
    for entry in 0..archive.len() {
        let Some(Ok(name)) = archive.name_for_index(entry) else { continue };
        let path = normalize_path_separators(&name);
        let name = path.rsplit('/').next().unwrap_or_default();
        let junk = name.starts_with('.') || path.split('/').any(|segment| segment == "__MACOSX");
        if !junk && !path.ends_with('/') {
            paths.push((path, entry));
        }
    }
    paths
}

/// Finds the directory that holds the tables, and returns its files.
fn find_gtfs_table_files(
    paths: &[(String, usize)],
    problems: &mut Problems,
) -> Result<BTreeMap<String, usize>, Error> {
    let mut directories: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for (path, entry) in paths {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        directories.entry(directory).or_default().insert(name.to_owned(), *entry);
    }
    let is_table = |name: &str| fields::find_file_spec(name).is_some();
    if directories.values().any(|files| files.keys().any(|name| is_table(name))) {
        directories.retain(|_, files| files.keys().any(|name| is_table(name)));
    } else {
        // Names of tables are case-insensitive.
        let is_any = |name: &String| is_table(&name.to_ascii_lowercase());
        directories.retain(|_, files| files.keys().any(is_any));
    }
    if let Some(top) = directories.remove("") {
        return Ok(lowercase_table_names(top));
    }
    let nested: Vec<&str> = directories.keys().copied().collect();
    match directories.pop_first() {
        Some((directory, files)) if directories.is_empty() => {
            let detail = format!(
                "the tables are in the subdirectory {directory:?} instead of at the top level"
            );
            problems.push(Problem::new("archive", "invalid_input_files_in_subfolder", detail));
            Ok(lowercase_table_names(files))
        }
        Some(_) => {
            let detail = format!(
                "the archive contains several datasets in subdirectories: {}",
                join_first_file_names(&nested)
            );
            Err(Error::new(ErrorKind::MissingFile, detail))
        }
        None => Err(no_tables_error(paths)),
    }
}

/// Converts names of tables to the reference's case. An exact match in the archive takes precedence.
fn lowercase_table_names(files: BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (name, entry) in files {
        let small = name.to_ascii_lowercase();
        let is_named = fields::find_file_spec(&small).is_some() || small == fields::LOCATIONS;
        if is_named && small != name {
            named.entry(small).or_insert(entry);
        } else {
            named.insert(name, entry);
        }
    }
    named
}

#[cfg(feature = "netex")]
fn select_xml_files(paths: &[(String, usize)]) -> Result<BTreeMap<String, usize>, Error> {
    let is_xml = |path: &str| path.to_ascii_lowercase().ends_with(".xml");
    let files: BTreeMap<String, usize> =
        paths.iter().filter(|(path, _)| is_xml(path)).cloned().collect();
    if !files.is_empty() {
        return Ok(files);
    }
    let names: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    let detail = match names.as_slice() {
        [] => "the archive contains no files".to_owned(),
        names => format!("the archive contains no XML file, only {}", join_first_file_names(names)),
    };
    Err(Error::new(ErrorKind::MissingFile, detail))
}

fn no_tables_error(paths: &[(String, usize)]) -> Error {
    let names: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    if names.is_empty() {
        return Error::new(ErrorKind::Empty, "the archive contains no files");
    }
    match names.iter().find(|name| name.to_ascii_lowercase().ends_with(".zip")) {
        Some(inner) => Error::new(
            ErrorKind::MissingFile,
            format!("the archive contains another archive ({inner}) instead of tables"),
        ),
        None => Error::new(
            ErrorKind::MissingFile,
            format!("the archive contains no GTFS table, only {}", join_first_file_names(&names)),
        ),
    }
}

/// Joins the first few names for a message.
fn join_first_file_names(names: &[&str]) -> String {
    const NAMES_LISTED_MAX: usize = 5;
    let shown: Vec<String> =
        names.iter().take(NAMES_LISTED_MAX).map(|name| name.chars().take(60).collect()).collect();
    let more = if names.len() > NAMES_LISTED_MAX { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

impl<R: Read + Seek> FileSet for ZipFiles<R> {
    fn file_names(&mut self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
        let Some(&entry) = self.entries.get(name) else { return Ok(None) };
        let file =
            self.archive.by_index(entry).map_err(|error| error_from_zip(&error).with_file(name))?;
        let by_ratio = file
            .compressed_size()
            .saturating_mul(self.limits.ratio)
            .max(DatasetLimits::RATIO_FREE_BYTES);
        let by_size = self.limits.entry_bytes.min(self.total_left);
        let (bytes, why): (u64, fn() -> Error) = if by_ratio < by_size {
            (by_ratio, zip_bomb_error)
        } else {
            (by_size, too_large_error)
        };
        // A file that declares too large a size is refused before it is inflated.
        if file.size() > bytes {
            return Err(why().with_file(name));
        }
        Ok(Some(Box::new(ArchiveLimitReader {
            reader: SizeLimitedReader::new(file, bytes, why),
            total_left: &mut self.total_left,
        })))
    }

    /// Returns at most the number of bytes that may be read, whatever the directory states.
    fn file_size_hint(&mut self, name: &str) -> Option<u64> {
        let file = self.archive.by_index_raw(*self.entries.get(name)?).ok()?;
        let (size, packed) = (file.size(), file.compressed_size());
        let by_ratio =
            packed.saturating_mul(self.limits.ratio).max(DatasetLimits::RATIO_FREE_BYTES);
        Some(size.min(by_ratio).min(self.limits.entry_bytes).min(self.total_left))
    }

    fn take_problems(&mut self) -> Problems {
        std::mem::take(&mut self.problems)
    }
}

/// A reader that subtracts the bytes read from the archive's total.
struct ArchiveLimitReader<'a, R> {
    reader: SizeLimitedReader<R>,
    total_left: &'a mut u64,
}

impl<R: Read> Read for ArchiveLimitReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let before = self.reader.bytes_left();
        let read = self.reader.read(buffer);
        *self.total_left = self.total_left.saturating_sub(before - self.reader.bytes_left());
        read
    }
}

fn zip_bomb_error() -> Error {
    Error::new(ErrorKind::Bomb, "its decompressed size far exceeds its compressed size")
}

fn error_from_zip(error: &ZipError) -> Error {
    let kind = match error {
        ZipError::Io(source) => match source.kind() {
            std::io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                ErrorKind::NotAZip
            }
            _ => ErrorKind::Io,
        },
        ZipError::InvalidArchive(_) => ErrorKind::NotAZip,
        _ => ErrorKind::Decode,
    };
    let detail = match kind {
        _ if matches!(error, ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
            "the zip archive is encrypted; create it without a password".to_owned()
        }
        ErrorKind::NotAZip => format!("the zip archive is damaged: {error}"),
        _ => format!("the zip archive cannot be read: {error}"),
    };
    Error::new(kind, detail)
}
