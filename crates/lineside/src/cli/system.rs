//! The files of a GBFS system, which its discovery file lists.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use bytes::Bytes;
use lineside_formats::{Format, gbfs, sniff};
use lineside_ingest::Location;
use lineside_validate::rules::gbfs::is_file;
use url::Url;

use super::{
    Failure,
    input::{Reach, fetch},
};
use crate::convert::{DISCOVERY, Named, REALTIME_BYTES_MAX};

/// Largest file.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most files.
const FILES_MAX: usize = 200;

/// The files of a system, without the discovery file.
#[derive(Debug)]
pub(super) struct System {
    /// The first language, as the discovery file has it.
    pub(super) language: Option<String>,
    /// The files in it with their names, which have no `.json`.
    pub(super) files: Vec<Named>,
    /// Those of each further language.
    pub(super) others: Vec<(String, Vec<Named>)>,
    /// Those of a further language have it before their names.
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
pub(super) async fn read(
    input: &str,
    body: &Bytes,
    reach: Reach,
) -> Result<Option<System>, Failure> {
    if sniff(body) != Some(Format::Raw) {
        return Ok(None);
    }
    let Ok((discovery, _)) = gbfs::decode(body, &gbfs::Limits::default()) else { return Ok(None) };
    let mut taking = Taking {
        input,
        reach,
        left: REALTIME_BYTES_MAX.saturating_sub(body.len() as u64),
        n_files: 0,
        fetched: HashMap::new(),
        unread: Vec::new(),
    };
    let own = |language: Option<&str>| {
        let entries = discovery.entries.iter();
        let entries = entries.filter(move |entry| entry.language.as_deref() == language);
        entries.filter(|entry| &*entry.name != DISCOVERY).collect::<Vec<_>>()
    };
    let languages = discovery.languages();
    let language = languages.first().copied();
    let files = taking.files(&own(language), None).await;
    let mut others = Vec::new();
    for other in languages.into_iter().skip(1) {
        others.push((other.to_owned(), taking.files(&own(Some(other)), Some(other)).await));
    }
    let language = language.map(str::to_owned);
    Ok(Some(System { language, files, others, unread: taking.unread }))
}

/// Files of a system as they are brought together, within bounds for all of them.
struct Taking<'a> {
    input: &'a str,
    reach: Reach,
    left: u64,
    n_files: usize,
    /// What came from an address that another language lists, too.
    fetched: HashMap<Url, Bytes>,
    unread: Vec<Unread>,
}

impl Taking<'_> {
    /// Those of one language; `other` says which, unless it is the first. Beside a discovery file lie those of the first.
    async fn files(&mut self, entries: &[&gbfs::Entry], other: Option<&str>) -> Vec<Named> {
        let mut files = Vec::new();
        for entry in entries {
            match self.file(entry, other.is_none()).await {
                Ok(body) => files.push((entry.name.to_string(), body)),
                Err((why, reason)) => {
                    let language = other.map(|other| format!("{other}/")).unwrap_or_default();
                    let name = format!("{language}{}", entry.name);
                    self.unread.push(Unread { name, why, reason });
                }
            }
        }
        files
    }

    async fn file(
        &mut self,
        entry: &gbfs::Entry,
        is_first: bool,
    ) -> Result<Bytes, (&'static str, Option<String>)> {
        let location = place_of(self.input, entry, is_first).map_err(|why| (why, None))?;
        let address = if let Location::Http(url) = &location { Some(url.clone()) } else { None };
        if let Some(body) = address.as_ref().and_then(|address| self.fetched.get(address)) {
            return Ok(body.clone());
        }
        if self.n_files >= FILES_MAX {
            return Err(("there are more files than are read", None));
        }
        let reach = if is_elsewhere(self.input, &location) { Reach::Public } else { self.reach };
        let body = fetch(location, self.left.min(FILE_BYTES_MAX), reach).await;
        let body = body.map_err(|reason| ("it cannot be read where it is listed", Some(reason)))?;
        self.left = self.left.saturating_sub(body.len() as u64);
        self.n_files += 1;
        self.fetched.extend(address.map(|address| (address, body.clone())));
        Ok(body)
    }
}

/// The files of a system that lie in a folder, by their names; none if it holds no system.
pub(super) async fn of_folder(folder: PathBuf) -> Result<Vec<Named>, Failure> {
    let mut files = Vec::new();
    let mut left = REALTIME_BYTES_MAX;
    for path in json_files(&folder).unwrap_or_default() {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if !is_file(name) {
            continue;
        }
        let name = name.to_owned();
        let unfinished = |reason| Failure::Unfinished(format!("{}: {reason}", path.display()));
        let read =
            fetch(Location::File(path.clone()), left.min(FILE_BYTES_MAX), Reach::Anywhere).await;
        let body = read.map_err(unfinished)?;
        left = left.saturating_sub(body.len() as u64);
        files.push((name, body));
    }
    Ok(files)
}

/// The files that the discovery file of a folder lists and that are not in the folder.
pub(super) fn not_in_folder(files: &[Named]) -> Vec<(String, String)> {
    let discovery = files.iter().find(|(name, _)| name == DISCOVERY);
    let decoded = discovery.and_then(|(_, body)| gbfs::decode(body, &gbfs::Limits::default()).ok());
    let entries = decoded.map(|(discovery, _)| discovery.entries).unwrap_or_default();
    let is_there = |name: &str| files.iter().any(|(other, _)| other == name);
    let listed: BTreeSet<&str> = entries.iter().map(|entry| &*entry.name).collect();
    let missing = listed.into_iter().filter(|name| is_file(name) && !is_there(name));
    let languages: BTreeSet<&str> =
        entries.iter().filter_map(|entry| entry.language.as_deref()).collect();
    let reason = if languages.len() > 1 {
        "it is not in the folder, of which one language is looked at: name its gbfs.json for all"
    } else {
        "it is not in the folder"
    };
    missing.map(|name| (name.to_owned(), reason.to_owned())).collect()
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

/// Where a listed file is: beside the discovery file, in a folder of its language where that is not the first, else where
/// the discovery file says.
fn place_of(input: &str, entry: &gbfs::Entry, is_first: bool) -> Result<Location, &'static str> {
    // The name comes from the file's writer: it is no path.
    let is_plain =
        |name: &str| name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'));
    let language = entry.language.as_deref().filter(|_| !is_first).unwrap_or_default();
    let beside = folder_of(input).filter(|_| is_plain(&entry.name) && is_plain(language));
    let beside = beside.map(|folder| folder.join(language));
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

/// Whether an address names another host than the one that was asked for the discovery file: who wrote that says where we go.
fn is_elsewhere(input: &str, location: &Location) -> bool {
    match (Location::parse(input), location) {
        (Ok(Location::Http(asked)), Location::Http(listed)) => asked.host() != listed.host(),
        _ => false,
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
