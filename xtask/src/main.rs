//! Lineside's tasks: the verbs of `cargo xtask`.
//!
//! Each verb is one file in `verbs/` and one line in [`VERBS`]; `cargo xtask` alone prints that
//! table. A verb installs missing tools (on Debian, as root) or names them in one line. Everything
//! is fetched from package registries, through their own clients.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool")]

mod command;
mod models;
mod setup;
mod steps;
mod tree;
mod verbs;
mod web;

use std::process::ExitCode;

use crate::tree::Tree;

/// A verb of `cargo xtask`.
struct Verb {
    name: &'static str,
    arguments: &'static str,
    does: &'static str,
    run: fn(&Tree, &[String]) -> anyhow::Result<()>,
}

/// All verbs, in the order in which a newcomer needs them.
static VERBS: &[Verb] = &[
    verbs::demo::VERB,
    verbs::test::VERB,
    verbs::build::VERB,
    verbs::bench::VERB,
    verbs::bless::VERB,
    verbs::deep::VERB,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print_verbs();
        return ExitCode::SUCCESS;
    };
    if ["help", "-h", "--help"].contains(&name.as_str()) {
        print_verbs();
        return ExitCode::SUCCESS;
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        eprintln!("cargo xtask has no command {name:?}. The commands are:\n");
        print_verbs();
        return ExitCode::from(2);
    };
    match Tree::find().and_then(|tree| (verb.run)(&tree, rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ncargo xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_verbs() {
    for verb in VERBS {
        println!("cargo xtask {} {}", verb.name, verb.arguments);
        println!("    {}", verb.does);
    }
}
