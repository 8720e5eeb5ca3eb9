//! A folder with the text files of a GTFS dataset, read as the zip that it would be.

use std::{
    fs::{self, File},
    io::{self, Cursor, Read, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    Body, Failure, Fetched, blocking,
    file::{Stamp, shown, stamp, unix_millis},
};

/// Files of a dataset folder that are looked at; GTFS names some 35.
const FILES_MAX: usize = 500;

/// Zips a folder again when one of its files changed.
#[derive(Debug)]
pub(crate) struct FolderFetcher {
    path: PathBuf,
    pub(super) max: u64,
    seen: Option<Vec<(String, Stamp)>>,
}

impl FolderFetcher {
    pub(super) fn new(path: PathBuf, max: u64) -> FolderFetcher {
        FolderFetcher { path, max, seen: None }
    }

    pub(super) fn forget(&mut self) {
        self.seen = None;
    }

    pub(super) async fn fetch(&mut self) -> Result<Fetched, Failure> {
        let (path, max, seen) = (self.path.clone(), self.max, self.seen.clone());
        let (fetched, listing) = blocking(move || {
            let listing = list(&path)?;
            if seen.as_ref() == Some(&listing) {
                return Ok((Fetched::NotModified, listing));
            }
            let newest: Option<SystemTime> =
                listing.iter().filter_map(|(_, (_, time))| *time).max();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("gtfs");
            let body = Body {
                bytes: pack(&path, &listing, max)?.into(),
                content_type: Some("application/zip".to_owned()),
                last_modified: newest.and_then(unix_millis),
                file_name: Some(format!("{name}.zip")),
                status: None,
            };
            Ok((Fetched::Body(body), listing))
        })
        .await?;
        self.seen = Some(listing);
        Ok(fetched)
    }
}

/// The dataset's files, by name.
fn list(folder: &Path) -> Result<Vec<(String, Stamp)>, Failure> {
    let fail = |error: io::Error| Failure::io(&shown(folder), &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let wanted = name.ends_with(".txt") || name.ends_with(".geojson");
        if wanted && path.is_file() && files.len() < FILES_MAX {
            files.push((name.to_owned(), stamp(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

/// The same files always give the same bytes, so that an unchanged folder keeps its hash.
fn pack(folder: &Path, files: &[(String, Stamp)], max: u64) -> Result<Vec<u8>, Failure> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    let mut left = max;
    for (name, _) in files {
        let path = folder.join(name);
        let fail = |error: io::Error| Failure::io(&shown(&path), &error);
        zip.start_file(name.as_str(), options).map_err(|error| fail(error.into()))?;
        let mut file = File::open(&path).map_err(fail)?;
        let mut buffer = [0; 64 * 1024];
        loop {
            let n = file.read(&mut buffer).map_err(fail)?;
            if n == 0 {
                break;
            }
            left = left.checked_sub(n as u64).ok_or_else(|| Failure::too_large(max))?;
            zip.write_all(&buffer[..n]).map_err(fail)?;
        }
    }
    let zip = zip.finish().map_err(|error| Failure::io(&shown(folder), &error.into()))?;
    Ok(zip.into_inner())
}
