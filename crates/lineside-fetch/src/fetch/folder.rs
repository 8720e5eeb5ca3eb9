//! Fetching a folder with the files of a schedule (GTFS text files or NeTEx XML files), packed as a zip.

use std::{
    fs::{self, File},
    io::{self, Cursor, Read, Seek, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lineside_formats::{Format, gtfs::fields::find_file_spec, schedule_format_by_file};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    FetchOutcome, FetchedBody,
    file::{FileStamp, display_path, read_file_stamp, to_unix_millis},
    run_blocking,
};
use crate::fetch_failure::FetchError;

/// Maximum number of files in a GTFS folder; GTFS defines some 35.
const TABLES_MAX: usize = 500;
/// Maximum number of files in a NeTEx folder, where each line may have its own.
const XML_FILES_MAX: usize = 20_000;
/// Maximum depth of a NeTEx folder: producers sort their files by operator or kind.
const XML_DEPTH_MAX: usize = 4;

/// Zips a folder again when one of its files has changed.
#[derive(Debug)]
pub(crate) struct FolderFetcher {
    path: PathBuf,
    pub(super) max: u64,
    seen: Option<Vec<(String, FileStamp)>>,
}

impl FolderFetcher {
    pub(super) fn new(path: PathBuf, max: u64) -> FolderFetcher {
        FolderFetcher { path, max, seen: None }
    }

    pub(super) fn forget_fetched_version(&mut self) {
        self.seen = None;
    }

    pub(super) async fn fetch_folder(&mut self) -> Result<FetchOutcome, FetchError> {
        let (path, max, seen) = (self.path.clone(), self.max, self.seen.clone());
        let (fetched, listing) = run_blocking(move || {
            let listing = list_schedule_files(&path)?;
            if seen.as_ref() == Some(&listing) {
                return Ok((FetchOutcome::NotModified, listing));
            }
            let newest: Option<SystemTime> =
                listing.iter().filter_map(|(_, (_, time))| *time).max();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("schedule");
            let mut zip = Cursor::new(Vec::new());
            zip_files(&path, &listing, max, &mut zip)?;
            let body = FetchedBody {
                bytes: zip.into_inner().into(),
                content_type: Some("application/zip".to_owned()),
                last_modified: newest.and_then(to_unix_millis),
                file_name: Some(format!("{name}.zip")),
                status: None,
            };
            Ok((FetchOutcome::Body(body), listing))
        })
        .await?;
        self.seen = Some(listing);
        Ok(fetched)
    }
}

/// Packs the schedule in a folder as a zip: its GTFS tables, or else the XML files in it and in its subfolders. `max`
/// limits the bytes of all files.
///
/// # Errors
/// Returns an error if a file cannot be read, the files exceed `max`, or the zip cannot be written.
pub fn zip_schedule_folder(
    folder: &Path,
    max: u64,
    into: &mut (impl Write + Seek),
) -> io::Result<()> {
    let packed = list_schedule_files(folder).and_then(|files| zip_files(folder, &files, max, into));
    packed.map_err(|failure| io::Error::other(failure.detail))
}

/// Detects the format from the file names; a folder with neither counts as GTFS, whose reader reports the missing
/// files.
pub(super) fn detect_folder_format(folder: &Path) -> Option<Format> {
    let files = list_schedule_files(folder).ok()?;
    Some(schedule_format_by_file(files.first().map_or("", |(name, _)| name)))
}

/// Lists the schedule's files by name. A folder with GTFS tables is GTFS, even if it also contains XML files.
fn list_schedule_files(folder: &Path) -> Result<Vec<(String, FileStamp)>, FetchError> {
    let mut files = Vec::new();
    // Names are case-insensitive, as in a zip.
    let is_gtfs_name = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.ends_with(".txt") || name.ends_with(".geojson")
    };
    list_files_recursively(folder, "", 1, &is_gtfs_name, TABLES_MAX, &mut files)?;
    if !files.iter().any(|(name, _)| find_file_spec(&name.to_ascii_lowercase()).is_some()) {
        let mut xml = Vec::new();
        list_files_recursively(folder, "", XML_DEPTH_MAX, &is_xml_file, XML_FILES_MAX, &mut xml)?;
        if !xml.is_empty() {
            files = xml;
        }
    }
    files.sort();
    Ok(files)
}

fn is_xml_file(name: &str) -> bool {
    name.len() >= 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".xml")
}

/// Lists files by their paths relative to `top`, up to `depth` levels deep. Symbolic links to folders are skipped,
/// since they may form a cycle.
fn list_files_recursively(
    top: &Path,
    inside: &str,
    depth: usize,
    accepts_name: &dyn Fn(&str) -> bool,
    files_max: usize,
    files: &mut Vec<(String, FileStamp)>,
) -> Result<(), FetchError> {
    let folder = top.join(inside);
    let fail = |error: io::Error| FetchError::from_io(&display_path(&folder), &error);
    for entry in fs::read_dir(&folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let name = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
        let path = entry.path();
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list_files_recursively(top, &name, depth - 1, accepts_name, files_max, files)?;
        } else if accepts_name(&name) && path.is_file() && files.len() < files_max {
            files.push((name, read_file_stamp(&path)?));
        }
    }
    Ok(())
}

/// Packs files deterministically, so that an unchanged folder has the same hash.
fn zip_files(
    folder: &Path,
    files: &[(String, FileStamp)],
    max: u64,
    into: &mut (impl Write + Seek),
) -> Result<(), FetchError> {
    let mut zip = ZipWriter::new(into);
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    let mut left = max;
    for (name, (bytes, _)) in files {
        let options = options.large_file(*bytes >= u64::from(u32::MAX));
        let path = folder.join(name);
        let fail = |error: io::Error| FetchError::from_io(&display_path(&path), &error);
        zip.start_file(name.as_str(), options).map_err(|error| fail(error.into()))?;
        let mut file = File::open(&path).map_err(fail)?;
        let mut buffer = [0; 64 * 1024];
        loop {
            let n = file.read(&mut buffer).map_err(fail)?;
            if n == 0 {
                break;
            }
            left = left.checked_sub(n as u64).ok_or_else(|| FetchError::body_too_large(max))?;
            zip.write_all(&buffer[..n]).map_err(fail)?;
        }
    }
    zip.finish().map_err(|error| FetchError::from_io(&display_path(folder), &error.into()))?;
    Ok(())
}
