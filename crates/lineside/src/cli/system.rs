//! The files of a GBFS system, which its discovery file lists.

use std::path::{Path, PathBuf};
use std::{fs, io};

use bytes::Bytes;
use lineside_formats::{Format, gbfs, sniff};
use lineside_ingest::Location;
use lineside_validate::rules::gbfs::is_file;
use url::Url;

use super::{Failure, input::fetch};
use crate::convert::{DISCOVERY, REALTIME_BYTES_MAX};

/// Largest file.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most files.
const FILES_MAX: usize = 200;

/// The files of a system in its first language, without the discovery file.
#[derive(Debug)]
pub(super) struct System {
    /// As the discovery file has it.
    pub(super) language: Option<String>,
    /// The files with their names, which have no `.json`.
    pub(super) files: Vec<(String, Bytes)>,
    pub(super) unread: Vec<Unread>,
}

/// A file that is listed and was not to be had.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) name: String,
    pub(super) why: &'static str,
    /// What came of the try, if there was one.
    pub(super) reason: Option<String>,
}

/// Reads the files one after the other, if the body is a discovery file: each lies beside it, or where it says.
pub(super) async fn read(input: &str, body: &Bytes) -> Result<Option<System>, Failure> {
    if sniff(body) != Some(Format::Raw) {
        return Ok(None);
    }
    let Ok((discovery, _)) = gbfs::decode(body, &gbfs::Limits::default()) else { return Ok(None) };
    let language = discovery.languages().first().copied();
    let mut system =
        System { language: language.map(str::to_owned), files: Vec::new(), unread: Vec::new() };
    let mut left = REALTIME_BYTES_MAX.saturating_sub(body.len() as u64);
    let entries = discovery.entries.iter().filter(|entry| entry.language.as_deref() == language);
    for entry in entries.filter(|entry| &*entry.name != DISCOVERY) {
        let name = entry.name.to_string();
        let location = match place_of(input, entry) {
            Ok(_) if system.files.len() >= FILES_MAX => Err("there are more files than are read"),
            found => found,
        };
        let (why, reason) = match location {
            Ok(location) => match fetch(location, left.min(FILE_BYTES_MAX)).await {
                Ok(body) => {
                    left = left.saturating_sub(body.len() as u64);
                    system.files.push((name, body));
                    continue;
                }
                Err(reason) => ("it cannot be read where it is listed", Some(reason)),
            },
            Err(why) => (why, None),
        };
        system.unread.push(Unread { name, why, reason });
    }
    Ok(Some(system))
}

/// The files of a system that lie in a folder, by their names; none if it holds no system.
pub(super) async fn of_folder(folder: PathBuf) -> Result<Vec<(String, Bytes)>, Failure> {
    let mut files = Vec::new();
    let mut left = REALTIME_BYTES_MAX;
    for path in json_files(&folder).unwrap_or_default() {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if !is_file(name) {
            continue;
        }
        let name = name.to_owned();
        let unfinished = |reason| Failure::Unfinished(format!("{}: {reason}", path.display()));
        let read = fetch(Location::File(path.clone()), left.min(FILE_BYTES_MAX)).await;
        let body = read.map_err(unfinished)?;
        left = left.saturating_sub(body.len() as u64);
        files.push((name, body));
    }
    Ok(files)
}

fn json_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The name of the file at the end of an address or a path, without what follows a dot.
pub(super) fn name_in(input: &str) -> Option<String> {
    let plain = input.split(['?', '#']).next()?;
    let last = plain.rsplit(['/', '\\']).next()?;
    last.split('.').next().map(str::to_owned)
}

/// Where a listed file is: beside the discovery file, else where that says.
fn place_of(input: &str, entry: &gbfs::Entry) -> Result<Location, &'static str> {
    // The name comes from the file's writer: it is no path.
    let is_plain = entry.name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let beside = folder_of(input).filter(|_| is_plain);
    let beside = beside.map(|folder| folder.join(format!("{}.json", entry.name)));
    if let Some(file) = beside.filter(|file| file.is_file()) {
        return Ok(Location::File(file));
    }
    let url = match Location::parse(input) {
        Ok(Location::Http(base)) if input != "-" => base.join(&entry.url),
        _ => Url::parse(&entry.url),
    };
    match url {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Location::Http(url)),
        _ => Err("it is not beside the discovery file, nor does that say where it is"),
    }
}

/// The folder of a file here; none for an address, and for what nobody knows where it comes from.
fn folder_of(input: &str) -> Option<PathBuf> {
    match Location::parse(input).ok()? {
        Location::File(file) if input != "-" => file.parent().map(PathBuf::from),
        Location::Folder(folder) => Some(folder),
        _ => None,
    }
}
