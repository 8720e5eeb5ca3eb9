//! Runs every seed of the fuzzers through the fuzzers' checks, without a fuzzer: works on stable Rust.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/src/wire.rs"]
pub mod checks;
#[path = "../../../fuzz/replay.rs"]
pub mod seeds;

use self::seeds::{Check, check_that_none_is_forgotten};

const CHECKS: [Check; 3] = [
    ("centrifuge_json", checks::centrifuge_json),
    ("centrifuge_protobuf", checks::centrifuge_protobuf),
    ("websocket", checks::websocket),
];

fn replay(target: &str) {
    seeds::replay(&CHECKS, target);
}

#[test]
fn centrifuge_json_seeds_pass() {
    replay("centrifuge_json");
}

#[test]
fn centrifuge_protobuf_seeds_pass() {
    replay("centrifuge_protobuf");
}

#[test]
fn websocket_seeds_pass() {
    replay("websocket");
}

#[test]
fn every_fuzz_target_has_seeds_and_a_replay() {
    check_that_none_is_forgotten(&CHECKS, "wire");
}
