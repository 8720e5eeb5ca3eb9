//! Runs the fuzzers' checks on all their seeds, without a fuzzer, so that it works on stable.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/src/gbfs.rs"]
pub mod checks;
#[path = "../../../fuzz/replay.rs"]
pub mod seeds;

use self::seeds::{Check, check_that_none_is_forgotten};

const CHECKS: [Check; 2] = [("gbfs", checks::discovery), ("gbfs_file", checks::file)];

#[test]
fn gbfs_seeds_pass() {
    seeds::replay(&CHECKS, "gbfs");
}

#[test]
fn gbfs_file_seeds_pass() {
    seeds::replay(&CHECKS, "gbfs_file");
}

#[test]
fn every_fuzz_target_has_seeds_and_a_replay() {
    check_that_none_is_forgotten(&CHECKS, "gbfs");
}
