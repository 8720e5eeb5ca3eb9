//! `cargo xtask deep`: checks that take too long for every change. `cargo xtask deep clients` runs the clients of other
//! projects.

mod clients;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{cargo, output, run};
use crate::steps::Steps;
use crate::tree::Tree;
use crate::{Verb, models};

/// The number of seeds of each simulation; `cargo xtask test` runs a few.
const SEEDS_DEFAULT: u32 = 20_000;
/// The seconds for each fuzz target.
const FUZZ_SECONDS_DEFAULT: u32 = 300;
/// The seconds of the soak test; `cargo xtask test` runs it for less than a minute.
const SOAK_SECONDS_DEFAULT: u32 = 3_600;
/// The number of preemptions in a model; `cargo xtask test` allows fewer.
const PREEMPTIONS: u32 = models::PREEMPTIONS + 1;
/// The number of random interleavings of each model.
const MODEL_RUNS: u32 = 100_000;

pub(crate) const VERB: Verb = Verb {
    name: "deep",
    arguments: "[clients [--allow-skips]] | [--seeds 20000] [--fuzz-seconds 300] [--soak-seconds 3600]",
    does: "runs long models and simulations, soaks the server, builds the documentation, and with nightly: miri, ThreadSanitizer and fuzzers; \
        `clients` runs stock clients against the demo: OpenTripPlanner, the validators of GTFS and GBFS, SDKs",
    run: |tree, arguments| {
        if let Some(("clients", options)) =
            arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
        {
            return run_client_checks(tree, allows_skips(options)?);
        }
        let Numbers { seeds, fuzz_seconds, soak_seconds } = Numbers::read(arguments)?;
        let mut steps = Steps::default();
        steps.run("documentation", &[], || documentation(tree));
        steps.run("loom", &[], || models::loom(tree, &["--release"], PREEMPTIONS));
        steps.run("shuttle", &[], || models::shuttle(tree, &["--release"], MODEL_RUNS));
        if has_miri(tree) {
            steps.run("miri", &[], || miri(tree));
        }
        if has_rust_src(tree) {
            steps.run("thread sanitizer", &[], || thread_sanitizer(tree));
        }
        steps.run("simulation", &[], || simulation(tree, seeds));
        steps.run("soak", &[], || soak(tree, soak_seconds));
        let targets = fuzz_targets(tree);
        if !targets.is_empty() {
            steps.run("fuzz", &[], || {
                targets.iter().try_for_each(|target| fuzz(tree, target, fuzz_seconds))
            });
        }
        steps.finish()
    },
};

/// Runs stock clients against the demo, and if `LINESIDE_SIRI_XSD` names the SIRI schemas, validates written messages
/// against them.
fn run_client_checks(tree: &Tree, allows_skips: bool) -> anyhow::Result<()> {
    let mut steps = Steps::default();
    steps.run("clients", &[], || clients::run_clients(tree, allows_skips));
    if std::env::var_os("LINESIDE_SIRI_XSD").is_some() {
        steps.run("SIRI schemas", &[], || {
            run(cargo(&tree.root)
                .args(["test", "--locked", "--package", "lineside", "--test", "system"])
                .args(["--", "siri_"]))
        });
    } else {
        println!("the SIRI schemas are skipped: set LINESIDE_SIRI_XSD to their folder");
    }
    steps.finish()
}

/// Reads the options of `clients`: whether the run passes if checks are skipped because a program is missing.
fn allows_skips(options: &[String]) -> anyhow::Result<bool> {
    match options {
        [] => Ok(false),
        [option] if option == "--allow-skips" => Ok(true),
        _ => bail!("`clients` has no option {}; its option is --allow-skips", options.join(" ")),
    }
}

/// The amounts of each check.
struct Numbers {
    seeds: u32,
    fuzz_seconds: u32,
    soak_seconds: u32,
}

impl Numbers {
    fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut numbers = Self {
            seeds: SEEDS_DEFAULT,
            fuzz_seconds: FUZZ_SECONDS_DEFAULT,
            soak_seconds: SOAK_SECONDS_DEFAULT,
        };
        for pair in arguments.chunks(2) {
            let [flag, value] = pair else { bail!("{} needs a number", pair.concat()) };
            let number = value
                .parse()
                .with_context(|| format!("{flag} needs a number instead of {value:?}"))?;
            match flag.as_str() {
                "--seeds" => numbers.seeds = number,
                "--fuzz-seconds" => numbers.fuzz_seconds = number,
                "--soak-seconds" => numbers.soak_seconds = number,
                _ => bail!(
                    "there is no option {flag}; the options are --seeds, --fuzz-seconds and \
                    --soak-seconds"
                ),
            }
        }
        Ok(numbers)
    }
}

fn documentation(tree: &Tree) -> anyhow::Result<()> {
    // Comments on arguments are help texts, where `<feed>` is not a tag; links to private items are for readers of the
    // code.
    let flags = "-D warnings -A rustdoc::private_intra_doc_links -A rustdoc::invalid_html_tags";
    run(cargo(&tree.root)
        .args(["doc", "--workspace", "--no-deps", "--locked", "--document-private-items"])
        .env("RUSTDOCFLAGS", flags))
}

fn simulation(tree: &Tree, seeds: u32) -> anyhow::Result<()> {
    run(cargo(&tree.root)
        .args(["test", "--release", "--locked", "--package", "lineside-hub"])
        .env("LINESIDE_SIM_SEEDS", seeds.to_string()))
}

/// Runs clients that connect and disconnect at random, for hours, and checks that nothing is lost and nothing grows.
fn soak(tree: &Tree, seconds: u32) -> anyhow::Result<()> {
    run(cargo(&tree.root)
        .args(["test", "--release", "--locked", "--package", "lineside", "--test", "system"])
        .args(["--", "endurance::soak", "--nocapture"])
        .env("LINESIDE_SOAK_SECONDS", seconds.to_string()))
}

fn has_miri(tree: &Tree) -> bool {
    let found = output(nightly(tree).args(["miri", "--version"])).is_some();
    if !found {
        println!("miri is skipped: it needs `rustup toolchain install nightly --component miri`");
    }
    found
}

/// Searches the tests for undefined behavior and data races, on a simulated machine with weaker memory order.
fn miri(tree: &Tree) -> anyhow::Result<()> {
    run(nightly(tree)
        .args(["miri", "test", "--locked", "--package", "lineside-sync"])
        // Property tests read the cases that failed before; parking_lot stores pointers as numbers.
        .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance"))
}

/// Returns true if the standard library's source is installed: ThreadSanitizer needs to build it.
fn has_rust_src(tree: &Tree) -> bool {
    let library = "lib/rustlib/src/rust/library";
    let mut rustc = Command::new("rustc");
    rustc.current_dir(&tree.root).args(["+nightly", "--print", "sysroot"]);
    let found = output(&mut rustc).is_some_and(|root| Path::new(&root).join(library).is_dir());
    if !found {
        println!(
            "ThreadSanitizer is skipped: it needs `rustup toolchain install nightly --component \
            rust-src`"
        );
    }
    found
}

/// Searches the tests for data races on this machine.
fn thread_sanitizer(tree: &Tree) -> anyhow::Result<()> {
    let host =
        output(Command::new("rustc").current_dir(&tree.root).args(["--print", "host-tuple"]))
            .context("cannot read the host target from `rustc`")?;
    let known = tree.root.join("xtask/src/verbs/thread_sanitizer.txt");
    run(nightly(tree)
        .args(["test", "--locked", "--package", "lineside-sync", "--lib", "--tests"])
        .arg("--no-fail-fast")
        .args(["-Zbuild-std", "--target", &host])
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("TSAN_OPTIONS", format!("suppressions={}", known.display()))
        .env("CARGO_TARGET_DIR", tree.target.join("sanitizer")))
}

/// Returns the fuzz targets; prints the reason if the tools are missing.
fn fuzz_targets(tree: &Tree) -> Vec<String> {
    let Some(targets) = output(nightly(tree).args(["fuzz", "list"])) else {
        println!(
            "fuzzing is skipped: it needs `rustup toolchain install nightly` and `cargo install \
            cargo-fuzz`"
        );
        return Vec::new();
    };
    targets.lines().map(str::to_owned).collect()
}

fn fuzz(tree: &Tree, target: &str, seconds: u32) -> anyhow::Result<()> {
    let seeds = tree.root.join("fuzz/seeds").join(target);
    let corpus = tree.root.join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus)
        .with_context(|| format!("cannot create {}", corpus.display()))?;
    run(nightly(tree)
        .args(["fuzz", "run", target])
        .args([corpus, seeds])
        .arg("--")
        .arg(format!("-max_total_time={seconds}")))
}

/// Returns the cargo on `PATH`, which can choose a toolchain, unlike the one that started this program.
fn nightly(tree: &Tree) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&tree.root).arg("+nightly");
    command
}

#[cfg(test)]
mod tests {
    use super::allows_skips;

    #[test]
    fn skipped_checks_are_allowed_by_option_only() {
        let read = |options: &[&str]| {
            let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
            allows_skips(&options).ok()
        };
        assert_eq!(read(&[]), Some(false));
        assert_eq!(read(&["--allow-skips"]), Some(true));
        assert_eq!(read(&["--allow-skip"]), None);
        assert_eq!(read(&["--allow-skips", "--seeds"]), None);
    }
}
