//! `cargo xtask deep`: what takes too long for every change.

use std::process::Command;

use anyhow::{Context as _, bail};

use crate::Verb;
use crate::command::{cargo, output, run};
use crate::steps::Steps;
use crate::tree::Tree;

/// Seeds of each simulation, beside the few that `cargo xtask test` runs.
const SEEDS_DEFAULT: u32 = 20_000;
/// Seconds that each fuzz target gets.
const FUZZ_SECONDS_DEFAULT: u32 = 300;

pub(crate) const VERB: Verb = Verb {
    name: "deep",
    arguments: "[--seeds 20000] [--fuzz-seconds 300]",
    does: "runs long simulations, builds the documentation, and fuzzes each decoder (with nightly and cargo-fuzz)",
    run: |tree, arguments| {
        let (seeds, fuzz_seconds) = read(arguments)?;
        let mut steps = Steps::default();
        steps.run("documentation", &[], || documentation(tree));
        steps.run("simulation", &[], || simulation(tree, seeds));
        let targets = fuzz_targets(tree);
        if !targets.is_empty() {
            steps.run("fuzz", &[], || {
                targets.iter().try_for_each(|target| fuzz(tree, target, fuzz_seconds))
            });
        }
        steps.finish()
    },
};

fn read(arguments: &[String]) -> anyhow::Result<(u32, u32)> {
    let (mut seeds, mut fuzz_seconds) = (SEEDS_DEFAULT, FUZZ_SECONDS_DEFAULT);
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { bail!("{} needs a number", pair.concat()) };
        let number = value
            .parse()
            .with_context(|| format!("{flag} needs a number, and there is {value:?}"))?;
        match flag.as_str() {
            "--seeds" => seeds = number,
            "--fuzz-seconds" => fuzz_seconds = number,
            _ => bail!("there is no {flag}; there are --seeds and --fuzz-seconds"),
        }
    }
    Ok((seeds, fuzz_seconds))
}

fn documentation(tree: &Tree) -> anyhow::Result<()> {
    // Comments on arguments are help texts, where `<feed>` is no tag; links into what is private are
    // for those who read the code.
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

/// The fuzz targets, or none with the reason printed where the tools are not at hand.
fn fuzz_targets(tree: &Tree) -> Vec<String> {
    let Some(targets) = output(nightly_fuzz(tree).arg("list")) else {
        println!(
            "fuzzing is left out: it needs `rustup toolchain install nightly` and `cargo install cargo-fuzz`"
        );
        return Vec::new();
    };
    targets.lines().map(str::to_owned).collect()
}

fn fuzz(tree: &Tree, target: &str, seconds: u32) -> anyhow::Result<()> {
    let seeds = tree.root.join("fuzz/seeds").join(target);
    let corpus = tree.root.join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus)
        .with_context(|| format!("{} cannot be made", corpus.display()))?;
    run(nightly_fuzz(tree)
        .args(["run", target])
        .args([corpus, seeds])
        .arg("--")
        .arg(format!("-max_total_time={seconds}")))
}

/// The cargo on `PATH`, which unlike the one that started this program can choose a toolchain.
fn nightly_fuzz(tree: &Tree) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&tree.root).args(["+nightly", "fuzz"]);
    command
}
