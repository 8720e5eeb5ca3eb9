//! The reference validator itself, if the user names a command that runs it.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::OnceLock,
};

use anyhow::{Context as _, ensure};
use nix::sys::resource::{UsageWho, getrusage};

use crate::child::cpu_used;

/// The words of the command. `{input}` is replaced with the schedule, `{output}` with a folder for the report.
static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Sets the command of the reference. Without `{input}` in it, `-i` and `-o` are added with their values, as
/// MobilityData's gtfs-validator expects them.
pub(crate) fn use_reference(command: &str) {
    let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if !command.contains("{input}") {
        words.extend(["-i", "{input}", "-o", "{output}"].map(str::to_owned));
    }
    // The first of several commands counts.
    COMMAND.get_or_init(|| words);
}

/// Runs the command over a schedule once. Returns its CPU seconds, and its peak memory in MiB, which is that of the
/// largest process so far. `None` if no command is set.
pub(super) fn measure(file: &Path) -> anyhow::Result<Option<(f64, f64)>> {
    let Some([program, arguments @ ..]) = COMMAND.get().map(Vec::as_slice) else {
        return Ok(None);
    };
    let folder = tempfile::tempdir()?;
    let input = file.to_str().context("a path that is text")?;
    let output = folder.path().to_str().context("a path that is text")?;
    let fill = |word: &String| word.replace("{input}", input).replace("{output}", output);
    let before = cpu_used(UsageWho::RUSAGE_CHILDREN)?;
    let status = Command::new(program)
        .args(arguments.iter().map(fill))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("{program} cannot be started"))?;
    ensure!(status.success(), "{program} ended with {status}");
    let cpu_seconds = cpu_used(UsageWho::RUSAGE_CHILDREN)? - before;
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64;
    Ok(Some((cpu_seconds, kibibytes / 1_024.0)))
}
