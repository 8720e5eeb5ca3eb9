//! A dataset in a zip, read as if a stranger had sent it: sizes in the directory are not believed,
//! entries may not overlap, and what inflates beyond the limits is refused while it streams.

use std::{
    collections::BTreeMap,
    fmt,
    io::{Read, Seek},
};

use zip::{ZipArchive, result::ZipError};

use super::{FileSet, LimitedReader, too_large_error};
use crate::{
    Error, ErrorKind, Problem, Problems,
    body_prefix::{looks_like_gzip, looks_like_html},
    gtfs::{DatasetLimits, fields},
};

/// How many bytes are looked at to say what a body is if it is no zip.
const LOOK_BYTES: u64 = 1_024;

/// The files of a zip archive.
///
/// The tables are found at the top or, with a problem, in one sub-directory. What macOS adds
/// (`__MACOSX`, `._…`, `.DS_Store`) is ignored.
pub struct ZipFiles<R> {
    archive: ZipArchive<R>,
    /// Name to entry of the archive.
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
    /// If the bytes are no zip, if its entries overlap or are too many or too large, or if it holds
    /// no table of GTFS that could be told from others: none, or several datasets in
    /// sub-directories.
    pub fn new(reader: R, limits: &DatasetLimits) -> Result<ZipFiles<R>, Error> {
        ZipFiles::open_with_selection(reader, limits, find_tables)
    }

    /// Reads the directory of an archive of which only the files at the top count, whatever they
    /// are. Of several of one name the first is read.
    ///
    /// # Errors
    ///
    /// If the bytes are no zip, or its entries overlap or are too many or too large.
    pub fn from_top_level(reader: R, limits: &DatasetLimits) -> Result<ZipFiles<R>, Error> {
        let mut files = ZipFiles::open_with_selection(reader, limits, |_, _| Ok(BTreeMap::new()))?;
        for entry in 0..files.archive.len() {
            if let Some(Ok(name)) = files.archive.name_for_index(entry) {
                let path = normalize_path(&name);
                if !path.contains('/') {
                    files.entries.entry(path).or_insert(entry);
                }
            }
        }
        Ok(files)
    }

    /// The paths of all files of an archive, with `/` between the segments, and their sizes in
    /// bytes, as its directory says; those of directories are left out.
    ///
    /// # Errors
    ///
    /// If the bytes are no zip, or its entries overlap or are too many or too large.
    pub fn list_paths(reader: R, limits: &DatasetLimits) -> Result<Vec<(String, u64)>, Error> {
        let mut files = ZipFiles::open_with_selection(reader, limits, |_, _| Ok(BTreeMap::new()))?;
        let mut paths = Vec::new();
        for entry in 0..files.archive.len() {
            let file = files.archive.by_index_raw(entry).map_err(|error| error_from_zip(&error))?;
            if !file.is_dir() {
                let name = file.name().map_err(|error| error_from_zip(&error))?;
                paths.push((normalize_path(&name), file.size()));
            }
        }
        Ok(paths)
    }

    /// Reads the directory of an archive of XML files, which go by their paths.
    ///
    /// # Errors
    ///
    /// If the bytes are no zip, if its entries overlap or are too many or too large, or if none of them is XML.
    #[cfg(feature = "netex")]
    pub fn from_xml_archive(reader: R, limits: &DatasetLimits) -> Result<ZipFiles<R>, Error> {
        ZipFiles::open_with_selection(reader, limits, |paths, _| find_xml_files(paths))
    }

    /// Reads the archive's directory; `choose` says which of the files count, and by which names.
    fn open_with_selection(
        mut reader: R,
        limits: &DatasetLimits,
        choose: impl FnOnce(&[(String, usize)], &mut Problems) -> Result<BTreeMap<String, usize>, Error>,
    ) -> Result<ZipFiles<R>, Error> {
        let is_begun = check_zip_start(&mut reader)?;
        let mut archive =
            ZipArchive::new(reader).map_err(|error| match error_from_zip(&error) {
                // The directory stands at the end: an archive without one was cut off.
                refused if is_begun && refused.kind() == ErrorKind::NotAZip => Error::new(
                    ErrorKind::Truncated,
                    "the zip archive breaks off: the list of its files, which ends it, is missing",
                ),
                refused if refused.kind() == ErrorKind::NotAZip => {
                    Error::new(ErrorKind::NotAZip, "these bytes are no zip archive")
                }
                refused => refused,
            })?;
        if archive.len() > limits.entries {
            let detail =
                format!("the archive has {} entries, more than {}", archive.len(), limits.entries);
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
                "the archive has several entries of one name",
            ));
        }
        let entries = choose(&list_entries(&archive), &mut problems)?;
        Ok(ZipFiles {
            archive,
            entries,
            limits: limits.clone(),
            total_left: limits.total_bytes,
            problems,
        })
    }
}

/// Empty bodies and web pages get their own words; everything else is left to the zip reader. Tells
/// whether the bytes begin as a zip does.
fn check_zip_start(reader: &mut (impl Read + Seek)) -> Result<bool, Error> {
    let mut start = Vec::new();
    reader.rewind().map_err(Error::from_io)?;
    reader.by_ref().take(LOOK_BYTES).read_to_end(&mut start).map_err(Error::from_io)?;
    reader.rewind().map_err(Error::from_io)?;
    if start.is_empty() {
        return Err(Error::new(ErrorKind::Empty, "there are no bytes"));
    }
    if looks_like_html(&start) {
        return Err(Error::new(ErrorKind::Html, "a web page came instead of a zip"));
    }
    if looks_like_gzip(&start) {
        let detail = "the bytes are compressed with gzip, not a zip archive";
        return Err(Error::new(ErrorKind::NotAZip, detail));
    }
    Ok(start.starts_with(b"PK\x03\x04"))
}

/// An entry's path with `/` between the segments: some programs write `\`.
fn normalize_path(name: &str) -> String {
    name.replace('\\', "/")
}

/// The archive's files by path, without what macOS adds.
fn list_entries<R: Read + Seek>(archive: &ZipArchive<R>) -> Vec<(String, usize)> {
    let mut paths = Vec::new();
    for entry in 0..archive.len() {
        let Some(Ok(name)) = archive.name_for_index(entry) else { continue };
        let path = normalize_path(&name);
        let name = path.rsplit('/').next().unwrap_or_default();
        let junk = name.starts_with('.') || path.split('/').any(|segment| segment == "__MACOSX");
        if !junk && !path.ends_with('/') {
            paths.push((path, entry));
        }
    }
    paths
}

/// Chooses the directory that holds the tables, and lists its files.
fn find_tables(
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
        // Whichever letters of their names are capitals.
        let is_any = |name: &String| is_table(&name.to_ascii_lowercase());
        directories.retain(|_, files| files.keys().any(is_any));
    }
    if let Some(top) = directories.remove("") {
        return Ok(lowercase_table_names(top));
    }
    let nested: Vec<&str> = directories.keys().copied().collect();
    match directories.pop_first() {
        Some((directory, files)) if directories.is_empty() => {
            let detail =
                format!("the tables are in the sub-directory {directory:?} instead of at the top");
            problems.push(Problem::new("archive", "invalid_input_files_in_subfolder", detail));
            Ok(lowercase_table_names(files))
        }
        Some(_) => {
            let detail = format!(
                "the archive holds several datasets in sub-directories: {}",
                join_first_names(&nested)
            );
            Err(Error::new(ErrorKind::MissingFile, detail))
        }
        None => Err(no_tables_error(paths)),
    }
}

/// Files with the names of tables as the reference writes them: one that is called so in the archive comes before others.
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
fn find_xml_files(paths: &[(String, usize)]) -> Result<BTreeMap<String, usize>, Error> {
    let is_xml = |path: &str| path.to_ascii_lowercase().ends_with(".xml");
    let files: BTreeMap<String, usize> =
        paths.iter().filter(|(path, _)| is_xml(path)).cloned().collect();
    if !files.is_empty() {
        return Ok(files);
    }
    let names: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    let detail = match names.as_slice() {
        [] => "the archive holds no files".to_owned(),
        names => format!("the archive holds no XML file, but {}", join_first_names(names)),
    };
    Err(Error::new(ErrorKind::MissingFile, detail))
}

fn no_tables_error(paths: &[(String, usize)]) -> Error {
    let names: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    if names.is_empty() {
        return Error::new(ErrorKind::Empty, "the archive holds no files");
    }
    match names.iter().find(|name| name.to_ascii_lowercase().ends_with(".zip")) {
        Some(inner) => Error::new(
            ErrorKind::MissingFile,
            format!("the archive holds another archive ({inner}) instead of tables"),
        ),
        None => Error::new(
            ErrorKind::MissingFile,
            format!("the archive holds no table of GTFS, but {}", join_first_names(&names)),
        ),
    }
}

/// The first few names, for a message.
fn join_first_names(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> =
        names.iter().take(SHOWN).map(|name| name.chars().take(60).collect()).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
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
        // What says so of itself is not inflated until it is found out.
        if file.size() > bytes {
            return Err(why().with_file(name));
        }
        Ok(Some(Box::new(CountingReader {
            reader: LimitedReader::new(file, bytes, why),
            total_left: &mut self.total_left,
        })))
    }

    /// No more than may be read of it, whatever the archive's list has.
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

/// Takes what was read off the archive's total.
struct CountingReader<'a, R> {
    reader: LimitedReader<R>,
    total_left: &'a mut u64,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let before = self.reader.bytes_left();
        let read = self.reader.read(buffer);
        *self.total_left = self.total_left.saturating_sub(before - self.reader.bytes_left());
        read
    }
}

fn zip_bomb_error() -> Error {
    Error::new(ErrorKind::Bomb, "inflates far beyond its compressed size")
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
            "the zip is encrypted, and nobody can read it without its password: pack it without one"
                .to_owned()
        }
        ErrorKind::NotAZip => format!("the zip archive is damaged: {error}"),
        _ => format!("the zip cannot be read: {error}"),
    };
    Error::new(kind, detail)
}
