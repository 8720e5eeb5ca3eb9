//! The discovery file, `gbfs.json`: the files of a system, by language in version 1 and 2, and their URLs.

use std::{collections::HashSet, ops::Range};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    DiscoveryLimits,
    envelope::{self, JsonObjectPairs},
};
use lineside_formats::{Error, ErrorKind, Problem, Problems};

/// The file name in problems.
const FILE: &str = "gbfs.json";

/// The content of a discovery file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveryFile {
    /// The entries in the order of the file. A name occurs once per language.
    pub entries: Vec<DiscoveryEntry>,
}

/// A file of the system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiscoveryEntry {
    /// The language; `None` from version 3 on.
    pub language: Option<Box<str>>,
    /// The name without an extension, such as `station_information`: letters, digits, `_`, `-` and `.`.
    pub name: Box<str>,
    /// The URL as written; only its length is checked.
    pub url: Box<str>,
}

impl DiscoveryFile {
    /// Returns the distinct languages of the entries, in the order of the file.
    pub fn distinct_languages(&self) -> Vec<&str> {
        let mut languages: Vec<&str> = Vec::new();
        for language in self.entries.iter().filter_map(|entry| entry.language.as_deref()) {
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        languages
    }

    /// Returns the file with that name and language; without a language, the first one with that name.
    pub fn find_discovery_entry(
        &self,
        language: Option<&str>,
        name: &str,
    ) -> Option<&DiscoveryEntry> {
        let fits = |entry: &&DiscoveryEntry| {
            &*entry.name == name
                && language.is_none_or(|language| entry.language.as_deref() == Some(language))
        };
        self.entries.iter().find(fits)
    }
}

/// Decodes a discovery file.
///
/// # Errors
/// Returns an error if the file is too large, or if it is not JSON with a list of files.
pub fn decode_discovery_file(
    body: &[u8],
    limits: &DiscoveryLimits,
) -> Result<(DiscoveryFile, Problems), Error> {
    let mut reader = DiscoveryReader { limits, problems: Problems::new(), seen: HashSet::new() };
    let places = reader.read_entries_with_url_spans(body)?;
    let mut discovery = DiscoveryFile::default();
    for place in places {
        let entry = place.entry;
        let key = (entry.language.clone(), entry.name.clone());
        if discovery.entries.len() >= limits.files {
            let detail = format!("more than {} files; the rest is ignored", limits.files);
            reader.problems.push(Problem::new(FILE, "too_many_files", detail));
            break;
        }
        if reader.seen.insert(key) {
            discovery.entries.push(entry);
        } else {
            let problem = Problem::new(FILE, "duplicate_file", "the file is listed twice");
            reader.problems.push(problem.with_value(&entry.name));
        }
    }
    Ok((discovery, reader.problems))
}

/// Replaces the URLs by those of `url_of`, or leaves them where it returns `None`. All else is copied unchanged.
///
/// # Errors
/// Returns the errors of [`decode_discovery_file`].
pub fn rewrite_discovery_urls(
    body: &[u8],
    limits: &DiscoveryLimits,
    mut url_of: impl FnMut(&DiscoveryEntry) -> Option<String>,
) -> Result<Vec<u8>, Error> {
    let mut reader = DiscoveryReader { limits, problems: Problems::new(), seen: HashSet::new() };
    let places = reader.read_entries_with_url_spans(body)?;
    let mut written = Vec::with_capacity(body.len());
    let mut copied = 0;
    for EntryUrlSpan { entry, span } in places {
        let Some(url) = url_of(&entry) else { continue };
        let url = serde_json::to_string(&url)
            .map_err(|error| Error::new(ErrorKind::Decode, error.to_string()))?;
        // Entries come in the order of the file.
        written.extend_from_slice(body.get(copied..span.start).unwrap_or_default());
        written.extend_from_slice(url.as_bytes());
        copied = span.end;
    }
    written.extend_from_slice(body.get(copied..).unwrap_or_default());
    Ok(written)
}

/// An entry with the position of its URL in the body, including the quotes.
struct EntryUrlSpan {
    entry: DiscoveryEntry,
    span: Range<usize>,
}

struct DiscoveryReader<'l> {
    limits: &'l DiscoveryLimits,
    problems: Problems,
    seen: HashSet<(Option<Box<str>>, Box<str>)>,
}

/// `{"feeds": […]}`.
#[derive(Deserialize)]
struct FeedList<'a> {
    #[serde(borrow)]
    feeds: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct FeedListItem<'a> {
    name: Option<String>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
}

impl DiscoveryReader<'_> {
    fn read_entries_with_url_spans(&mut self, body: &[u8]) -> Result<Vec<EntryUrlSpan>, Error> {
        if body.len() > self.limits.body_bytes {
            let detail =
                format!("the discovery file is larger than {} bytes", self.limits.body_bytes);
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        let data = envelope::parse_file_data(body)?;
        let JsonObjectPairs(pairs) =
            serde_json::from_str(data.get()).map_err(|error| envelope::error_from_json(&error))?;
        let mut places = Vec::new();
        if pairs.iter().any(|(key, _)| key == "feeds") {
            let feeds: FeedList<'_> = serde_json::from_str(data.get())
                .map_err(|error| envelope::error_from_json(&error))?;
            self.read_feed_list(body, None, &feeds, &mut places);
            return Ok(places);
        }
        let mut is_list = pairs.is_empty();
        for (language, raw) in &pairs {
            let Ok(feeds) = serde_json::from_str::<FeedList<'_>>(raw.get()) else {
                self.report_discovery_problem(
                    "no_feeds",
                    "the language has no list `feeds`",
                    language,
                );
                continue;
            };
            is_list = true;
            if self.is_url_safe_file_name(language) {
                self.read_feed_list(body, Some(language), &feeds, &mut places);
            } else {
                self.report_discovery_problem(
                    "bad_language",
                    "the language code is invalid",
                    language,
                );
            }
        }
        if is_list {
            Ok(places)
        } else {
            Err(Error::new(ErrorKind::Decode, "the discovery file has no list `feeds`"))
        }
    }

    fn read_feed_list(
        &mut self,
        body: &[u8],
        language: Option<&str>,
        feeds: &FeedList<'_>,
        places: &mut Vec<EntryUrlSpan>,
    ) {
        for raw in &feeds.feeds {
            let item = serde_json::from_str::<FeedListItem<'_>>(raw.get());
            let Ok(FeedListItem { name: Some(name), url: Some(url) }) = item else {
                self.report_discovery_problem(
                    "bad_file",
                    "the file has no name or no URL",
                    raw.get(),
                );
                continue;
            };
            let Some(span) = byte_range_of_slice(body, url.get()) else { continue };
            let Ok(address) = serde_json::from_str::<String>(url.get()) else {
                self.report_discovery_problem("bad_url", "the URL is not a string", url.get());
                continue;
            };
            let plain = name.strip_suffix(".json").unwrap_or(&name);
            if !self.is_url_safe_file_name(plain) {
                self.report_discovery_problem("bad_name", "the file name is invalid", &name);
            } else if address.chars().count() > self.limits.url_chars {
                self.report_discovery_problem("long_url", "the URL is too long", &address);
            } else {
                let language = language.map(Into::into);
                let entry = DiscoveryEntry { language, name: plain.into(), url: address.into() };
                places.push(EntryUrlSpan { entry, span });
            }
        }
    }

    /// Returns true if the name may be used in a URL without escaping.
    fn is_url_safe_file_name(&self, name: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        !name.is_empty()
            && name.len() <= self.limits.name_chars
            && name.bytes().all(is_plain)
            && !name.bytes().all(|byte| byte == b'.')
    }

    fn report_discovery_problem(&mut self, code: &'static str, detail: &str, value: &str) {
        self.problems.push(Problem::new(FILE, code, detail).with_value(value));
    }
}

/// Returns the position of `piece`, a slice of the body, in it.
fn byte_range_of_slice(body: &[u8], piece: &str) -> Option<Range<usize>> {
    let start = (piece.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let span = start..start.checked_add(piece.len())?;
    (body.get(span.clone())? == piece.as_bytes()).then_some(span)
}
