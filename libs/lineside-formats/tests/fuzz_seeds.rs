//! Runs the fuzzers' checks on all their seeds, without a fuzzer, so that it works on stable.
#![cfg(all(feature = "gtfs", feature = "gtfs-rt", feature = "netex", feature = "siri"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/src/formats.rs"]
pub mod checks;
#[path = "../../../fuzz/replay.rs"]
pub mod seeds;

use self::seeds::{Check, check_that_none_is_forgotten};

const CHECKS: [Check; 7] = [
    ("gtfs", checks::gtfs),
    ("gtfs_rt", checks::gtfs_rt),
    ("gtfs_rt_json", checks::gtfs_rt_json),
    ("gtfs_text", checks::gtfs_text),
    ("netex", checks::netex),
    ("siri_json", checks::siri_json),
    ("siri_xml", checks::siri_xml),
];

fn replay(target: &str) {
    seeds::replay(&CHECKS, target);
}

#[test]
fn gtfs_seeds_pass() {
    replay("gtfs");
}

#[test]
fn gtfs_rt_seeds_pass() {
    replay("gtfs_rt");
}

#[test]
fn gtfs_rt_json_seeds_pass() {
    replay("gtfs_rt_json");
}

#[test]
fn gtfs_text_seeds_pass() {
    replay("gtfs_text");
}

#[test]
fn netex_seeds_pass() {
    replay("netex");
}

#[test]
fn siri_json_seeds_pass() {
    replay("siri_json");
}

#[test]
fn siri_xml_seeds_pass() {
    replay("siri_xml");
}

#[test]
fn every_fuzz_target_has_seeds_and_a_replay() {
    check_that_none_is_forgotten(&CHECKS, "formats");
}
