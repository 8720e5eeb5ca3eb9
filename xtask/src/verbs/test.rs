//! `cargo xtask test`: everything a change must pass.
//!
//! The tree is compiled twice and no more: once checked for clippy, once for the tests, whose dev
//! binary the tests with clients and browsers use as well. The model checker compiles lineside-sync alone.

use std::process::Command;

use anyhow::bail;

use crate::command::{cargo, run};
use crate::steps::Steps;
use crate::tree::Tree;
use crate::{Verb, models, setup, web};

pub(crate) const VERB: Verb = Verb {
    name: "test",
    arguments: "[--only fmt,tidy,web,clippy,deny,models,rust,clients,browser]",
    does: "runs all that a change must pass, installing what is missing, and prints each step's seconds",
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
    /// Steps without which this one could only repeat their failure.
    needs: &'static [&'static str],
    run: fn(&Tree) -> anyhow::Result<()>,
}

/// What is quick comes first; what the browser tests need comes before them.
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
        _ => bail!("expected nothing or `--only <steps>`, and there is {:?}", arguments.join(" ")),
    };
    let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    let names: Vec<&str> = names.split(',').collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        bail!("there is no step {unknown:?}; the steps are {}", known.join(", "));
    }
    Ok(names)
}

/// A tidy test fails in words: where in its own code it did so is of no interest. What it shows when
/// it passes is what is longest.
fn tidy(tree: &Tree) -> anyhow::Result<()> {
    run(cargo_locked(tree, "test")
        .args(["--package", "xtask", "--", "--show-output"])
        .env("RUST_BACKTRACE", "0"))
}

/// Features of lineside-formats, each of which must compile without the others.
const FORMAT_FEATURES: [&str; 5] = ["gtfs", "gtfs-rt", "gbfs", "netex", "siri"];

fn clippy(tree: &Tree) -> anyhow::Result<()> {
    let deny_warnings = ["--", "-D", "warnings"];
    run(cargo_locked(tree, "clippy").args(["--workspace", "--all-targets"]).args(deny_warnings))?;
    for feature in FORMAT_FEATURES {
        run(cargo_locked(tree, "clippy")
            .args(["--package", "lineside-formats", "--no-default-features"])
            .args(["--features", feature])
            .args(deny_warnings))?;
    }
    Ok(())
}

/// Licences, forbidden crates and where crates come from, as `deny.toml` says. Reported weaknesses are not looked up here:
/// their list comes from a host that a test machine need not reach.
fn deny(tree: &Tree) -> anyhow::Result<()> {
    let program = setup::cargo_deny(tree)?;
    let mut check = Command::new(program);
    check.current_dir(&tree.root).args(["--locked", "check", "--hide-inclusion-graph"]);
    run(check.args(["licenses", "bans", "sources"]))
}

/// Unit, property and whole-system tests, doctests, and the replay of the fuzzers' seeds.
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

/// Unless the tests before have made it.
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
