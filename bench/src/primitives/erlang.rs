//! Erlang/OTP as a peer: the scripts of `bench/erlang`, if `erl` is installed.

use std::{cell::RefCell, collections::BTreeMap, process::Command};

use anyhow::{Context as _, bail};

use crate::{
    report,
    rounds::{Effort, timed},
};

/// The numbers that a script printed.
type Figures = BTreeMap<String, f64>;

/// The scripts' numbers; each script runs at its first request.
pub(super) struct Erlang {
    effort: Effort,
    is_there: bool,
    /// The numbers by script; `None` if the script failed.
    ran: RefCell<BTreeMap<String, Option<Figures>>>,
}

impl Erlang {
    pub(super) fn new(effort: Effort) -> Erlang {
        let is_there = ["erl", "erlc"].iter().all(|program| is_on_path(program));
        if !is_there {
            println!(
                "Erlang/OTP is left out, recorded figures stand in: it needs erl and erlc \
                 (`apt-get install --no-install-recommends erlang-base`)"
            );
        }
        Erlang { effort, is_there, ran: RefCell::default() }
    }

    /// Returns the number with this name, whose first word is the script's.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        if !self.is_there {
            return None;
        }
        let script = name.split('_').next().unwrap_or(name);
        let mut ran = self.ran.borrow_mut();
        let figures = ran.entry(script.to_owned()).or_insert_with(|| {
            let (elapsed, figures) = timed(|| self.run(script));
            println!("{script}.erl took {:.1} s", elapsed.as_secs_f64());
            figures.inspect_err(|error| eprintln!("Erlang/OTP is left out: {error:#}")).ok()
        });
        let figure = figures.as_ref()?.get(name).copied();
        if figure.is_none() {
            eprintln!("{script}.erl prints no {name}");
        }
        figure
    }

    fn run(&self, script: &str) -> anyhow::Result<Figures> {
        let source = format!("{}/erlang/{script}.erl", env!("CARGO_MANIFEST_DIR"));
        let shared = format!("{}/erlang/measure.erl", env!("CARGO_MANIFEST_DIR"));
        let folder = report::folder()?.join("erlang");
        std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        output(Command::new("erlc").arg("-o").arg(&folder).args([shared, source]))?;
        let effort = if self.effort.is_quick { "quick" } else { "usual" };
        let printed = output(
            Command::new("erl")
                .args(["-noshell", "-noinput", "+P", "1000000", "-pa"])
                .arg(&folder)
                .args(["-eval", &format!("{script}:main({effort}), halt(0).")])
                // A failing script prints its error; its memory dump is not needed.
                .env("ERL_CRASH_DUMP_SECONDS", "0"),
        )?;
        printed.lines().map(figure_of).collect()
    }
}

/// Parses a line `name value`.
fn figure_of(line: &str) -> anyhow::Result<(String, f64)> {
    let (name, value) = line.split_once(' ').with_context(|| format!("no figure: {line:?}"))?;
    Ok((name.to_owned(), value.parse().with_context(|| format!("no figure: {line:?}"))?))
}

/// Returns the output of a program, or an error with its standard error.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
