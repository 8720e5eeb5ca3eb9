//! Real files in a folder next to the repository, and the counts of codes in them that were checked by hand.

#![expect(clippy::print_stderr, reason = "the test prints the number of comparisons")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use lineside_validate::Notices;

/// Returns the folder of real files with this name. If it is missing, prints a message and returns `None`.
pub(crate) fn data(folder: &str) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(folder);
    if !data.is_dir() {
        eprintln!("skipped: there is no {folder} next to the repository");
    }
    data.is_dir().then_some(data)
}

/// Returns the files in a folder and its subfolders, each with its relative path, in order.
pub(crate) fn files(data: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    gather(data, &mut found);
    let name = |path: &PathBuf| {
        path.strip_prefix(data).expect("a file in the folder").to_string_lossy().into_owned()
    };
    found.into_iter().map(|path| (name(&path), path)).collect()
}

fn gather(path: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(path).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { gather(&path, found) } else { found.push(path) }
    }
}

/// The counts of codes by set of files.
#[derive(Default)]
pub(crate) struct Tally {
    counts: BTreeMap<(String, &'static str), u64>,
    n_read: u64,
}

impl Tally {
    /// Adds the notices about a file, and prints those with the code in `LINESIDE_SHOW`, or all for `all`.
    pub(crate) fn add(&mut self, set: &str, file: &str, notices: &Notices) {
        let shown = std::env::var("LINESIDE_SHOW").ok();
        self.n_read += 1;
        for all in notices.iter() {
            *self.counts.entry((set.to_owned(), all.kind.code)).or_insert(0) += all.total;
            if shown.as_deref().is_some_and(|shown| shown == all.kind.code || shown == "all") {
                let samples = serde_json::to_string(&all.samples).expect("JSON");
                eprintln!("{file} {} {} {samples}", all.kind.code, all.total);
            }
        }
    }

    /// Asserts that the counts are as expected, and that a file was read.
    pub(crate) fn hold(&self, expected: &[(&str, &str, u64)]) {
        assert!(self.n_read > 0, "no file can be read");
        let counts = self.counts.iter();
        let found: Vec<_> =
            counts.map(|((set, code), total)| (set.as_str(), *code, *total)).collect();
        assert_eq!(found, expected);
    }
}
