//! Lists the ten longest files and functions on each run. A long one may remain, but may not grow,
//! and a new one needs `cargo xtask bless`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::code::defined_name;
use crate::report;
use crate::tree::{File, files, root};

/// The largest number of lines of a file that is not long.
const FILE_LINES: usize = 500;
/// The largest number of lines of a function that is not long.
const FUNCTION_LINES: usize = 60;
/// The number of files and of functions to print.
const SHOWN: usize = 10;

const RECORD: &str = "xtask/tests/tidy/longest.txt";

#[test]
fn long_files_and_functions_do_not_grow() {
    let sources: Vec<File> = files().into_iter().filter(is_source).collect();
    let files = longest(sources.iter().map(|file| (file.path.clone(), own_lines(file).count())));
    let functions =
        longest(sources.iter().filter(|file| file.path.ends_with(".rs")).flat_map(functions));
    show("files", &files);
    show("functions", &functions);

    let long = |lengths: BTreeMap<String, usize>, limit: usize| {
        lengths.into_iter().filter(move |(_, lines)| *lines > limit)
    };
    let long: BTreeMap<String, usize> =
        long(files, FILE_LINES).chain(long(functions, FUNCTION_LINES)).collect();
    if std::env::var_os("LINESIDE_BLESS").is_some() {
        record(&long);
    }
    let recorded = recorded();
    let complaints: Vec<String> = long
        .iter()
        .filter_map(|(name, lines)| match recorded.get(name) {
            Some(before) if lines <= before => None,
            Some(before) => Some(format!("{name} grew from {before} to {lines} lines; split it")),
            None => Some(format!("{name} has {lines} lines; split it, or run `cargo xtask bless`")),
        })
        .collect();
    report(&complaints);
}

/// Returns the lengths by name. Of two functions with one name in a file, the longer one counts.
fn longest(measured: impl Iterator<Item = (String, usize)>) -> BTreeMap<String, usize> {
    let mut lengths = BTreeMap::new();
    for (name, lines) in measured {
        let known = lengths.entry(name).or_insert(lines);
        *known = lines.max(*known);
    }
    lengths
}

fn is_source(file: &File) -> bool {
    let rust = file.path.ends_with(".rs") && file.path.contains("src/");
    let web = file.path.starts_with("web/")
        && !file.path.starts_with("web/tests/")
        && [".ts", ".js", ".css"].iter().any(|ending| file.path.ends_with(ending));
    rust || web
}

/// Returns the lines of a file without the tests at its end.
fn own_lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.lines().take_while(|(_, line)| *line != "#[cfg(test)]")
}

/// Returns the functions with their lengths, by rustfmt's indentation: a function ends at the first
/// closing brace with its own indentation.
fn functions(file: &File) -> Vec<(String, usize)> {
    let lines: Vec<(usize, &str)> = own_lines(file).collect();
    let mut found = Vec::new();
    for (index, (number, line)) in lines.iter().enumerate() {
        let is_function = defined_name(line).filter(|name| line.contains(&format!("fn {name}")));
        let (Some(name), false) = (is_function, line.trim_end().ends_with(';')) else { continue };
        let indentation = &line[..line.len() - line.trim_start().len()];
        let is_end = |(at, line): &&(usize, &str)| {
            line.strip_prefix(indentation) == Some("}") || (at == number && line.ends_with('}'))
        };
        if let Some((end, _)) = lines[index..].iter().find(is_end) {
            found.push((format!("{}: {name}", file.path), end - number + 1));
        }
    }
    found
}

fn show(what: &str, lengths: &BTreeMap<String, usize>) {
    let mut longest: Vec<(&String, &usize)> = lengths.iter().collect();
    longest.sort_by_key(|(_, lines)| std::cmp::Reverse(**lines));
    println!("longest {what}:");
    for (name, lines) in longest.iter().take(SHOWN) {
        println!("{lines:>6}  {name}");
    }
}

fn record(long: &BTreeMap<String, usize>) {
    let mut text = String::new();
    for (name, lines) in long {
        let _ = writeln!(text, "{lines:>6}  {name}");
    }
    fs::write(root().join(RECORD), text).expect("the record is writable");
}

fn recorded() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join(RECORD)).expect("the record is readable");
    let entry = |line: &str| {
        let (lines, name) = line.trim().split_once("  ")?;
        Some((name.to_owned(), lines.parse().ok()?))
    };
    text.lines().filter_map(entry).collect()
}

#[test]
fn a_function_is_measured_from_its_name_to_its_closing_brace() {
    let text = "impl A {\n    fn long(\n        a: u8,\n    ) {\n        if a {\n        }\n    }\n\n    fn short(&self) {}\n}\n";
    let file = File { path: "src/a.rs".to_owned(), text: text.to_owned() };
    let expected = [("src/a.rs: long".to_owned(), 6), ("src/a.rs: short".to_owned(), 1)];
    assert_eq!(functions(&file), expected);
}
