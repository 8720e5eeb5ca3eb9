//! Checks that no compiler makes: the dependencies of crates, the words, the documentation and its
//! promises.
//!
//! Each test reads the source tree and fails with sentences: which file, which line, what is
//! expected. Patterns that a test bans are assembled from pieces, so that the test does not find
//! itself.

#![expect(clippy::print_stdout, reason = "the test prints the longest files and functions")]

mod tree;
mod walls;
mod manifests;
mod code;
mod formats;
mod words;
mod papers;
mod ratchet;

/// Fails with one line for each complaint.
#[track_caller]
fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
