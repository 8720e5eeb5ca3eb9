//! `cargo xtask bench`: benchmarks of Lineside and its peers on this machine.

use std::process::Command;

use anyhow::bail;

use crate::Verb;
use crate::command::{cargo, output, run};

/// The suites, each a feature of the bench crate.
const SUITES: [&str; 6] = ["engine", "formats", "ingest", "primitives", "proxy", "validate"];
/// The suites that measure the server as it is released.
const OF_THE_PROGRAM: [&str; 3] = ["engine", "formats", "proxy"];

pub(crate) const VERB: Verb = Verb {
    name: "bench",
    arguments: "<engine|formats|ingest|primitives|proxy|validate> [--long] [--rounds N] [--only MODULE] [--quick] [--reference COMMAND]",
    does: "measures Lineside and its peers in turn, names the machine, and writes \
        target/bench/<suite>.json",
    run: |tree, arguments| {
        let suite = match arguments.first() {
            None => bail!("name a suite: {}", SUITES.join(", ")),
            Some(suite) if !SUITES.contains(&suite.as_str()) => {
                bail!("there is no suite {suite:?}; the suites are {}", SUITES.join(", "))
            }
            Some(suite) => suite,
        };
        println!("machine: {}", machine());
        let mut command = cargo(&tree.root);
        if OF_THE_PROGRAM.contains(&suite.as_str()) {
            super::build::build(tree)?;
            command.env("LINESIDE_PROGRAM", tree.release_binary());
        }
        run(command
            .args(["run", "--release", "--locked", "--package", "lineside-bench"])
            .args(["--no-default-features", "--features", suite, "--"])
            .args(arguments))
    },
};

/// Describes this machine in a line: results are meaningless without it.
fn machine() -> String {
    let name = output(&mut Command::new("hostname")).unwrap_or_else(|| "unnamed".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = proc_value("/proc/cpuinfo", "model name")
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = proc_value("/proc/meminfo", "MemTotal")
        .map_or_else(String::new, |total| format!(", {total} memory"));
    format!("{name}, {cores} cores of {processor}{memory}, {}", std::env::consts::OS)
}

fn proc_value(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
