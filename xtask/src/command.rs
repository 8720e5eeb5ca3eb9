//! Running of other programs, with errors that name the program.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Returns the cargo that started this program.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Prints the command as one would type it, runs it, and returns an error if it failed.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = spelled(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Returns the output of a program, or `None` if it cannot be run or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Replaces this process by the command, so that signals reach the program itself.
#[cfg(unix)]
pub(crate) fn become_program(command: &mut Command) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt as _;

    let line = spelled(command);
    println!("$ {line}");
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start `{line}`"))
}

/// Runs the command in the same console, which sends it the same signals.
#[cfg(not(unix))]
pub(crate) fn become_program(command: &mut Command) -> anyhow::Result<()> {
    run(command)
}

fn spelled(command: &Command) -> String {
    let mut line = Path::new(command.get_program())
        .file_name()
        .unwrap_or_else(|| OsStr::new("?"))
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        if argument.contains(char::is_whitespace) {
            let _ = write!(line, " '{argument}'");
        } else {
            let _ = write!(line, " {argument}");
        }
    }
    line
}
