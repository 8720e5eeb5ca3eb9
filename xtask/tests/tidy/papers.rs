//! Checks of the documentation: links, commands and named tests must exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::report;
use crate::tree::{File, file, files, files_ending, root};

#[test]
fn every_link_has_a_target() {
    let mut complaints = Vec::new();
    for paper in files_ending(".md") {
        for (line, target) in links(&paper) {
            if let Some(fault) = fault_of(&paper, target) {
                complaints.push(format!("{}:{line}: {target}: {fault}", paper.path));
            }
        }
    }
    report(&complaints);
}

fn links(paper: &File) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in prose(paper) {
        for (at, _) in text.match_indices("](") {
            let rest = &text[at + 2..];
            found.extend(rest.find(')').map(|end| (line, &rest[..end])));
        }
    }
    found
}

fn fault_of(paper: &File, target: &str) -> Option<String> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&paper.path).parent().unwrap_or(Path::new(""));
    let there =
        if path.is_empty() { root().join(&paper.path) } else { root().join(folder).join(path) };
    if !there.exists() {
        return Some("the file does not exist".to_owned());
    }
    if anchor.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(&there).unwrap_or_default();
    let file = File { path: String::new(), text };
    let found = prose(&file).any(|(_, line)| line.starts_with('#') && slug(line) == anchor);
    (!found).then(|| "no heading has this anchor".to_owned())
}

/// Returns the lines outside code blocks.
fn prose(paper: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    paper.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        !in_block && !fence
    })
}

/// Returns the anchor of a heading.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept =
        text.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn every_documented_xtask_verb_exists() {
    let listing =
        Command::new(env!("CARGO_BIN_EXE_xtask")).output().expect("xtask lists its verbs");
    let listing = String::from_utf8(listing.stdout).expect("the output is UTF-8");
    let verbs: BTreeSet<&str> = words_after("cargo xtask ", &listing).collect();
    assert!(verbs.contains("demo") && verbs.contains("test"), "`cargo xtask` prints:\n{listing}");
    let mut complaints = Vec::new();
    for paper in files_ending(".md") {
        for (line, text) in paper.lines() {
            for verb in words_after("cargo xtask ", text).filter(|verb| !verbs.contains(verb)) {
                complaints
                    .push(format!("{}:{line}: `cargo xtask {verb}` does not exist", paper.path));
            }
        }
    }
    report(&complaints);
}

fn words_after<'a>(marker: &'static str, text: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(marker).filter_map(move |(at, _)| {
        let rest = &text[at + marker.len()..];
        let end = rest.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    })
}

/// Checks that everything in code font in ARCHITECTURE.md exists: files and folders, by their whole
/// path or relative to the crate in a heading, functions, and tests that state a fact.
#[test]
fn every_name_in_the_architecture_exists() {
    let tree = files();
    let paper = file("ARCHITECTURE.md");
    let mut complaints = Vec::new();
    let mut room = "";
    for (line, text) in prose(&paper) {
        if text.starts_with('#') {
            room = text.split('`').nth(1).unwrap_or("");
        }
        for code in text.split('`').skip(1).step_by(2).filter(|code| !code.contains([' ', '<'])) {
            if let Some(fault) = missing(&tree, room, code) {
                complaints.push(format!("ARCHITECTURE.md:{line}: `{code}`: {fault}"));
            }
        }
    }
    report(&complaints);
}

fn missing(tree: &[File], room: &str, code: &str) -> Option<&'static str> {
    if ["/", ".rs", ".js", ".toml"].iter().any(|ending| code.ends_with(ending)) {
        let below = format!("/{code}");
        let in_room = |file: &File| file.path.starts_with(room) && file.path.contains(&below);
        let there = root().join(code).exists() || tree.iter().any(in_room);
        return (!there).then_some("the file does not exist");
    }
    let is_test = |name: &&str| name.contains('_');
    let function =
        code.strip_suffix("()").or_else(|| Some(code.rsplit_once("::")?.1).filter(is_test));
    let name = function?.rsplit("::").next()?;
    let defined = |file: &File| {
        let heads = ["fn ", "function ", "\n  "].map(|before| format!("{before}{name}("));
        heads.iter().any(|head| file.text.contains(head.as_str()))
    };
    (!tree.iter().any(defined)).then_some("no file defines this function")
}

#[test]
fn long_documents_stay_within_their_limits() {
    let limits = [("ARCHITECTURE.md", 360), ("CONTRIBUTING.md", 150)];
    let complaints: Vec<String> = limits
        .iter()
        .map(|(path, limit)| (path, limit, file(path).lines().count()))
        .filter(|(_, limit, lines)| lines > *limit)
        .map(|(path, limit, lines)| format!("{path} has {lines} lines; shorten it to {limit}"))
        .collect();
    report(&complaints);
}

/// Checks the form of the changelog: `# Changelog`, then releases, newest first; in each, breaking
/// changes come first, and every entry is a sentence.
#[test]
fn the_changelog_has_the_required_form() {
    const SECTIONS: [&str; 5] =
        ["### Breaking", "### Added", "### Changed", "### Fixed", "### Removed"];
    let paper = file("CHANGELOG.md");
    let mut complaints = Vec::new();
    let mut section = None;
    let mut releases = 0;
    let mut entry: Option<(usize, String)> = None;
    for (line, text) in paper.lines().chain(std::iter::once((0, ""))) {
        if let Some((_, entry)) = entry.as_mut().filter(|_| text.starts_with("  ")) {
            entry.push_str(text);
            continue;
        }
        if let Some((line, entry)) = entry.take().filter(|(_, entry)| !entry.ends_with('.')) {
            complaints
                .push(format!("CHANGELOG.md:{line}: the entry must end with a full stop: {entry}"));
        }
        if let Some(release) = text.strip_prefix("## ") {
            (section, releases) = (None, releases + 1);
            let dated =
                release.split_once(" - ").is_some_and(|(_, date)| date.len() == "2026-01-31".len());
            if !dated && (release != "Unreleased" || releases > 1) {
                complaints.push(format!(
                    "CHANGELOG.md:{line}: the heading must be `## Unreleased`, at the top, or have \
                    the form `## 1.2.3 - 2026-01-31`"
                ));
            }
        } else if text.starts_with("### ") {
            let place = SECTIONS.iter().position(|known| *known == text);
            if place.is_none() || place <= section {
                complaints.push(format!(
                    "CHANGELOG.md:{line}: the sections must be, in this order: {}",
                    SECTIONS.join(", ")
                ));
            }
            section = place;
        } else if text.starts_with("- ") {
            entry = Some((line, text.to_owned()));
        } else if !text.is_empty() && releases > 0 {
            complaints.push(format!(
                "CHANGELOG.md:{line}: the line is neither a release, a section nor an entry"
            ));
        }
    }
    assert!(releases > 0, "CHANGELOG.md has no release");
    report(&complaints);
}

/// Checks that every error code is documented, since programs rely on them.
#[test]
fn every_error_code_is_documented() {
    let paper = file("docs/protocol/http.md");
    let is_code =
        |text: &&str| text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    let mut codes = BTreeSet::new();
    let sources = ["crates/lineside-http/src/errors.rs", "crates/lineside-wire/src/sse/open.rs"];
    for source in sources.map(file) {
        let arms =
            source.lines().filter(|(_, line)| line.contains("Self::") && line.contains("=>"));
        let texts = arms.filter_map(|(_, line)| line.split('"').nth(1)).filter(is_code);
        codes.extend(texts.filter(|text| !text.is_empty()).map(str::to_owned));
    }
    assert!(codes.len() >= 10, "too few codes were found: {codes:?}");
    let missing = codes.iter().filter(|code| !paper.text.contains(&format!("`{code}`")));
    let complaints: Vec<String> = missing
        .map(|code| format!("docs/protocol/http.md: the code {code} is not documented"))
        .collect();
    report(&complaints);
}

/// Checks that every data file has its source and licence.
#[test]
fn every_fixture_has_a_source_and_licence() {
    let mut complaints = Vec::new();
    for folder in ["fixtures", "fuzz/seeds"] {
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        let readme = file(&format!("{folder}/README.md"));
        if !readme.text.contains("Licence:") {
            complaints.push(format!("{folder}/README.md: no line begins with `Licence:`"));
        }
        for entry in entries {
            let name = entry.expect("a readable entry").file_name().to_string_lossy().into_owned();
            if name != "README.md" && !readme.text.contains(&format!("`{name}`")) {
                complaints.push(format!(
                    "{folder}/README.md: `{name}` is not listed; add its source and licence"
                ));
            }
        }
    }
    report(&complaints);
}

#[test]
fn the_licence_files_exist() {
    assert!(file("LICENSE-MIT").text.contains("The Lineside authors"));
    assert!(file("LICENSE-APACHE").text.contains("Version 2.0, January 2004"));
}
