//! What no compiler checks: the walls between the rooms, the words, the papers and their promises.
//!
//! Each test reads the tree as it lies on disk and fails in words: which file, which line, what is
//! expected. Patterns that a test bans are put together from pieces, so that the test does not find
//! itself.

#![expect(clippy::print_stdout, reason = "the ratchet shows what is longest")]

mod tree;
mod walls;
mod manifests;
mod code;
mod words;
mod papers;
mod ratchet;

/// Fails with one line for each complaint.
#[track_caller]
fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
