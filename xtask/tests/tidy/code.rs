//! Conventions of the Rust files: heads, bounded queues, names.

use std::collections::BTreeMap;

use crate::report;
use crate::tree::{File, files, files_ending};

/// Markers of unfinished work, in pieces so that this line does not contain them.
const UNFINISHED: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("HA", "CK")];

/// Unbounded queues.
const UNBOUNDED: &[&str] =
    &[concat!("unbounded_", "channel"), concat!("mpsc::", "channel()"), concat!("unbounded", "()")];

/// Attributes that skip a test.
const SKIPPED: &[&str] = &[concat!("#[ig", "nore")];

/// Calls that make a test depend on timing.
const SLEEPING: &[&str] = &[concat!("thread::", "sleep(")];

/// Abbreviations that are not in the dictionary.
const SHORT_FORMS: &[&str] =
    &["cfg", "cnt", "mgr", "msg", "srv", "svc", "tmp", "util", "utils", "ws"];

fn sources() -> Vec<File> {
    files_ending(".rs")
}

#[test]
fn every_module_begins_with_a_doc_comment() {
    let complaints: Vec<String> = sources()
        .iter()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| format!("{}: the file has no `//!` comment; say what the module is", file.path))
        .collect();
    report(&complaints);
}

#[test]
fn no_unfinished_markers_are_left() {
    let own_papers =
        |file: &File| file.path != "Cargo.lock" && !file.path.ends_with("package-lock.json");
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| own_papers(file)) {
        for (line, text) in file.lines() {
            let words: Vec<&str> =
                text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
            if let Some(mark) = UNFINISHED.iter().find(|mark| words.contains(mark)) {
                complaints.push(format!(
                    "{}:{line}: {mark}: finish the work, or open an issue and remove the marker",
                    file.path
                ));
            }
        }
    }
    report(&complaints);
}

#[test]
fn every_queue_has_a_bound() {
    // A benchmark compares unbounded queues with Lineside's own.
    let is_ours = |file: &File| !file.path.contains("/tests/") && !file.is_in(&["bench/"]);
    let sources: Vec<File> = sources().into_iter().filter(is_ours).collect();
    report(&lines_with(
        &sources,
        UNBOUNDED,
        "the queue is unbounded; give it a bound in limits.rs",
    ));
}

#[test]
fn no_test_is_skipped() {
    report(&lines_with(&sources(), SKIPPED, "the test is skipped; run it or remove it"));
}

/// Tests of a running process, of threads, and measurements use real time; all others use an injected clock.
#[test]
fn tests_do_not_sleep() {
    let sources: Vec<File> = sources()
        .into_iter()
        .filter(|file| {
            !file.is_in(&[
                "crates/lineside/tests/",
                "crates/lineside-wire/tests/partition/",
                "libs/lineside-sync/",
                "bench/",
            ])
        })
        .collect();
    report(&lines_with(
        &sources,
        SLEEPING,
        "the test sleeps; wait for the effect with the simulated clock instead",
    ));
}

fn lines_with(sources: &[File], patterns: &[&str], advice: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in sources {
        for (line, text) in file.lines().filter(|(_, text)| !text.trim_start().starts_with("//")) {
            if let Some(pattern) = patterns.iter().find(|pattern| text.contains(**pattern)) {
                complaints.push(format!("{}:{line}: `{pattern}`: {advice}", file.path));
            }
        }
    }
    complaints
}

#[test]
fn names_contain_no_short_forms() {
    let mut complaints = Vec::new();
    for file in sources() {
        for (line, text) in file.lines() {
            let Some(name) = defined_name(text) else { continue };
            if let Some(short) = parts(name).find(|part| SHORT_FORMS.contains(&part.as_str())) {
                complaints.push(format!(
                    "{}:{line}: {name}: write {short:?} in full (docs/dictionary.md)",
                    file.path
                ));
            }
            if text.trim_start().starts_with("fn test_") {
                complaints.push(format!(
                    "{}:{line}: {name}: name the test after the fact that it checks",
                    file.path
                ));
            }
        }
    }
    report(&complaints);
}

/// Search must find one definition: a public type has a name of its own in its crate. A fallback for another system
/// replaces its original and has the same name.
#[test]
fn public_type_names_are_unique_in_their_crate() {
    let mut definitions: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut complaints = Vec::new();
    let is_source = |file: &File| {
        file.is_in(&["crates/", "libs/"])
            && file.path.split('/').nth(2) == Some("src")
            && !file.path.ends_with("_fallback.rs")
    };
    for file in sources().into_iter().filter(is_source) {
        let crate_name: String = file.path.split('/').take(2).collect::<Vec<_>>().join("/");
        for (line, text) in file.lines().filter(|(_, text)| text.starts_with("pub")) {
            let Some(name) = defined_name(text) else { continue };
            if !name.starts_with(char::is_uppercase) {
                continue;
            }
            let place = format!("{}:{line}", file.path);
            let key = (crate_name.clone(), name.to_owned());
            if let Some(first) = definitions.insert(key, place.clone()) {
                complaints.push(format!("{place}: {name} is also defined in {first}"));
            }
        }
    }
    report(&complaints);
}

pub(crate) fn defined_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after
            .strip_prefix('(')
            .map_or(after, |inside| inside.split_once(')').map_or(inside, |(_, rest)| rest));
        rest = rest.trim_start();
    }
    for modifier in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(modifier).unwrap_or(rest);
    }
    let keywords = ["fn ", "struct ", "enum ", "trait ", "mod ", "type "];
    let name = keywords.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    let end =
        name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

/// Returns the words of a name: `RoomKey` and `room_key` are both "room" and "key".
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| letter != '_') {
            last.extend(letter.to_lowercase());
        }
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

#[test]
fn the_name_of_a_definition_is_parsed() {
    assert_eq!(defined_name("    pub(crate) async fn read_state(&self) {"), Some("read_state"));
    assert_eq!(defined_name("pub struct RoomKey {"), Some("RoomKey"));
    assert_eq!(defined_name("let fn_pointer = 1;"), None);
    assert_eq!(parts("WsMgr").collect::<Vec<_>>(), ["ws", "mgr"]);
}
