//! Measurements of Lineside beside its peers: what `cargo xtask bench <suite>` runs.
//!
//! A suite measures its contenders in turn, several rounds of each, and judges medians; see docs/benchmarks.md.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its terminal"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock, nothing here has to be deterministic"
)]

mod child;
mod ingest;
mod report;
mod rounds;

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use mimalloc::MiMalloc;

use crate::rounds::Effort;

/// The allocator of the program, for every contender.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (suite, flags) = match words.as_slice() {
        [child::ARGUMENT, contender, path] => return child::run(contender, path.as_ref()),
        [suite, flags @ ..] => (*suite, flags),
        [] => bail!("which suite? There is: ingest"),
    };
    let effort = match flags {
        [] => Effort::USUAL,
        ["--long"] => Effort::LONG,
        ["--quick"] => Effort::QUICK,
        ["--rounds", n] => Effort::of(n.parse().context("--rounds takes a number")?),
        _ => bail!("a suite takes --long, --rounds N, or --quick (small and not judged)"),
    };
    match suite {
        "ingest" => ingest::run(effort),
        _ => bail!("there is no suite {suite:?}. There is: ingest"),
    }
}
