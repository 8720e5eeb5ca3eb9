//! lineside-sync under the model checkers: every interleaving of a model within bounds (loom), or very many random ones
//! (shuttle). Both compile that crate alone, with flags and a folder of their own.

use std::process::Command;

use crate::command::{cargo, run};
use crate::tree::Tree;

/// Places where loom takes a thread away from its work, in what every change must pass: two of them find most faults, and
/// every further one multiplies the time.
pub(crate) const PREEMPTIONS: u32 = 2;

/// Tries every interleaving with at most so many preemptions.
pub(crate) fn loom(tree: &Tree, profile: &[&str], preemptions: u32) -> anyhow::Result<()> {
    run(checked_by("loom", tree, profile).env("LOOM_MAX_PREEMPTIONS", preemptions.to_string()))
}

/// Tries so many random interleavings of each model, with no bound on preemptions.
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
        // A mistake that is found on purpose panics, and its trace tells nothing.
        .env("RUST_BACKTRACE", "0");
    command
}
