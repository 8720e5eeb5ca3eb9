//! What Linux says of a process.

use std::fs;

use anyhow::Context as _;

/// A figure of a process's /proc/…/status, in bytes; `self` is this process.
pub(crate) fn memory(process: &str, key: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))
        .context("memory is read as Linux tells it")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kibibytes =
        line.and_then(|line| line.split_whitespace().next()).context("a figure in kB")?;
    Ok(kibibytes.parse::<f64>()? * 1_024.0)
}
