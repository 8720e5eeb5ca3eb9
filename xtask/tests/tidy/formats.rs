//! The files that name a format. Code that depends on a format uses a fact of
//! `libs/lineside-formats/src/format.rs`, or one of the few tables that have a row for each format,
//! so that a new format changes few files.

use std::collections::BTreeSet;

use crate::report;
use crate::tree::{File, files_ending};

/// Each format: its variant in code, and the names of its own files and folders.
const FORMATS: &[(&str, &str)] = &[
    ("GtfsRt", "gtfs_rt"),
    ("Gtfs", "gtfs"),
    ("Netex", "netex"),
    ("Siri", "siri"),
    ("Gbfs", "gbfs"),
    ("Raw", "raw"),
];

/// The files that may name formats, beside the own files of each format. Do not add a file if a fact
/// of the format is enough.
const NAMING_FILES: &[(&str, &[&str])] = &[
    // Tables with a row for each format: facts, contents of a source, downloads, rules and checks,
    // conversions.
    ("libs/lineside-formats/src/format.rs", ALL),
    ("crates/lineside-ingest/src/ingest/source_test.rs", ALL),
    ("crates/lineside-pages/src/feed/usage.rs", ALL),
    ("crates/lineside-quality/src/check/formats.rs", ALL),
    ("crates/lineside-quality/src/convert/mod.rs", ALL),
    // Choose by the content or the name of a file.
    ("libs/lineside-formats/src/sniff.rs", &["GtfsRt", "Gtfs", "Netex"]),
    // Decode one format differently from the others.
    ("crates/lineside-ingest/src/poll/protocol.rs", &["Siri"]),
    ("crates/lineside-ingest/src/poll/protocols/plain.rs", &["GtfsRt"]),
    ("crates/lineside-model/src/dataset.rs", &["Gtfs", "Netex"]),
    ("crates/lineside-quality/src/check/memory_estimate.rs", &["Gtfs"]),
    ("crates/lineside-quality/src/convert/realtime.rs", &["Siri"]),
    ("crates/lineside-quality/src/reports/realtime/previous_datasets.rs", &["Netex"]),
    // State the format of what they make: an original body, a GTFS zip, the demo's system.
    ("crates/lineside-ingest/src/poll/protocols/converted.rs", &["Raw"]),
    ("crates/lineside-quality/src/convert/schedule_geojson.rs", &["Gtfs"]),
    ("crates/lineside/src/demo/feeds.rs", &["Gbfs"]),
    // The format that a missing value implies: a `siri` table, a report of the reference validator,
    // a faulty key of the configuration.
    ("crates/lineside-model/src/feed_config.rs", &["Siri"]),
    ("crates/lineside-quality/src/check/parse_report.rs", &["Gtfs"]),
    ("crates/lineside-config/src/converters.rs", &["Gtfs"]),
    ("crates/lineside-config/src/external_validators.rs", &["Gtfs"]),
    // Finds an example of a SIRI feed for the addresses of SIRI.
    ("crates/lineside-http/src/openapi/examples.rs", &["Siri"]),
];

const ALL: &[&str] = &["GtfsRt", "Gtfs", "Netex", "Siri", "Gbfs", "Raw"];

#[test]
fn formats_are_named_only_in_the_listed_files() {
    let sources: Vec<File> = files_ending(".rs").into_iter().filter(is_source).collect();
    let tests = modules_of_tests(&sources);
    let mut complaints = Vec::new();
    for file in sources.iter().filter(|file| !tests.contains(&file.path)) {
        let named = formats_in(file);
        let listed = NAMING_FILES.iter().find(|(path, _)| *path == file.path);
        let allowed = listed.map_or(&[][..], |(_, formats)| formats);
        for format in named.iter().filter(|format| !allowed.contains(format)) {
            complaints.push(format!(
                "{}: names Format::{format}; use a fact of format.rs or a table of formats",
                file.path
            ));
        }
        for format in allowed.iter().filter(|format| !named.contains(format)) {
            complaints.push(format!(
                "{}: no longer names Format::{format}; remove it from NAMING_FILES",
                file.path
            ));
        }
    }
    for (path, _) in
        NAMING_FILES.iter().filter(|(path, _)| !sources.iter().any(|it| it.path == *path))
    {
        complaints.push(format!("{path}: there is no such file; remove it from NAMING_FILES"));
    }
    for (format, _) in FORMATS {
        let count = NAMING_FILES.iter().filter(|(_, formats)| formats.contains(format)).count();
        println!("{count:>6}  files that name Format::{format}");
    }
    report(&complaints);
}

fn is_source(file: &File) -> bool {
    file.is_in(&["crates/", "libs/"])
        && file.path.contains("/src/")
        && !file.path.contains("/tests/")
        && !file.path.ends_with("/tests.rs")
}

/// Returns the paths of modules that are compiled only for tests.
fn modules_of_tests(sources: &[File]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in sources {
        let folder = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let folder = ["/mod", "/lib", "/main"]
            .iter()
            .find_map(|end| folder.strip_suffix(end))
            .unwrap_or(folder);
        let declarations = file.text.split("#[cfg(test)]\nmod ").skip(1);
        found.extend(declarations.filter_map(|rest| {
            let (name, _) = rest.lines().next()?.split_once(';')?;
            Some(format!("{folder}/{name}.rs"))
        }));
    }
    found
}

/// Returns the formats that a file names outside of its tests, except the format that it belongs to.
fn formats_in(file: &File) -> Vec<&'static str> {
    let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_named = |format: &str| {
        code.match_indices("Format::").any(|(at, path)| {
            let before = code[..at].chars().next_back().is_some_and(is_word);
            let rest = code[at + path.len()..].strip_prefix(format);
            !before && rest.is_some_and(|rest| !rest.starts_with(is_word))
        })
    };
    let own = own_format(&file.path);
    let named = FORMATS.iter().map(|(format, _)| *format);
    named.filter(|format| Some(*format) != own && is_named(format)).collect()
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the format that a file belongs to: a folder or the file has the format's name, alone or
/// before another word.
fn own_format(path: &str) -> Option<&'static str> {
    let parts = path.strip_suffix(".rs").unwrap_or(path).split('/');
    parts
        .filter_map(|part| {
            let part = part.strip_prefix("lineside-").unwrap_or(part);
            let is_own = |name: &str| {
                part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            FORMATS.iter().find(|(_, name)| is_own(name)).map(|(format, _)| *format)
        })
        .next()
}

#[test]
fn a_file_belongs_to_the_format_in_its_path() {
    assert_eq!(own_format("libs/lineside-formats/src/gtfs_rt/message_time.rs"), Some("GtfsRt"));
    assert_eq!(own_format("crates/a/src/check/gtfs_check.rs"), Some("Gtfs"));
    assert_eq!(own_format("libs/lineside-gbfs/src/lib.rs"), Some("Gbfs"));
    assert_eq!(own_format("crates/a/src/convert/mod.rs"), None);
}

#[test]
fn formats_in_tests_and_longer_names_do_not_count() {
    let text = "fn a() { Format::GtfsRt; ProtocolFormat::Raw; Format::Sirius; Format::ALL; }\n\
                #[cfg(test)]\nmod tests {\n    use Format::Netex;\n}\n";
    let file = File { path: "src/a.rs".to_owned(), text: text.to_owned() };
    assert_eq!(formats_in(&file), ["GtfsRt"]);
}
