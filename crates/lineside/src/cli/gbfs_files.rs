//! Reads the files of a GBFS system, which its discovery file lists.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use bytes::Bytes;
use lineside_formats::{Format, sniff_format};
use lineside_model::SourceLocation;
use lineside_quality::convert::{DISCOVERY, NamedFileBody, REALTIME_BYTES_MAX};
use lineside_validate::rules::gbfs::is_gbfs_file;
use url::Url;

use super::{
    CommandFailure,
    input::{AllowedAddresses, fetch_input},
};

/// Maximum size of one file.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of files.
const FILES_MAX: usize = 200;

/// The files of a system. A system that [`read_listed_gbfs_files`] returns lacks its discovery file.
#[derive(Debug)]
pub(super) struct CollectedSystem {
    /// The first language that the discovery file lists.
    pub(super) language: Option<String>,
    /// The files in that language, under their names without `.json`.
    pub(super) files: Vec<NamedFileBody>,
    /// The files of each further language.
    pub(super) others: Vec<OtherLanguage>,
    /// The listed files that could not be read. The names of a further language begin with `<language>/`.
    pub(super) unread: Vec<MissingFile>,
}

/// A further language of a system.
#[derive(Debug)]
pub(super) struct OtherLanguage {
    pub(super) language: String,
    pub(super) files: Vec<NamedFileBody>,
    /// The names of the files that are also the first language's, from the same location.
    pub(super) shared: Vec<String>,
}

/// A listed file that could not be read.
#[derive(Debug)]
pub(super) struct MissingFile {
    pub(super) name: String,
    pub(super) reason: &'static str,
    /// The error of the attempt, if one was made.
    pub(super) error: Option<String>,
}

/// Reads the files of a system one after the other, if the body is a discovery file. Each file is read from the folder
/// of the discovery file, or from its listed address.
pub(super) async fn read_listed_gbfs_files(
    input: &str,
    body: &Bytes,
    address_scope: AllowedAddresses,
) -> Result<Option<CollectedSystem>, CommandFailure> {
    if !sniff_format(body).is_some_and(Format::is_raw) {
        return Ok(None);
    }
    let Ok((discovery, _)) =
        lineside_gbfs::decode_discovery_file(body, &lineside_gbfs::DiscoveryLimits::default())
    else {
        return Ok(None);
    };
    let taking = SystemCollector {
        input,
        address_scope: Some(address_scope),
        folder: local_parent_folder(input),
        sibling_names: SiblingFileNames::from_discovery(&discovery),
        bytes_left: REALTIME_BYTES_MAX.saturating_sub(body.len() as u64),
        n_files: 0,
        bodies: HashMap::new(),
        unread: Vec::new(),
    };
    Ok(Some(taking.collect_all_languages(&discovery).await))
}

/// Reads a system from a folder, with its discovery file if there is one. A folder without GBFS files gives no files.
/// The listed files of all languages are searched in this folder only.
pub(super) async fn read_gbfs_folder(folder: PathBuf) -> Result<CollectedSystem, CommandFailure> {
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
            AllowedAddresses::Anywhere,
        )
        .await;
        let body = read.map_err(unfinished)?;
        left = left.saturating_sub(body.len() as u64);
        plain.push((path, (name, body)));
    }
    let listing = plain.iter().find(|(_, (name, _))| name == DISCOVERY);
    let listing = listing
        .and_then(|(_, (_, body))| {
            lineside_gbfs::decode_discovery_file(body, &lineside_gbfs::DiscoveryLimits::default())
                .ok()
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
    let bodies = plain.iter().map(|(path, (_, body))| (path_key(path), body.clone())).collect();
    let taking = SystemCollector {
        input: "",
        address_scope: None,
        folder: Some(folder),
        sibling_names: SiblingFileNames::from_discovery(&discovery),
        bytes_left: left,
        n_files: plain.len(),
        bodies,
        unread: Vec::new(),
    };
    let mut system = taking.collect_all_languages(&discovery).await;
    // Files of the folder that are not listed are checked too.
    let is_listed =
        |name: &str| discovery.find_discovery_entry(None, name).is_some() && name != DISCOVERY;
    let unlisted = plain.into_iter().map(|(_, file)| file).filter(|(name, _)| !is_listed(name));
    system.files.extend(unlisted);
    Ok(system)
}

/// Collects the files of a system within limits for their number and total size.
struct SystemCollector<'a> {
    input: &'a str,
    /// The addresses that may be requested; `None` if files are read only from the discovery file's folder.
    address_scope: Option<AllowedAddresses>,
    /// The folder of the discovery file.
    folder: Option<PathBuf>,
    sibling_names: SiblingFileNames,
    bytes_left: u64,
    n_files: usize,
    /// The bodies read so far by their location, because several languages may list the same one.
    bodies: HashMap<String, Bytes>,
    unread: Vec<MissingFile>,
}

/// A file with its name and its location.
struct CollectedFile {
    named: NamedFileBody,
    from: Option<String>,
}

/// The reason why a file is missing, and the error of the attempt if one was made.
type MissingReason = (&'static str, Option<String>);

impl SystemCollector<'_> {
    /// Reads the files of all languages, one language after the other.
    async fn collect_all_languages(
        mut self,
        discovery: &lineside_gbfs::DiscoveryFile,
    ) -> CollectedSystem {
        let own = |language: Option<&str>| {
            let entries = discovery.entries.iter();
            let entries = entries.filter(move |entry| entry.language.as_deref() == language);
            entries.filter(|entry| &*entry.name != DISCOVERY).collect::<Vec<_>>()
        };
        let languages = discovery.distinct_languages();
        let language = languages.first().copied();
        let first = self.collect_language_files(&own(language), None).await;
        let mut others = Vec::new();
        for other in languages.into_iter().skip(1) {
            let other_language = self.collect_language_files(&own(Some(other)), Some(other)).await;
            let is_shared = |file: &&CollectedFile| {
                file.from.is_some()
                    && first
                        .iter()
                        .any(|its| (&its.named.0, &its.from) == (&file.named.0, &file.from))
            };
            let shared =
                other_language.iter().filter(is_shared).map(|file| file.named.0.clone()).collect();
            let files = other_language.into_iter().map(|file| file.named).collect();
            others.push(OtherLanguage { language: other.to_owned(), shared, files });
        }
        let files = first.into_iter().map(|file| file.named).collect();
        let language = language.map(str::to_owned);
        CollectedSystem { language, files, others, unread: self.unread }
    }

    /// Reads the files of one language; `other` is the language unless it is the first one.
    async fn collect_language_files(
        &mut self,
        entries: &[&lineside_gbfs::DiscoveryEntry],
        other: Option<&str>,
    ) -> Vec<CollectedFile> {
        let mut files = Vec::new();
        for entry in entries {
            match self.read_listed_file(entry).await {
                Ok((from, body)) => {
                    files.push(CollectedFile { named: (entry.name.to_string(), body), from });
                }
                Err((why, reason)) => {
                    let language = other.map(|other| format!("{other}/")).unwrap_or_default();
                    let name = format!("{language}{}", entry.name);
                    self.unread.push(MissingFile { name, reason: why, error: reason });
                }
            }
        }
        files
    }

    async fn read_listed_file(
        &mut self,
        entry: &lineside_gbfs::DiscoveryEntry,
    ) -> Result<(Option<String>, Bytes), MissingReason> {
        let location = self.locate_listed_file(entry)?;
        let key = match &location {
            SourceLocation::Http(url) => Some(url.to_string()),
            SourceLocation::Path(file) => Some(path_key(file)),
            _ => None,
        };
        if let Some(body) = key.as_ref().and_then(|key| self.bodies.get(key)) {
            let body = body.clone();
            return Ok((key, body));
        }
        if self.n_files >= FILES_MAX {
            return Err(("the system has too many files", None));
        }
        let address_scope = self.address_scope.filter(|_| !has_other_host(self.input, &location));
        let address_scope = address_scope.unwrap_or(AllowedAddresses::Public);
        let body = fetch_input(location, self.bytes_left.min(FILE_BYTES_MAX), address_scope).await;
        let body =
            body.map_err(|reason| ("it cannot be read from its listed address", Some(reason)))?;
        self.bytes_left = self.bytes_left.saturating_sub(body.len() as u64);
        self.n_files += 1;
        self.bodies.extend(key.clone().map(|key| (key, body.clone())));
        Ok((key, body))
    }

    /// Returns the location of a listed file: in the discovery file's folder, else its listed address if addresses may
    /// be requested.
    fn locate_listed_file(
        &self,
        entry: &lineside_gbfs::DiscoveryEntry,
    ) -> Result<SourceLocation, MissingReason> {
        let names = self.sibling_names.candidate_file_names(entry);
        let at = |name: &String| Some(self.folder.as_ref()?.join(name));
        if let Some(file) = names.iter().filter_map(at).find(|file| file.is_file()) {
            return Ok(SourceLocation::Path(file));
        }
        if self.address_scope.is_none() {
            let why = "it is not in the folder";
            return Err((why, Some(format!("{why}: looked for {}", names.join(", ")))));
        }
        let url = match SourceLocation::parse(self.input) {
            Ok(SourceLocation::Http(base)) if self.input != "-" => base.join(&entry.url),
            _ => Url::parse(&entry.url),
        };
        match url {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(SourceLocation::Http(url)),
            _ => Err(("it is not next to the discovery file, which has no address for it", None)),
        }
    }
}

fn path_key(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// The names that the files of a system may have in the folder of its discovery file.
#[derive(Debug)]
struct SiblingFileNames {
    /// The first language, whose files may have plain names.
    first_language: Option<Box<str>>,
    /// The address for each ending of a listed address; `None` if several addresses have that ending.
    by_suffix: HashMap<String, Option<Box<str>>>,
}

impl SiblingFileNames {
    fn from_discovery(discovery: &lineside_gbfs::DiscoveryFile) -> SiblingFileNames {
        let mut ends: HashMap<String, Option<Box<str>>> = HashMap::new();
        for entry in &discovery.entries {
            for end in
                [1, 2].into_iter().filter_map(|parts| json_name_from_url_end(&entry.url, parts))
            {
                let owner = ends.entry(end).or_insert_with(|| Some(entry.url.clone()));
                if owner.as_ref().is_some_and(|owner| *owner != entry.url) {
                    *owner = None;
                }
            }
        }
        SiblingFileNames {
            first_language: discovery.distinct_languages().first().map(|first| (*first).into()),
            by_suffix: ends,
        }
    }

    /// Returns the possible names of a file, the likeliest first: the last two parts of its address;
    /// `<language>/<name>.json`; the last part of its address; `<name>.<language>.json`; and in the first language
    /// `<name>.json`. The author of the discovery file chose these names, so they lead at most one folder down.
    fn candidate_file_names(&self, entry: &lineside_gbfs::DiscoveryEntry) -> Vec<String> {
        let listed = |parts| {
            let end = json_name_from_url_end(&entry.url, parts)?;
            let owner = self.by_suffix.get(&end)?.as_ref()?;
            (*owner == entry.url).then_some(end)
        };
        let name = &entry.name;
        let language = entry.language.as_deref();
        let localized_name = |between: fn(&str, &str) -> String| {
            let language = language
                .filter(|language| is_safe_path_segment(language) && is_safe_path_segment(name))?;
            Some(between(language, name))
        };
        let alone = language == self.first_language.as_deref() && is_safe_path_segment(name);
        let names = [
            listed(2),
            localized_name(|language, name| format!("{language}/{name}.json")),
            listed(1),
            localized_name(|language, name| format!("{name}.{language}.json")),
            alone.then(|| format!("{name}.json")),
        ];
        let mut candidates: Vec<String> = Vec::new();
        for name in names.into_iter().flatten() {
            if !candidates.contains(&name) {
                candidates.push(name);
            }
        }
        candidates
    }
}

/// Returns the last parts of an address as the name of a JSON file. Returns `None` if it has fewer parts, if a part is
/// not plain, or if the name is the discovery file's.
fn json_name_from_url_end(address: &str, parts: usize) -> Option<String> {
    let parsed = Url::parse(address).ok();
    let path = parsed.as_ref().map_or(address, Url::path);
    let path = path.split(['?', '#']).next()?.trim_start_matches('/');
    let all: Vec<&str> = path.split('/').collect();
    let last = all.get(all.len().checked_sub(parts)?..)?;
    if !last.iter().all(|part| is_safe_path_segment(part)) {
        return None;
    }
    let name = last.join("/");
    let name = if name.ends_with(".json") { name } else { format!("{name}.json") };
    let is_discovery = name.rsplit('/').next() == Some("gbfs.json");
    (!is_discovery).then_some(name)
}

/// Returns true if a text is a single path segment that leads neither upwards nor to a hidden file.
fn is_safe_path_segment(text: &str) -> bool {
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

/// Returns up to 1,000 names in a folder, sorted. Folder names end with a slash; hidden entries are left out.
pub(super) fn list_folder_names(folder: &Path) -> Vec<String> {
    const NAMES_MAX: usize = 1_000;
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.take(NAMES_MAX).filter_map(|entry| {
        let name = entry.file_name().to_str()?.to_owned();
        Some(if entry.path().is_dir() { format!("{name}/") } else { name })
    });
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Returns the file name at the end of an address or a path, up to its first dot.
pub(super) fn file_name_to_first_dot(input: &str) -> Option<String> {
    let plain = input.split(['?', '#']).next()?;
    let last = plain.rsplit(['/', '\\']).next()?;
    last.split('.').next().map(str::to_owned)
}

/// Returns true if an address names another host than the discovery file's. The author of the discovery file chose that
/// host.
fn has_other_host(input: &str, location: &SourceLocation) -> bool {
    match (SourceLocation::parse(input), location) {
        (Ok(SourceLocation::Http(requested)), SourceLocation::Http(listed)) => {
            requested.host() != listed.host()
        }
        _ => false,
    }
}

/// Returns the folder of a local file; `None` for an address and for standard input.
fn local_parent_folder(input: &str) -> Option<PathBuf> {
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
        let entries = addresses.iter().map(|(language, name, url)| lineside_gbfs::DiscoveryEntry {
            language: (!language.is_empty()).then(|| (*language).into()),
            name: (*name).into(),
            url: (*url).into(),
        });
        let discovery = lineside_gbfs::DiscoveryFile { entries: entries.collect() };
        let sibling_names = SiblingFileNames::from_discovery(&discovery);
        discovery.entries.iter().map(|entry| sibling_names.candidate_file_names(entry)).collect()
    }

    #[test]
    fn files_are_searched_by_language_and_listed_address() {
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
    fn no_file_name_leaves_the_folder() {
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
            assert!(
                parts.len() <= 2 && parts.iter().all(|part| is_safe_path_segment(part)),
                "{name}"
            );
            assert!(name.ends_with(".json") && !name.ends_with("gbfs.json"), "{name}");
        }
    }
}
