//! Memory and CPU of a process, as reported by Linux.

use std::fs;

use anyhow::Context as _;

/// Returns a number of a process's /proc/…/status, in bytes; `self` is this process.
pub(crate) fn memory(process: &str, key: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))
        .context("memory is read as Linux tells it")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kibibytes =
        line.and_then(|line| line.split_whitespace().next()).context("a figure in kB")?;
    Ok(kibibytes.parse::<f64>()? * 1_024.0)
}

/// Returns the CPU seconds of a process, with Linux's resolution of a hundredth of a second.
pub(crate) fn cpu_seconds(process: &str) -> anyhow::Result<f64> {
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name before it may contain anything, and ends with the last bracket.
    let (_, rest) = stat.rsplit_once(')').context("a name in brackets")?;
    let mut figures = rest.split_whitespace().skip(11).map(str::parse::<f64>);
    let (Some(Ok(user)), Some(Ok(system))) = (figures.next(), figures.next()) else {
        anyhow::bail!("/proc/{process}/stat is of another form");
    };
    Ok((user + system) / TICKS)
}
