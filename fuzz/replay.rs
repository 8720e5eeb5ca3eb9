//! Runs the fuzz targets over their seeds, for tests without a fuzzer; included by those of lineside-formats,
//! lineside-gbfs and lineside-wire.

use std::{collections::BTreeSet, ffi::OsStr, fs, path::PathBuf};

/// The name of a fuzz target, and its check of arbitrary bytes.
pub type Check = (&'static str, fn(&[u8]));

/// Runs the check over every seed of its target.
///
/// # Panics
///
/// Panics with the seed's path if the check fails, and if there are no seeds.
pub fn replay(checks: &[Check], target: &str) {
    let (_, check) = checks.iter().find(|(name, _)| *name == target).unwrap();
    let seeds = entries(&format!("seeds/{target}"));
    assert!(!seeds.is_empty(), "seeds/{target} is empty");
    for seed in seeds {
        let bytes = fs::read(&seed).unwrap();
        let passed = std::panic::catch_unwind(|| check(&bytes));
        assert!(passed.is_ok(), "{} fails, see above", seed.display());
    }
}

/// Checks that every target that calls a function of `module` is in Cargo.toml, has seeds, and is one of the checks.
///
/// # Panics
///
/// Panics with the name of a target that is not.
pub fn check_that_none_is_forgotten(checks: &[Check], module: &str) {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let mut fuzzed = BTreeSet::new();
    for target in entries("fuzz_targets") {
        let name = target.file_stem().and_then(OsStr::to_str).unwrap().to_owned();
        assert!(manifest.contains(&format!("name = {name:?}")), "{name} is not in Cargo.toml");
        if fs::read_to_string(&target).unwrap().contains(&format!("lineside_fuzz::{module}::")) {
            assert!(fuzz().join("seeds").join(&name).is_dir(), "{name} has no seeds");
            fuzzed.insert(name);
        }
    }
    let replayed: BTreeSet<String> = checks.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(fuzzed, replayed);
}

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let folder = fuzz().join(folder);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}
