//! Real files, where a folder with some lies beside the repository. Without it a test that asks for some is skipped.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The files in a folder of the real ones (`gtfs`, `siri`, …) and in its folders, in order, with this extension if one is
/// named; with a word if there are none. Which
/// folder holds the real ones, `LINESIDE_DATA` says, if it is not `../shared/data`.
pub(crate) fn real_files(folder: &str, extension: Option<&str>) -> Vec<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = env::var_os("LINESIDE_DATA").map_or_else(beside, PathBuf::from).join(folder);
    let is_one = |path: &Path| {
        extension.is_none() || path.extension().and_then(|it| it.to_str()) == extension
    };
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if is_one(&path) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    if found.is_empty() {
        println!("skipped: no files under {}", root.display());
    }
    found
}
