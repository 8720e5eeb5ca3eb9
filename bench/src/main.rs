//! Benchmarks of Lineside and its peers: the program behind `cargo xtask bench <suite>`.
//!
//! A suite measures its contenders alternately, several rounds of each, and compares medians; see docs/benchmarks.md.
//! Each suite is a feature of this crate, so that it can be built without the dependencies of the others.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its terminal"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock, nothing here has to be deterministic"
)]
#![cfg_attr(
    not(all(
        feature = "engine",
        feature = "formats",
        feature = "ingest",
        feature = "primitives",
        feature = "proxy",
        feature = "validate"
    )),
    allow(dead_code, reason = "one suite alone does not use all that they share")
)]

#[cfg(any(feature = "formats", feature = "proxy"))]
mod askers;
#[cfg(any(feature = "formats", feature = "ingest", feature = "validate"))]
mod child;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "formats")]
mod formats;
#[cfg(any(feature = "engine", feature = "formats", feature = "proxy"))]
mod http;
#[cfg(feature = "ingest")]
mod ingest;
#[cfg(any(feature = "engine", feature = "primitives"))]
mod plot;
#[cfg(feature = "primitives")]
mod primitives;
#[cfg(any(
    feature = "engine",
    feature = "formats",
    feature = "ingest",
    feature = "proxy",
    feature = "validate"
))]
mod process;
#[cfg(feature = "proxy")]
mod proxy;
mod report;
mod rounds;
#[cfg(any(feature = "engine", feature = "formats", feature = "proxy"))]
mod servers;
#[cfg(feature = "validate")]
mod validate;

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use mimalloc::MiMalloc;

use crate::rounds::Effort;

/// The allocator of the program, for every contender.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A set of benchmarks that run together.
struct Suite {
    name: &'static str,
    /// The modules that can be measured alone.
    modules: &'static [&'static str],
    /// Measures the whole suite, or one module.
    run: fn(Effort, Option<&'static str>) -> anyhow::Result<()>,
}

static SUITES: &[Suite] = &[
    #[cfg(feature = "engine")]
    Suite { name: "engine", modules: engine::NAMES, run: engine::run },
    #[cfg(feature = "formats")]
    Suite { name: "formats", modules: formats::NAMES, run: formats::run },
    #[cfg(feature = "ingest")]
    Suite { name: "ingest", modules: &[], run: |effort, _| ingest::run(effort) },
    #[cfg(feature = "primitives")]
    Suite { name: "primitives", modules: primitives::NAMES, run: primitives::run },
    #[cfg(feature = "proxy")]
    Suite { name: "proxy", modules: proxy::NAMES, run: proxy::run },
    #[cfg(feature = "validate")]
    Suite { name: "validate", modules: &[], run: |effort, _| validate::run(effort) },
];

/// All contenders that run in a separate process, by suite.
#[cfg(any(feature = "formats", feature = "ingest", feature = "validate"))]
static CONTENDERS: &[&[child::Contender]] = &[
    #[cfg(feature = "formats")]
    formats::CONTENDERS,
    #[cfg(feature = "ingest")]
    ingest::CONTENDERS,
    #[cfg(feature = "validate")]
    validate::CONTENDERS,
];

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
    #[cfg(feature = "engine")]
    if let Some(done) = engine::child(&words) {
        return done;
    }
    #[cfg(feature = "proxy")]
    if let Some(done) = proxy::child(&words) {
        return done;
    }
    let (name, flags) = match words.as_slice() {
        #[cfg(any(feature = "formats", feature = "proxy"))]
        [askers::ASK, plan] => {
            return serde_json::from_str(plan)
                .context("a plan")
                .and_then(|plan| askers::ask(&plan));
        }
        #[cfg(any(feature = "formats", feature = "ingest", feature = "validate"))]
        [child::ARGUMENT, contender, path] => {
            return child::run(CONTENDERS, contender, path.as_ref());
        }
        [name, flags @ ..] => (*name, flags),
        [] => bail!("which suite? There is: {}", suites()),
    };
    let suite = SUITES
        .iter()
        .find(|suite| suite.name == name)
        .with_context(|| format!("there is no suite {name:?}. There is: {}", suites()))?;
    let (effort, only) = read(suite, flags)?;
    (suite.run)(effort, only)
}

/// Reads the effort and the single module from the flags.
fn read(suite: &Suite, flags: &[&str]) -> anyhow::Result<(Effort, Option<&'static str>)> {
    let (mut effort, mut only) = (Effort::USUAL, None);
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match *flag {
            "--long" => effort = Effort::LONG,
            "--quick" => effort = Effort::QUICK,
            "--rounds" => {
                let n = flags.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
                effort = Effort::of(n.context("--rounds takes a number")?);
            }
            #[cfg(feature = "validate")]
            "--reference" => {
                validate::use_reference(flags.next().context("--reference takes a command")?);
            }
            "--only" | "--" => {
                let name = flags.next().context("--only takes a module's name")?;
                let known = suite.modules.iter().find(|known| *known == name);
                let modules = suite.modules.join(", ");
                only = Some(*known.with_context(|| {
                    format!("{} has no module {name:?}. It has: {modules}", suite.name)
                })?);
            }
            _ => bail!(
                "a suite takes --long, --rounds N, --only MODULE, or --quick (small and not judged)"
            ),
        }
    }
    Ok((effort, only))
}

fn suites() -> String {
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    names.join(", ")
}
