//! Real files, if their folder is next to the repository. Without it, tests that need some are skipped.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Returns the files in a folder of the real ones (`gtfs`, `siri`, …) and its sub-folders, in order, with this
/// extension if one is given. Prints a message if there are none. `LINESIDE_DATA` names the folder of the real files;
/// the default is `../shared/data`.
pub(crate) fn real_files(folder: &str, extension: Option<&str>) -> Vec<PathBuf> {
    let default_folder = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = env::var_os("LINESIDE_DATA").map_or_else(default_folder, PathBuf::from).join(folder);
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
