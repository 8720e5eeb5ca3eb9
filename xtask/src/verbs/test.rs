//! `cargo xtask test`: all checks that every change must pass.
//!
//! The tree is compiled only twice: once checked for clippy, and once for the tests, whose dev binary the client and
//! browser tests use as well. The model checker compiles only lineside-sync.

use std::process::Command;

use anyhow::bail;

use crate::command::{cargo, run};
use crate::steps::Steps;
use crate::tree::Tree;
use crate::{Verb, models, setup, web};

pub(crate) const VERB: Verb = Verb {
    name: "test",
    arguments: "[--only fmt,tidy,web,clippy,deny,models,rust,clients,browser]",
    does: "runs all checks that a change must pass, installs missing tools, and prints the seconds \
        of each step",
    run: |tree, arguments| {
        let only = only(arguments)?;
        let mut steps = Steps::default();
        for step in STEPS.iter().filter(|step| only.is_empty() || only.contains(&step.name)) {
            steps.run(step.name, step.needs, || (step.run)(tree));
        }
        steps.finish()
    },
};

struct Step {
    name: &'static str,
    /// The steps without which this one would only repeat their failure.
    needs: &'static [&'static str],
    run: fn(&Tree) -> anyhow::Result<()>,
}

/// Quick steps come first; steps that the browser tests need come before these.
static STEPS: &[Step] = &[
    Step {
        name: "fmt",
        needs: &[],
        run: |tree| run(cargo(&tree.root).args(["fmt", "--all", "--check"])),
    },
    Step { name: "tidy", needs: &[], run: tidy },
    Step { name: "web", needs: &[], run: web::build },
    Step { name: "clippy", needs: &[], run: clippy },
    Step { name: "deny", needs: &[], run: deny },
    Step { name: "models", needs: &[], run: |tree| models::loom(tree, &[], models::PREEMPTIONS) },
    Step { name: "rust", needs: &[], run: rust_tests },
    Step { name: "clients", needs: &["rust"], run: client_tests },
    Step { name: "browser", needs: &["web", "rust"], run: browser_tests },
];

fn only(arguments: &[String]) -> anyhow::Result<Vec<&str>> {
    let names = match arguments {
        [] => return Ok(Vec::new()),
        [flag, names] if flag == "--only" => names.as_str(),
        [joined] if joined.starts_with("--only=") => &joined["--only=".len()..],
        _ => bail!("expected no argument or `--only <steps>`, but got {:?}", arguments.join(" ")),
    };
    let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    let names: Vec<&str> = names.split(',').collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        bail!("there is no step {unknown:?}; the steps are {}", known.join(", "));
    }
    Ok(names)
}

/// Runs the tidy tests. A failed tidy test explains itself, so backtraces are off. The output of passed tests lists the
/// longest files and functions.
fn tidy(tree: &Tree) -> anyhow::Result<()> {
    run(cargo_locked(tree, "test")
        .args(["--package", "xtask", "--", "--show-output"])
        .env("RUST_BACKTRACE", "0"))
}

/// Features of lineside-formats, each of which must compile without the others.
const FORMAT_FEATURES: [&str; 4] = ["gtfs", "gtfs-rt", "netex", "siri"];

fn clippy(tree: &Tree) -> anyhow::Result<()> {
    let deny_warnings = ["--", "-D", "warnings"];
    run(cargo_locked(tree, "clippy").args(["--workspace", "--all-targets"]).args(deny_warnings))?;
    // Links of doc comments to items that no longer exist are errors only here.
    run(cargo_locked(tree, "doc").args(["--workspace", "--no-deps", "--exclude", "xtask"]))?;
    for feature in FORMAT_FEATURES {
        run(cargo_locked(tree, "clippy")
            .args(["--package", "lineside-formats", "--no-default-features"])
            .args(["--features", feature])
            .args(deny_warnings))?;
    }
    Ok(())
}

/// Checks licences, forbidden crates and the sources of crates, by `deny.toml`. Advisories are not checked here: their
/// list comes from a host that a test machine may not reach.
fn deny(tree: &Tree) -> anyhow::Result<()> {
    let program = setup::cargo_deny(tree)?;
    let mut check = Command::new(program);
    check.current_dir(&tree.root).args(["--locked", "check", "--hide-inclusion-graph"]);
    run(check.args(["licenses", "bans", "sources"]))
}

/// Runs unit, property and whole-system tests, doctests, and the replay of the fuzzers' seeds.
fn rust_tests(tree: &Tree) -> anyhow::Result<()> {
    setup::test_programs()?;
    run(cargo_locked(tree, "test").args(["--workspace", "--exclude", "xtask", "--no-fail-fast"]))
}

fn client_tests(tree: &Tree) -> anyhow::Result<()> {
    build_dev_binary(tree)?;
    web::test_clients(tree)
}

fn browser_tests(tree: &Tree) -> anyhow::Result<()> {
    build_dev_binary(tree)?;
    web::test(tree)
}

/// Builds the dev binary, unless the tests have already built it.
fn build_dev_binary(tree: &Tree) -> anyhow::Result<()> {
    if tree.dev_binary().is_file() {
        return Ok(());
    }
    run(cargo_locked(tree, "build").args(["--package", "lineside"]))
}

fn cargo_locked(tree: &Tree, verb: &str) -> Command {
    let mut command = cargo(&tree.root);
    command.args([verb, "--locked"]);
    command
}
