//! Checks of lineside-sync by model checkers: every interleaving of a model within bounds (loom), or many random ones
//! (shuttle). Both compile only that crate, with their own flags and target folder.

use std::process::Command;

use crate::command::{cargo, run};
use crate::tree::Tree;

/// The number of preemptions that loom tries in the checks of every change: two find most faults, and every further one
/// multiplies the time.
pub(crate) const PREEMPTIONS: u32 = 2;

/// Tries every interleaving with at most this number of preemptions.
pub(crate) fn loom(tree: &Tree, profile: &[&str], preemptions: u32) -> anyhow::Result<()> {
    run(checked_by("loom", tree, profile).env("LOOM_MAX_PREEMPTIONS", preemptions.to_string()))
}

/// Tries this number of random interleavings of each model, with no bound on preemptions.
pub(crate) fn shuttle(tree: &Tree, profile: &[&str], runs: u32) -> anyhow::Result<()> {
    run(checked_by("shuttle", tree, profile).env("LINESIDE_MODEL_RUNS", runs.to_string()))
}

fn checked_by(checker: &str, tree: &Tree, profile: &[&str]) -> Command {
    let mut command = cargo(&tree.root);
    command
        .args(["test", "--locked", "--package", "lineside-sync", "--lib"])
        .args(profile)
        .env("RUSTFLAGS", format!("--cfg {checker}"))
        .env("CARGO_TARGET_DIR", tree.target.join("models"))
        // A model that must fail panics, and its backtrace is useless.
        .env("RUST_BACKTRACE", "0");
    command
}
