//! `--feed [id=]<url|file|folder>`: feeds without a configuration file.

use std::collections::HashSet;
use std::path::Path;
use std::str::FromStr;

use lineside_model::{FeedConfig, FeedId, SourceLocation};

/// One `--feed`: its source, and its id if the operator gave one.
#[derive(Debug, Clone)]
pub struct FeedArgument {
    id: Option<FeedId>,
    location: SourceLocation,
}

impl FromStr for FeedArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, location_text) = match text.split_once('=') {
            Some((id, location_text)) if !location_text.is_empty() => match FeedId::new(id) {
                Ok(id) => (Some(id), location_text),
                // The `=` belongs to a URL's query or to a path.
                Err(_) if id.contains("://") || Path::new(text).exists() => (None, text),
                Err(error) => return Err(format!("{id:?} before the = is not a feed id: {error}")),
            },
            _ => (None, text),
        };
        let location = SourceLocation::parse(location_text).map_err(|error| error.to_string())?;
        Ok(Self { id, location })
    }
}

/// Turns `--feed` arguments into feeds. Missing ids are derived from the address, and made unique among the arguments
/// and `used_ids`.
///
/// # Errors
/// Returns a sentence if an id was given twice.
pub fn feeds_from_arguments(
    arguments: Vec<FeedArgument>,
    used_ids: impl IntoIterator<Item = FeedId>,
) -> Result<Vec<FeedConfig>, String> {
    let mut used_ids: HashSet<String> =
        used_ids.into_iter().map(|id| id.as_str().to_owned()).collect();
    for id in arguments.iter().filter_map(|argument| argument.id.as_ref()) {
        if !used_ids.insert(id.as_str().to_owned()) {
            return Err(format!("--feed: two feeds have the id {id}"));
        }
    }
    let feed = |argument: FeedArgument| {
        let id = argument.id.unwrap_or_else(|| derive_feed_id(&argument.location, &mut used_ids));
        FeedConfig::new(id, argument.location)
    };
    Ok(arguments.into_iter().map(feed).collect())
}

/// Maximum length of a derived name, so that a number fits into an id's 64 characters.
const DERIVED_CHARS_MAX: usize = 48;

fn derive_feed_id(location: &SourceLocation, used_ids: &mut HashSet<String>) -> FeedId {
    let name = id_from_location(location);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|id| !used_ids.contains(id));
    let id = free.expect("the sequence of numbers is infinite");
    used_ids.insert(id.clone());
    FeedId::new(&id).expect("a derived name has only the characters of an id")
}

/// Returns the last part of the address without its extension, in the characters of an id.
fn id_from_location(location: &SourceLocation) -> String {
    let last = match location {
        SourceLocation::Http(url) => {
            let last = url.path_segments().and_then(|mut parts| parts.rfind(|p| !p.is_empty()));
            last.or(url.host_str()).unwrap_or_default().to_owned()
        }
        SourceLocation::Path(path) | SourceLocation::Replay { dir: path, .. } => {
            path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
    };
    let stem = match last.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_file_extension(ending) => stem,
        _ => &last,
    };
    let in_id = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = stem.chars().map(in_id).take(DERIVED_CHARS_MAX).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() { "feed".to_owned() } else { name }
}

fn is_file_extension(ending: &str) -> bool {
    ["zip", "pb", "pbf", "bin", "json", "proto", "txt", "xml", "gz"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], expect: &[&str]) {
        let parsed = arguments.iter().map(|text| text.parse().unwrap()).collect();
        let feeds = feeds_from_arguments(parsed, []).unwrap();
        let ids: Vec<_> = feeds.iter().map(|feed| feed.id.as_str().to_owned()).collect();
        assert_eq!(ids, expect);
    }

    #[test]
    fn a_missing_id_is_derived_from_the_url() {
        check(&["https://example.org/data/oslo.zip"], &["oslo"]);
        check(&["https://example.org/rt?feed=vehicles&key=1"], &["rt"]);
        check(&["https://example.org"], &["example.org"]);
        check(&["https://example.org/Vehicle%20Positions.pb"], &["Vehicle-20Positions"]);
    }

    #[test]
    fn an_id_can_be_set() {
        check(&["oslo=https://example.org/gtfs.zip?a=b"], &["oslo"]);
    }

    #[test]
    fn an_invalid_id_before_the_equals_sign_is_refused() {
        for (text, id, why) in
            [("a b=/path/x.zip", "a b", "letters"), ("=https://example.org", "", "empty")]
        {
            let refused = text.parse::<FeedArgument>().unwrap_err();
            let said = format!("{id:?} before the = is not a feed id: ");
            assert!(refused.starts_with(&said) && refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn an_existing_file_with_an_equals_sign_in_its_name_is_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("day=1.zip");
        std::fs::write(&file, "").unwrap();
        check(&[file.to_str().unwrap()], &["day-1"]);
    }

    #[test]
    fn derived_ids_are_unique() {
        let (a, b) = ("https://a.example/gtfs.zip", "https://b.example/gtfs.zip");
        check(&[a, b, "gtfs-2=https://c.example/x"], &["gtfs", "gtfs-3", "gtfs-2"]);
    }

    #[test]
    fn a_duplicate_id_is_refused() {
        let twice = ["a=https://example.org/1", "a=https://example.org/2"];
        let parsed = twice.iter().map(|text| text.parse().unwrap()).collect();
        assert!(feeds_from_arguments(parsed, []).unwrap_err().contains("two feeds"));
    }
}
