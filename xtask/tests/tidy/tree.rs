//! The text files of the source tree.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with build results or fetched files.
const NOT_OURS: &[&str] = &[
    ".git",
    "target",
    "node_modules",
    "dist",
    "test-results",
    "lineside-data",
    "corpus",
    "artifacts",
    "proptest-regressions",
];

/// A text file of the tree.
pub(crate) struct File {
    /// The path relative to the root, with `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Returns the lines with their numbers, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    pub(crate) fn is_in(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ is in the repository").to_owned()
}

/// Returns every text file of the tree, ordered by path.
pub(crate) fn files() -> Vec<File> {
    let root = root();
    let mut files = Vec::new();
    walk(&root, &root, &mut files);
    files.sort_by(|left, right| left.path.cmp(&right.path));
    assert!(
        files.iter().any(|file| file.path == "Cargo.toml"),
        "cannot find the tree at {}",
        root.display()
    );
    files
}

/// Returns the files whose name ends with a suffix.
pub(crate) fn files_ending(suffix: &str) -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(suffix)).collect()
}

/// Reads a file that must exist.
pub(crate) fn file(path: &str) -> File {
    let text =
        fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    File { path: path.to_owned(), text }
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("an entry with a name").to_string_lossy();
        if path.is_dir() && !NOT_OURS.contains(&&*name) {
            walk(root, &path, files);
        } else if path.is_file()
            && let Ok(text) = fs::read_to_string(&path)
        {
            let relative = path.strip_prefix(root).expect("an entry below the root");
            files.push(File { path: relative.to_string_lossy().replace('\\', "/"), text });
        }
    }
}
