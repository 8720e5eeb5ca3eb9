//! Real files, where a folder with some lies beside the repository. Without it a test that asks for some is skipped.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The files in a folder of the real ones (`gtfs`, `siri`, …) and in its folders, in order; with a word if there are none. Which
/// folder holds the real ones, `LINESIDE_DATA` says, if it is not `../shared/data`.
pub(crate) fn real_files(folder: &str) -> Vec<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = env::var_os("LINESIDE_DATA").map_or_else(beside, PathBuf::from).join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    if found.is_empty() {
        println!("skipped: no files under {}", root.display());
    }
    found
}

/// Those of them whose name has this extension.
#[allow(dead_code, reason = "each test is a crate of its own, and some read all files")]
pub(crate) fn real_files_named(folder: &str, extension: &str) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    real_files(folder).into_iter().filter(is_one).collect()
}
