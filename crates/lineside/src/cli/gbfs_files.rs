//! The files of a GBFS system, which its discovery file lists.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use bytes::Bytes;
use lineside_formats::{Format, gbfs, sniff_format};
use lineside_ingest::SourceLocation;
use lineside_validate::rules::gbfs::is_gbfs_file;
use url::Url;

use super::{
    CommandFailure,
    input::{AddressScope, fetch_input},
};
use crate::convert::{DISCOVERY, Named, REALTIME_BYTES_MAX};

/// Largest file.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most files.
const FILES_MAX: usize = 200;

/// The files of a system; of one that is [read_system] from its discovery file without that.
#[derive(Debug)]
pub(super) struct CollectedSystem {
    /// The first language, as the discovery file has it.
    pub(super) language: Option<String>,
    /// The files in it with their names, which have no `.json`.
    pub(super) files: Vec<Named>,
    /// Those of each further language.
    pub(super) others: Vec<OtherLanguage>,
    /// Those of a further language have it before their names.
    pub(super) unread: Vec<MissingFile>,
}

/// A further language of a system.
#[derive(Debug)]
pub(super) struct OtherLanguage {
    pub(super) language: String,
    pub(super) files: Vec<Named>,
    /// The names of those that came from where the first language's did.
    pub(super) shared: Vec<String>,
}

/// A file that is listed and was not to be had.
#[derive(Debug)]
pub(super) struct MissingFile {
    pub(super) name: String,
    pub(super) why: &'static str,
    /// What came of the try, if there was one.
    pub(super) reason: Option<String>,
}

/// Reads the files one after the other, if the body is a discovery file: each lies beside it, or where it says.
pub(super) async fn read_system(
    input: &str,
    body: &Bytes,
    reach: AddressScope,
) -> Result<Option<CollectedSystem>, CommandFailure> {
    if sniff_format(body) != Some(Format::Raw) {
        return Ok(None);
    }
    let Ok((discovery, _)) = gbfs::decode_discovery(body, &gbfs::DiscoveryLimits::default()) else {
        return Ok(None);
    };
    let taking = SystemCollector {
        input,
        reach: Some(reach),
        folder: parent_folder(input),
        beside: SiblingNames::from_discovery(&discovery),
        left: REALTIME_BYTES_MAX.saturating_sub(body.len() as u64),
        n_files: 0,
        taken: HashMap::new(),
        unread: Vec::new(),
    };
    Ok(Some(taking.collect_system(&discovery).await))
}

/// A system that lies in a folder, with its discovery file if there is one; without files if the folder holds none. Where
/// it lists files all languages are looked for in the folder, and nowhere else.
pub(super) async fn read_system_folder(folder: PathBuf) -> Result<CollectedSystem, CommandFailure> {
    let mut plain = Vec::new();
    let mut left = REALTIME_BYTES_MAX;
    for path in list_json_files(&folder).unwrap_or_default() {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if !is_gbfs_file(name) {
            continue;
        }
        let name = name.to_owned();
        let unfinished =
            |reason| CommandFailure::Unfinished(format!("{}: {reason}", path.display()));
        let read = fetch_input(
            SourceLocation::Path(path.clone()),
            left.min(FILE_BYTES_MAX),
            AddressScope::Anywhere,
        )
        .await;
        let body = read.map_err(unfinished)?;
        left = left.saturating_sub(body.len() as u64);
        plain.push((path, (name, body)));
    }
    let listing = plain.iter().find(|(_, (name, _))| name == DISCOVERY);
    let listing = listing
        .and_then(|(_, (_, body))| {
            gbfs::decode_discovery(body, &gbfs::DiscoveryLimits::default()).ok()
        })
        .map(|(discovery, _)| discovery);
    let Some(discovery) = listing else {
        let files = plain.into_iter().map(|(_, file)| file).collect();
        return Ok(CollectedSystem {
            language: None,
            files,
            others: Vec::new(),
            unread: Vec::new(),
        });
    };
    let taken = plain.iter().map(|(path, (_, body))| (path_key(path), body.clone())).collect();
    let taking = SystemCollector {
        input: "",
        reach: None,
        folder: Some(folder),
        beside: SiblingNames::from_discovery(&discovery),
        left,
        n_files: plain.len(),
        taken,
        unread: Vec::new(),
    };
    let mut system = taking.collect_system(&discovery).await;
    // What lies there and is not listed is looked at, too.
    let is_listed = |name: &str| discovery.find_entry(None, name).is_some() && name != DISCOVERY;
    let unlisted = plain.into_iter().map(|(_, file)| file).filter(|(name, _)| !is_listed(name));
    system.files.extend(unlisted);
    Ok(system)
}

/// Files of a system as they are brought together, within bounds for all of them.
struct SystemCollector<'a> {
    input: &'a str,
    /// Which addresses are asked; none where only files are taken that lie beside the discovery file.
    reach: Option<AddressScope>,
    /// The folder that the discovery file lies in.
    folder: Option<PathBuf>,
    beside: SiblingNames,
    left: u64,
    n_files: usize,
    /// What came from a place that another language has, too.
    taken: HashMap<String, Bytes>,
    unread: Vec<MissingFile>,
}

/// A file with its name, and where it came from.
struct CollectedFile {
    named: Named,
    from: Option<String>,
}

/// Why a file was not to be had, and what came of the try if there was one.
type Lack = (&'static str, Option<String>);

impl SystemCollector<'_> {
    /// All languages, one after the other.
    async fn collect_system(mut self, discovery: &gbfs::DiscoveryFile) -> CollectedSystem {
        let own = |language: Option<&str>| {
            let entries = discovery.entries.iter();
            let entries = entries.filter(move |entry| entry.language.as_deref() == language);
            entries.filter(|entry| &*entry.name != DISCOVERY).collect::<Vec<_>>()
        };
        let languages = discovery.list_languages();
        let language = languages.first().copied();
        let first = self.collect_files(&own(language), None).await;
        let mut others = Vec::new();
        for other in languages.into_iter().skip(1) {
            let taken = self.collect_files(&own(Some(other)), Some(other)).await;
            let is_shared = |file: &&CollectedFile| {
                file.from.is_some()
                    && first
                        .iter()
                        .any(|its| (&its.named.0, &its.from) == (&file.named.0, &file.from))
            };
            let shared = taken.iter().filter(is_shared).map(|file| file.named.0.clone()).collect();
            let files = taken.into_iter().map(|file| file.named).collect();
            others.push(OtherLanguage { language: other.to_owned(), shared, files });
        }
        let files = first.into_iter().map(|file| file.named).collect();
        let language = language.map(str::to_owned);
        CollectedSystem { language, files, others, unread: self.unread }
    }

    /// Those of one language; `other` says which, unless it is the first.
    async fn collect_files(
        &mut self,
        entries: &[&gbfs::DiscoveryEntry],
        other: Option<&str>,
    ) -> Vec<CollectedFile> {
        let mut files = Vec::new();
        for entry in entries {
            match self.collect_file(entry).await {
                Ok((from, body)) => {
                    files.push(CollectedFile { named: (entry.name.to_string(), body), from });
                }
                Err((why, reason)) => {
                    let language = other.map(|other| format!("{other}/")).unwrap_or_default();
                    let name = format!("{language}{}", entry.name);
                    self.unread.push(MissingFile { name, why, reason });
                }
            }
        }
        files
    }

    async fn collect_file(
        &mut self,
        entry: &gbfs::DiscoveryEntry,
    ) -> Result<(Option<String>, Bytes), Lack> {
        let location = self.locate_file(entry)?;
        let key = match &location {
            SourceLocation::Http(url) => Some(url.to_string()),
            SourceLocation::Path(file) => Some(path_key(file)),
            _ => None,
        };
        if let Some(body) = key.as_ref().and_then(|key| self.taken.get(key)) {
            let body = body.clone();
            return Ok((key, body));
        }
        if self.n_files >= FILES_MAX {
            return Err(("there are more files than are read", None));
        }
        let reach = self.reach.filter(|_| !is_other_host(self.input, &location));
        let reach = reach.unwrap_or(AddressScope::Public);
        let body = fetch_input(location, self.left.min(FILE_BYTES_MAX), reach).await;
        let body = body.map_err(|reason| ("it cannot be read where it is listed", Some(reason)))?;
        self.left = self.left.saturating_sub(body.len() as u64);
        self.n_files += 1;
        self.taken.extend(key.clone().map(|key| (key, body.clone())));
        Ok((key, body))
    }

    /// Where a listed file is: beside the discovery file, else where that says, if addresses are asked.
    fn locate_file(&self, entry: &gbfs::DiscoveryEntry) -> Result<SourceLocation, Lack> {
        let names = self.beside.candidate_names(entry);
        let at = |name: &String| Some(self.folder.as_ref()?.join(name));
        if let Some(file) = names.iter().filter_map(at).find(|file| file.is_file()) {
            return Ok(SourceLocation::Path(file));
        }
        if self.reach.is_none() {
            let why = "it is not in the folder";
            return Err((why, Some(format!("{why}: looked for {}", names.join(", ")))));
        }
        let url = match SourceLocation::parse(self.input) {
            Ok(SourceLocation::Http(base)) if self.input != "-" => base.join(&entry.url),
            _ => Url::parse(&entry.url),
        };
        match url {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(SourceLocation::Http(url)),
            _ => Err(("it is not beside the discovery file, nor does that say where it is", None)),
        }
    }
}

fn path_key(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// By what names the files of a system may lie beside its discovery file.
#[derive(Debug)]
struct SiblingNames {
    /// The first language, whose files may have no more than their names.
    first: Option<Box<str>>,
    /// How listed addresses end, and which address does; none where several end so.
    ends: HashMap<String, Option<Box<str>>>,
}

impl SiblingNames {
    fn from_discovery(discovery: &gbfs::DiscoveryFile) -> SiblingNames {
        let mut ends: HashMap<String, Option<Box<str>>> = HashMap::new();
        for entry in &discovery.entries {
            for end in [1, 2].into_iter().filter_map(|parts| address_tail(&entry.url, parts)) {
                let owner = ends.entry(end).or_insert_with(|| Some(entry.url.clone()));
                if owner.as_ref().is_some_and(|owner| *owner != entry.url) {
                    *owner = None;
                }
            }
        }
        SiblingNames {
            first: discovery.list_languages().first().map(|first| (*first).into()),
            ends,
        }
    }

    /// The names of a file, the likeliest first: as the end of its address has it, with its folder; in a folder of its language;
    /// as its address ends; with its language behind its name; and of the first language by its name alone. A name
    /// comes from the file's writer, and leads no further than into one folder.
    fn candidate_names(&self, entry: &gbfs::DiscoveryEntry) -> Vec<String> {
        let listed = |parts| {
            let end = address_tail(&entry.url, parts)?;
            let owner = self.ends.get(&end)?.as_ref()?;
            (*owner == entry.url).then_some(end)
        };
        let name = &entry.name;
        let language = entry.language.as_deref();
        let of_language = |between: fn(&str, &str) -> String| {
            let language =
                language.filter(|language| is_plain_part(language) && is_plain_part(name))?;
            Some(between(language, name))
        };
        let alone = language == self.first.as_deref() && is_plain_part(name);
        let names = [
            listed(2),
            of_language(|language, name| format!("{language}/{name}.json")),
            listed(1),
            of_language(|language, name| format!("{name}.{language}.json")),
            alone.then(|| format!("{name}.json")),
        ];
        let mut kept: Vec<String> = Vec::new();
        for name in names.into_iter().flatten() {
            if !kept.contains(&name) {
                kept.push(name);
            }
        }
        kept
    }
}

/// The last parts of an address as the name of a file of JSON; none if it has not so many, if they are not plain, or if it is the
/// discovery file again.
fn address_tail(address: &str, parts: usize) -> Option<String> {
    let parsed = Url::parse(address).ok();
    let path = parsed.as_ref().map_or(address, Url::path);
    let path = path.split(['?', '#']).next()?.trim_start_matches('/');
    let all: Vec<&str> = path.split('/').collect();
    let last = all.get(all.len().checked_sub(parts)?..)?;
    if !last.iter().all(|part| is_plain_part(part)) {
        return None;
    }
    let name = last.join("/");
    let name = if name.ends_with(".json") { name } else { format!("{name}.json") };
    let is_discovery = name.rsplit('/').next() == Some("gbfs.json");
    (!is_discovery).then_some(name)
}

/// Whether a text is one part of a path, and leads neither upwards nor to what is hidden.
fn is_plain_part(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_plain)
}

fn list_json_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
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

/// What a folder holds, by name, some hundreds of it; folders end with a stroke. What is hidden is left out.
pub(super) fn list_folder_names(folder: &Path) -> Vec<String> {
    const MOST: usize = 1_000;
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.take(MOST).filter_map(|entry| {
        let name = entry.file_name().to_str()?.to_owned();
        Some(if entry.path().is_dir() { format!("{name}/") } else { name })
    });
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// The name of the file at the end of an address or a path, without what follows a dot.
pub(super) fn file_stem_of(input: &str) -> Option<String> {
    let plain = input.split(['?', '#']).next()?;
    let last = plain.rsplit(['/', '\\']).next()?;
    last.split('.').next().map(str::to_owned)
}

/// Whether an address names another host than the one that was asked for the discovery file: who wrote that says where we go.
fn is_other_host(input: &str, location: &SourceLocation) -> bool {
    match (SourceLocation::parse(input), location) {
        (Ok(SourceLocation::Http(asked)), SourceLocation::Http(listed)) => {
            asked.host() != listed.host()
        }
        _ => false,
    }
}

/// The folder of a file here; none for an address, and for what nobody knows where it comes from.
fn parent_folder(input: &str) -> Option<PathBuf> {
    match SourceLocation::parse(input).ok()? {
        SourceLocation::Path(folder) if folder.is_dir() => Some(folder),
        SourceLocation::Path(file) if input != "-" => file.parent().map(PathBuf::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(addresses: &[(&str, &str, &str)]) -> Vec<Vec<String>> {
        let entries = addresses.iter().map(|(language, name, url)| gbfs::DiscoveryEntry {
            language: (!language.is_empty()).then(|| (*language).into()),
            name: (*name).into(),
            url: (*url).into(),
        });
        let discovery = gbfs::DiscoveryFile { entries: entries.collect() };
        let beside = SiblingNames::from_discovery(&discovery);
        discovery.entries.iter().map(|entry| beside.candidate_names(entry)).collect()
    }

    #[test]
    fn files_are_looked_for_as_they_are_listed() {
        let folders = names(&[
            ("en", "a", "https://b.example/v2/en/a.json?key=1"),
            ("fr", "a", "https://b.example/v2/fr/a"),
        ]);
        assert_eq!(folders[0], ["en/a.json", "a.en.json", "a.json"]);
        assert_eq!(folders[1], ["fr/a.json", "a.fr.json"]);
        let flat = names(&[("en", "a", "https://b.example/a.en.json"), ("fr", "a", "a.fr.json")]);
        assert_eq!(flat[0], ["en/a.json", "a.en.json", "a.json"]);
        assert_eq!(flat[1], ["fr/a.json", "a.fr.json"]);
        let shared =
            names(&[("en", "a", "https://b.example/a"), ("fr", "a", "https://b.example/a")]);
        assert_eq!(shared[1], ["fr/a.json", "a.json", "a.fr.json"]);
        let without = names(&[("", "a", "https://b.example/3.0/a"), ("", "b", "/x?name=b")]);
        assert_eq!(without, [["3.0/a.json", "a.json"].as_slice(), &["x.json", "b.json"]]);
        let alike =
            names(&[("", "a", "https://b.example/x?a"), ("", "b", "https://b.example/x?b")]);
        assert_eq!(alike, [["a.json"], ["b.json"]]);
    }

    #[test]
    fn no_name_leads_elsewhere() {
        let all = names(&[
            ("..", "..", "../../../etc/passwd"),
            ("/etc", "passwd", "/..%2f../x"),
            ("en", "a", "https://b.example/../.ssh/id"),
            ("en", "b", "file:///etc/shadow"),
            ("en", "c", "https://b.example/en/gbfs.json"),
            ("en", "d", "C:\\x\\y"),
        ]);
        for name in all.iter().flatten() {
            let parts: Vec<&str> = name.split('/').collect();
            assert!(parts.len() <= 2 && parts.iter().all(|part| is_plain_part(part)), "{name}");
            assert!(name.ends_with(".json") && !name.ends_with("gbfs.json"), "{name}");
        }
    }
}
