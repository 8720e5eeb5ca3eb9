//! Every seed of the fuzzers through the checks that the fuzzers make, without a fuzzer: runs on stable.
#![cfg(all(feature = "gtfs", feature = "gtfs-rt"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeSet, ffi::OsStr, fs, path::PathBuf};

#[path = "../../../fuzz/src/formats.rs"]
pub mod checks;

type Check = fn(&[u8]);

const CHECKS: [(&str, Check); 4] = [
    ("gtfs", checks::gtfs),
    ("gtfs_rt", checks::gtfs_rt),
    ("gtfs_rt_json", checks::gtfs_rt_json),
    ("gtfs_text", checks::gtfs_text),
];

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

fn replay(target: &str) {
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == target).unwrap();
    let seeds = entries(&format!("seeds/{target}"));
    assert!(!seeds.is_empty(), "seeds/{target} is empty");
    for seed in seeds {
        let bytes = fs::read(&seed).unwrap();
        let passed = std::panic::catch_unwind(|| check(&bytes));
        assert!(passed.is_ok(), "{} fails, see above", seed.display());
    }
}

#[test]
fn gtfs() {
    replay("gtfs");
}

#[test]
fn gtfs_rt() {
    replay("gtfs_rt");
}

#[test]
fn gtfs_rt_json() {
    replay("gtfs_rt_json");
}

#[test]
fn gtfs_text() {
    replay("gtfs_text");
}

#[test]
fn every_fuzz_target_has_its_seeds_and_its_replay() {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let mut fuzzed = BTreeSet::new();
    for target in entries("fuzz_targets") {
        let name = target.file_stem().and_then(OsStr::to_str).unwrap().to_owned();
        assert!(manifest.contains(&format!("name = {name:?}")), "{name} is not in Cargo.toml");
        if fs::read_to_string(&target).unwrap().contains("lineside_fuzz::formats::") {
            assert!(fuzz().join("seeds").join(&name).is_dir(), "{name} has no seeds");
            fuzzed.insert(name);
        }
    }
    let replayed: BTreeSet<String> = CHECKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(fuzzed, replayed);
}
