//! The discovery file, `gbfs.json`: which files a system has, by language in version 1 and 2, and where they are.

use std::{collections::HashSet, ops::Range};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Limits,
    document::{self, Pairs},
};
use crate::{Error, ErrorKind, Problem, Problems};

/// The name that problems give it.
const FILE: &str = "gbfs.json";

/// What a discovery file lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// In the order of the file. Of the same name in the same language there is one.
    pub entries: Vec<Entry>,
}

/// A file of the system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its language; `None` from version 3 on.
    pub language: Option<Box<str>>,
    /// Its name without an ending, such as `station_information`: letters, digits, `_`, `-` and `.`.
    pub name: Box<str>,
    /// Where it is, as written; nothing is known of it but its length.
    pub url: Box<str>,
}

impl Discovery {
    /// The languages that files have, each once, in the order of the file.
    pub fn languages(&self) -> Vec<&str> {
        let mut languages: Vec<&str> = Vec::new();
        for language in self.entries.iter().filter_map(|entry| entry.language.as_deref()) {
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        languages
    }

    /// The file of that name, in that language; without one in the first language that has it.
    pub fn find(&self, language: Option<&str>, name: &str) -> Option<&Entry> {
        let fits = |entry: &&Entry| {
            &*entry.name == name
                && language.is_none_or(|language| entry.language.as_deref() == Some(language))
        };
        self.entries.iter().find(fits)
    }
}

/// Reads a discovery file.
///
/// # Errors
/// If it is too large, or no JSON with a list of files.
pub fn decode(body: &[u8], limits: &Limits) -> Result<(Discovery, Problems), Error> {
    let mut reader = Reader { limits, problems: Problems::new(), seen: HashSet::new() };
    let places = reader.read(body)?;
    let mut discovery = Discovery::default();
    for place in places {
        let entry = place.entry;
        let key = (entry.language.clone(), entry.name.clone());
        if discovery.entries.len() >= limits.files {
            let detail = format!("more than {} files: the others are left out", limits.files);
            reader.problems.push(Problem::new(FILE, "too_many_files", detail));
            break;
        }
        if reader.seen.insert(key) {
            discovery.entries.push(entry);
        } else {
            let problem = Problem::new(FILE, "duplicate_file", "this file is listed already");
            reader.problems.push(problem.with_value(&entry.name));
        }
    }
    Ok((discovery, reader.problems))
}

/// The same file with other addresses, as `url_of` says; where it says nothing the producer's stays. All else is as it was.
///
/// # Errors
/// As [`decode`].
pub fn rewrite(
    body: &[u8],
    limits: &Limits,
    mut url_of: impl FnMut(&Entry) -> Option<String>,
) -> Result<Vec<u8>, Error> {
    let mut reader = Reader { limits, problems: Problems::new(), seen: HashSet::new() };
    let places = reader.read(body)?;
    let mut written = Vec::with_capacity(body.len());
    let mut copied = 0;
    for Place { entry, span } in places {
        let Some(url) = url_of(&entry) else { continue };
        let url = serde_json::to_string(&url)
            .map_err(|error| Error::new(ErrorKind::Decode, error.to_string()))?;
        // Places come in the order of the file.
        written.extend_from_slice(body.get(copied..span.start).unwrap_or_default());
        written.extend_from_slice(url.as_bytes());
        copied = span.end;
    }
    written.extend_from_slice(body.get(copied..).unwrap_or_default());
    Ok(written)
}

/// A file with where its address stands in the body, quotes and all.
struct Place {
    entry: Entry,
    span: Range<usize>,
}

struct Reader<'l> {
    limits: &'l Limits,
    problems: Problems,
    seen: HashSet<(Option<Box<str>>, Box<str>)>,
}

/// `{"feeds": […]}`.
#[derive(Deserialize)]
struct Feeds<'a> {
    #[serde(borrow)]
    feeds: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item<'a> {
    name: Option<String>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
}

impl Reader<'_> {
    fn read(&mut self, body: &[u8]) -> Result<Vec<Place>, Error> {
        if body.len() > self.limits.body_bytes {
            let detail = format!("a discovery file of more than {} bytes", self.limits.body_bytes);
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        let data = document::data(body)?;
        let Pairs(pairs) =
            serde_json::from_str(data.get()).map_err(|error| document::refused(&error))?;
        let mut places = Vec::new();
        if pairs.iter().any(|(key, _)| key == "feeds") {
            let feeds: Feeds<'_> =
                serde_json::from_str(data.get()).map_err(|error| document::refused(&error))?;
            self.take(body, None, &feeds, &mut places);
            return Ok(places);
        }
        let mut is_list = pairs.is_empty();
        for (language, raw) in &pairs {
            let Ok(feeds) = serde_json::from_str::<Feeds<'_>>(raw.get()) else {
                self.complain("no_feeds", "a language without a list `feeds`", language);
                continue;
            };
            is_list = true;
            if self.is_name(language) {
                self.take(body, Some(language), &feeds, &mut places);
            } else {
                self.complain("bad_language", "this is no language", language);
            }
        }
        if is_list {
            Ok(places)
        } else {
            Err(Error::new(ErrorKind::Decode, "the discovery file has no list `feeds`"))
        }
    }

    fn take(
        &mut self,
        body: &[u8],
        language: Option<&str>,
        feeds: &Feeds<'_>,
        places: &mut Vec<Place>,
    ) {
        for raw in &feeds.feeds {
            let item = serde_json::from_str::<Item<'_>>(raw.get());
            let Ok(Item { name: Some(name), url: Some(url) }) = item else {
                self.complain("bad_file", "a file without name and address", raw.get());
                continue;
            };
            let Some(span) = span_in(body, url.get()) else { continue };
            let Ok(address) = serde_json::from_str::<String>(url.get()) else {
                self.complain("bad_url", "an address is no text", url.get());
                continue;
            };
            let plain = name.strip_suffix(".json").unwrap_or(&name);
            if !self.is_name(plain) {
                self.complain("bad_name", "this is no name of a file", &name);
            } else if address.chars().count() > self.limits.url_chars {
                self.complain("long_url", "an address is too long", &address);
            } else {
                let language = language.map(Into::into);
                let entry = Entry { language, name: plain.into(), url: address.into() };
                places.push(Place { entry, span });
            }
        }
    }

    /// Whether it may stand in an address as it is.
    fn is_name(&self, name: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        !name.is_empty()
            && name.len() <= self.limits.name_chars
            && name.bytes().all(is_plain)
            && !name.bytes().all(|byte| byte == b'.')
    }

    fn complain(&mut self, code: &'static str, detail: &str, value: &str) {
        self.problems.push(Problem::new(FILE, code, detail).with_value(value));
    }
}

/// Where a piece of the body stands in it.
fn span_in(body: &[u8], piece: &str) -> Option<Range<usize>> {
    let start = (piece.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let span = start..start.checked_add(piece.len())?;
    (body.get(span.clone())? == piece.as_bytes()).then_some(span)
}
