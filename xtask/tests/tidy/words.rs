//! Checks of the dictionary, and of words that the documentation must not contain.

use std::collections::BTreeSet;

use crate::report;
use crate::tree::{File, file, files, files_ending};

/// Words that the dictionary must contain.
const MUST_BE_EXPLAINED: &[&str] = &[
    "alert",
    "change",
    "channel",
    "connection",
    "dataset",
    "departure",
    "epoch",
    "feed",
    "network",
    "offset",
    "position",
    "problem",
    "publication",
    "record",
    "revision",
    "room",
    "route",
    "service date",
    "session",
    "snapshot",
    "source",
    "stop",
    "subscription",
    "trip",
    "trip instance",
];

/// Texts that the documentation must not contain, in pieces: internal documents, and files outside
/// the tree.
const NOT_FOR_READERS: &[&str] = &[
    concat!("DESIGN", ".md"),
    concat!("DESIGN", " §"),
    concat!("STYLE", ".md"),
    concat!("STYLE", " §"),
    concat!("STACK", ".md"),
    concat!("STACK", " §"),
    concat!("PRIMITIVES", ".md"),
    concat!("CONTRACT", ".md"),
    concat!("walking ", "skeleton"),
    concat!("registry.", "npmjs"),
    concat!("index.", "crates"),
    concat!("static.", "crates"),
    concat!("proxy.", "golang"),
    concat!("/work", "/"),
];

/// A line of the dictionary.
struct Entry {
    word: String,
    line: usize,
    cells: usize,
}

fn entries(dictionary: &File) -> Vec<Entry> {
    let rows = dictionary
        .lines()
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| word"));
    rows.map(|(line, text)| {
        let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
        Entry {
            word: cells[0].to_owned(),
            line,
            cells: cells.iter().filter(|cell| !cell.is_empty()).count(),
        }
    })
    .collect()
}

#[test]
fn the_dictionary_is_sorted_and_complete() {
    let dictionary = file("docs/dictionary.md");
    let entries = entries(&dictionary);
    let mut complaints = Vec::new();
    for pair in entries.windows(2) {
        if pair[0].word >= pair[1].word {
            complaints.push(format!(
                "docs/dictionary.md:{}: {} is out of order",
                pair[1].line, pair[1].word
            ));
        }
    }
    for entry in entries.iter().filter(|entry| entry.cells < 2) {
        complaints
            .push(format!("docs/dictionary.md:{}: {} has no meaning", entry.line, entry.word));
    }
    for word in MUST_BE_EXPLAINED {
        if !entries.iter().any(|entry| entry.word == *word) {
            complaints.push(format!("docs/dictionary.md: {word} is missing"));
        }
    }
    report(&complaints);
}

#[test]
fn every_word_of_the_dictionary_is_used() {
    let sources: Vec<String> = files()
        .iter()
        .filter(|file| file.is_in(&["libs/", "crates/", "docs/protocol/", "docs/operate/"]))
        .map(|file| file.text.to_lowercase())
        .collect();
    let used = |word: &str| {
        let forms: BTreeSet<String> =
            [" ", "_", ""].iter().map(|joint| word.replace(' ', joint)).collect();
        sources.iter().any(|text| forms.iter().any(|form| text.contains(form.as_str())))
    };
    let complaints: Vec<String> = entries(&file("docs/dictionary.md"))
        .iter()
        .filter(|entry| !used(&entry.word))
        .map(|entry| {
            format!("docs/dictionary.md:{}: {} is not used anywhere", entry.line, entry.word)
        })
        .collect();
    report(&complaints);
}

#[test]
fn nothing_refers_outside_the_tree() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| !file.path.ends_with(".lock")) {
        for (line, text) in file.lines() {
            if let Some(named) = NOT_FOR_READERS.iter().find(|named| text.contains(**named)) {
                complaints.push(format!(
                    "{}:{line}: {named:?} names something outside this tree; remove it",
                    file.path
                ));
            }
        }
    }
    report(&complaints);
}

#[test]
fn documents_describe_the_product_only() {
    let mut complaints = Vec::new();
    for file in files_ending(".md") {
        for (line, text) in file.lines() {
            let words: Vec<String> = text
                .split(|letter: char| !letter.is_alphanumeric() && letter != '#')
                .map(str::to_lowercase)
                .filter(|word| !word.is_empty())
                .collect();
            let numbered = |word: &String| {
                word.trim_start_matches('#').chars().all(|letter| letter.is_ascii_digit())
            };
            let issue =
                words.windows(2).any(|pair| pair[0] == concat!("is", "sue") && numbered(&pair[1]));
            let other = [concat!("help", "er"), concat!("help", "ers"), concat!("mile", "stone")];
            if issue || words.iter().any(|word| other.contains(&word.as_str())) {
                complaints.push(format!(
                    "{}:{line}: remove this, because it is about how the project is made: {}",
                    file.path,
                    text.trim()
                ));
            }
        }
    }
    report(&complaints);
}
