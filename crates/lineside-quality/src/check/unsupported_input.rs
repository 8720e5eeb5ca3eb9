//! Describes input that cannot be checked, with advice for the user.

use std::io::{Cursor, Read as _};

use flate2::read::GzDecoder;
use lineside_formats::gtfs::fields::FILES;
use lineside_formats::gtfs::{DatasetLimits, ZipFiles};
use lineside_formats::looks_like_html;
use serde::de::IgnoredAny;

/// The reason if nothing more specific is known.
const NO_FORMAT: &str = "this is not GTFS, GTFS-Realtime, SIRI, NeTEx or GBFS";
/// Bytes of the beginning that are inspected: a table header, a root element, the first block of an archive.
const INSPECTED_BYTES: usize = 8 << 10;
/// Number of files of a zip that are named.
const NAMES_SHOWN_MAX: usize = 3;
/// The signatures of other archive and compression formats, with their names.
const ARCHIVE_SIGNATURES: [(&[u8], &str); 5] = [
    (b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xFD7zXZ", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
    (b"\x28\xB5\x2F\xFD", "compressed with zstd"),
];

/// Describes an unsupported input and what to do about it; without a full stop.
pub(super) fn describe_unsupported_input(body: &[u8]) -> String {
    let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let head = &start[..start.len().min(INSPECTED_BYTES)];
    if start.trim_ascii().is_empty() {
        return "it is empty".to_owned();
    }
    if looks_like_html(body) {
        return "this is a web page: give the URL of the file itself, and check whether it returns an error or a login page"
            .to_owned();
    }
    if body.starts_with(b"PK") {
        return describe_zip(body);
    }
    if body.starts_with(b"\x1F\x8B") {
        return describe_gzip(body);
    }
    if is_tar(head) {
        return format!("this is a tar archive: {TO_ZIP}");
    }
    if let Some((_, what)) = ARCHIVE_SIGNATURES.iter().find(|(mark, _)| body.starts_with(mark)) {
        return format!("this is {what}: unpack it and zip the files");
    }
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return format!("{NO_FORMAT}; it is text in UTF-16: save it as UTF-8");
    }
    let text = String::from_utf8_lossy(head);
    if is_toml(start) {
        return describe_toml(&text);
    }
    match text.trim_start().chars().next() {
        Some('{' | '[') => describe_json(start),
        Some('<') => describe_xml(&text),
        _ => describe_single_gtfs_table(&text).unwrap_or_else(|| describe_unknown(&text)),
    }
}

/// The advice for a schedule in another archive format.
const TO_ZIP: &str = "unpack it, and give the folder of the tables or a zip of them";

fn describe_zip(body: &[u8]) -> String {
    let names: Vec<String> =
        match ZipFiles::list_file_paths_and_sizes(Cursor::new(body), &DatasetLimits::default()) {
            Ok(paths) => paths.into_iter().map(|(path, _)| path).collect(),
            Err(error) => {
                return format!("this zip cannot be read: {error}; the download may be incomplete");
            }
        };
    if let Some(message) = describe_zip_of_zips(names.iter().map(String::as_str)) {
        return message;
    }
    format!("this zip has no GTFS table and no NeTEx publication: {}", list_first_files(&names))
}

/// Describes a zip that contains zips; `None` if it contains none.
pub(super) fn describe_zip_of_zips<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let zips: Vec<String> = names.filter(|name| is_zip_name(name)).map(str::to_owned).collect();
    (!zips.is_empty()).then(|| {
        format!(
            "this is a zip of zips: unpack it and check each zip separately; {}",
            list_first_files(&zips)
        )
    })
}

fn is_zip_name(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".zip")
}

/// Lists the first files of a zip or a folder.
fn list_first_files(names: &[String]) -> String {
    let shown = names.get(..NAMES_SHOWN_MAX.min(names.len())).unwrap_or_default().join(", ");
    match (names.len(), names.len().saturating_sub(NAMES_SHOWN_MAX)) {
        (0, _) => "it is empty".to_owned(),
        (_, 0) => format!("it has {shown}"),
        (_, more) => format!("it has {shown} and {more} more"),
    }
}

/// Describes a folder that cannot be checked and what to do about it; without a full stop.
pub fn describe_folder(names: &[String]) -> String {
    let is_json = |name: &&String| name.ends_with(".json");
    let lists = names.iter().filter(is_json).find(|name| name.starts_with("gbfs"));
    let todo = match lists {
        Some(name) => format!("; if {name} lists the files of a system, give that file"),
        None if names.iter().any(|name| is_zip_name(name)) => "; give one of the zips".to_owned(),
        None if names.iter().any(|name| is_json(&name)) => {
            "; to check one of its files, give that file".to_owned()
        }
        None => String::new(),
    };
    format!(
        "this folder has no GTFS table, no NeTEx publication and no GBFS file such as gbfs.json: {}{todo}",
        list_first_files(names)
    )
}

fn describe_gzip(body: &[u8]) -> String {
    let mut inside = Vec::new();
    // The beginning is enough, even if the rest cannot be inflated.
    _ = GzDecoder::new(body).take(INSPECTED_BYTES as u64).read_to_end(&mut inside);
    if is_tar(&inside) {
        return format!("this is a tar archive, compressed with gzip: {TO_ZIP}");
    }
    match inside.starts_with(b"PK") {
        true => "this is a zip, compressed again with gzip: unpack it with gunzip".to_owned(),
        false => "this is compressed with gzip: unpack it with gunzip".to_owned(),
    }
}

fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

fn describe_json(body: &[u8]) -> String {
    match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => format!(
            "{NO_FORMAT}; it is JSON, but has neither the header of GTFS-Realtime nor the data of GBFS"
        ),
        Err(error) => format!("this looks like JSON, but it is invalid: {error}"),
    }
}

/// Maximum size of a text that is parsed as TOML, in bytes.
const TOML_BYTES_MAX: usize = 1 << 20;

/// Returns true if a text is a TOML file with at least one key, unlike CSV and JSON.
fn is_toml(body: &[u8]) -> bool {
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= TOML_BYTES_MAX);
    text.is_some_and(|text| {
        text.contains('=') && toml::from_str::<toml::Table>(text).is_ok_and(|it| !it.is_empty())
    })
}

/// Describes a TOML file, which may be this program's configuration.
fn describe_toml(text: &str) -> String {
    let tables = ["[server]", "[[feed]]", "[admin]", "[limits]", "[[namespace]]", "[api]"];
    match text.lines().any(|line| tables.contains(&line.trim())) {
        true => "this is a configuration file of Lineside, not a feed: check it with lineside serve --check --config <file>".to_owned(),
        false => "this is a TOML file, not a feed: give a feed's file, folder or URL".to_owned(),
    }
}

fn describe_xml(text: &str) -> String {
    let mut rest = text.trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!") => ">",
            _ => break,
        };
        let Some((_, after)) = rest.split_once(end) else { return NO_FORMAT.to_owned() };
        rest = after.trim_start();
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '>' | '/');
    let root = rest.strip_prefix('<').and_then(|tag| tag.split(is_end).next()).unwrap_or_default();
    let root = root.rsplit(':').next().unwrap_or_default();
    match root.is_empty() {
        true => NO_FORMAT.to_owned(),
        false => {
            format!("{NO_FORMAT}; it is XML with the root {root}, not Siri or PublicationDelivery")
        }
    }
}

/// Number of characters that are quoted from the beginning of a text.
const QUOTED_MAX: usize = 60;

/// Describes a text of unknown format by its beginning, or binary data.
fn describe_unknown(text: &str) -> String {
    if text.contains(char::REPLACEMENT_CHARACTER) || text.contains('\0') {
        return format!("{NO_FORMAT}; it is a binary file of another format");
    }
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let start: String = line.chars().take(QUOTED_MAX).collect();
    format!("{NO_FORMAT}; it is text that begins with {start:?}")
}

/// Describes a single table of a schedule; `None` if the header is not GTFS.
fn describe_single_gtfs_table(text: &str) -> Option<String> {
    let header = text.lines().find(|line| !line.trim().is_empty())?;
    let names: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let known = |file: &&'static lineside_formats::gtfs::fields::FileSpec| {
        names.iter().filter(|name| file.find_field_spec(name).is_some()).count()
    };
    // The first of the best matches, because the basic files come first.
    let file = FILES.into_iter().rev().max_by_key(known)?;
    let n_known = known(&file);
    (n_known >= 2 && 2 * n_known >= names.len()).then(|| {
        format!(
            "this is a single GTFS table ({} by its header), and a schedule is checked as a whole: give a zip or the folder of all its tables",
            file.name
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use lineside_testkit::zip_files;

    use super::*;

    fn zip(names: &[&str]) -> Vec<u8> {
        zip_files(names.iter().map(|name| (name, "")))
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn tar() -> Vec<u8> {
        let mut block = vec![0; 1_024];
        block[..9].copy_from_slice(b"stops.txt");
        block[257..262].copy_from_slice(b"ustar");
        block
    }

    #[test]
    fn an_unsupported_input_is_named_with_advice() {
        let packed = zip(&["stops.txt"]);
        let wide: Vec<u8> = "\u{FEFF}stop_id".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases: [(&[u8], &str); 22] = [
            (b"", "it is empty"),
            (b" \r\n", "it is empty"),
            (b"<!DOCTYPE html><html></html>", "this is a web page"),
            (&gzip(&packed), "unpack it with gunzip"),
            (&gzip(&tar()), "a tar archive, compressed with gzip: unpack it"),
            (&gzip(b"{}"), "compressed with gzip"),
            (&tar(), "a tar archive"),
            (b"7z\xBC\xAF\x27\x1C....", "7-Zip"),
            (&packed[..20], "this zip cannot be read"),
            (&zip(&["a.csv", "b", "c", "d"]), "it has a.csv, b, c and 1 more"),
            (&zip(&["north.zip", "readme"]), "check each zip separately; it has north.zip"),
            (&zip(&[]), "it is empty"),
            (&wide, "UTF-16"),
            (b"{\"a\": ", "it is invalid: EOF"),
            (b"{\"a\": 1}", "it is JSON"),
            (b"<?xml version=\"1.0\"?>\n<!-- x --><k:kml>", "root kml,"),
            (b"\xEF\xBB\xBFstop_id,\"stop_name\",stop_lat\n1,A,2\n", "stops.txt by its header"),
            (b"trip_id,arrival_time,stop_id,stop_sequence\n", "stop_times.txt by its header"),
            (b"name,age\nx,1\n", "text that begins with \"name,age\""),
            (b"[server]\nlisten = \"a:1\"\n", "a configuration file of Lineside"),
            (b"# x\n[package]\nname = \"a\"\n", "this is a TOML file"),
            (b"\x00\x01\x02", "it is a binary file"),
        ];
        for (body, expected_text) in cases {
            let description = describe_unsupported_input(body);
            assert!(description.contains(expected_text), "{expected_text}: {description}");
        }
    }

    #[test]
    fn an_unsupported_folder_is_described_by_its_contents() {
        let cases: [(&[&str], &str); 5] = [
            (&[], ": it is empty"),
            (&["readme.md"], ": it has readme.md"),
            (
                &["a.json", "gbfs.3.0.json"],
                "; if gbfs.3.0.json lists the files of a system, give that file",
            ),
            (
                &["a.json", "b", "c", "d"],
                ": it has a.json, b, c and 1 more; to check one of its files",
            ),
            (&["gtfs.zip"], "; give one of the zips"),
        ];
        for (names, expected_text) in cases {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let description = describe_folder(&names);
            assert!(description.contains(expected_text), "{expected_text}: {description}");
            assert!(!description.contains("zip has no GTFS"), "{description}");
        }
    }
}
