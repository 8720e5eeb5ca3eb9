//! Contenders that run in a separate process, because peak memory is per process.
//!
//! The parent starts this program again as `bench child <contender> <file>`; the child answers with one line of JSON.

use std::{
    any::Any,
    hint::black_box,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context as _, bail};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};
use serde::{Deserialize, Serialize};

use crate::{process::memory, rounds::timed};

/// The first argument of a child.
pub(crate) const ARGUMENT: &str = "child";

/// The contender that only allocates memory and frees it.
const TOUCH: &str = "touch memory";
/// Bytes that it allocates: more than any contender, if possible.
const TOUCHED_BYTES: usize = 1 << 30;

/// A way of processing a file, in a separate process.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Returns the finding together with the data in memory, so that freeing the data is not timed.
    pub(crate) run: fn(&Path) -> anyhow::Result<(Finding, Kept)>,
}

/// Any data that a contender holds.
pub(crate) type Kept = Box<dyn Any>;

/// A contender's own counts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The number of items read, to check that all contenders did the same work.
    pub(crate) n: u64,
    /// Bytes of the data in memory by the contender's own count, if it has one.
    pub(crate) kept_bytes: u64,
    /// Bytes of the part of the data that `n` counts.
    pub(crate) n_bytes: u64,
}

/// One run of a contender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    /// CPU seconds of all its threads.
    pub(crate) cpu_seconds: f64,
    /// The peak of resident memory, minus the process's memory before the run.
    pub(crate) peak_bytes: f64,
    pub(crate) finding: Finding,
}

/// Returns the CPU seconds of this process, or of its children that have ended.
pub(crate) fn cpu_used(who: UsageWho) -> anyhow::Result<f64> {
    let usage = getrusage(who)?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Runs a contender as the child process.
pub(crate) fn run(contenders: &[&[Contender]], contender: &str, file: &Path) -> anyhow::Result<()> {
    if contender == TOUCH {
        black_box(vec![1_u8; TOUCHED_BYTES]);
        return Ok(());
    }
    let contender = contenders
        .iter()
        .copied()
        .flatten()
        .find(|it| it.name == contender)
        .with_context(|| format!("there is no contender {contender:?}"))?;
    let before = memory("self", "VmRSS:")?;
    let cpu_before = cpu_used(UsageWho::RUSAGE_SELF)?;
    let (elapsed, result) = timed(|| (contender.run)(file));
    let cpu_seconds = cpu_used(UsageWho::RUSAGE_SELF)? - cpu_before;
    let peak_bytes = memory("self", "VmHWM:")? - before;
    let (finding, kept) = result?;
    let outcome = Outcome { seconds: elapsed.as_secs_f64(), cpu_seconds, peak_bytes, finding };
    println!("{}", serde_json::to_string(&outcome)?);
    drop(kept);
    Ok(())
}

/// Runs `contender` over `file` in a child process.
///
/// A virtual machine returns unused memory to its host, and gets it back page by page, at a speed that depends on the
/// host's other guests. To exclude this from the measurement, another process allocates and frees memory right before:
/// then the pages are available.
pub(crate) fn measure(contender: &str, file: &Path) -> anyhow::Result<Outcome> {
    run_child(TOUCH, file)?;
    outcome(contender, &run_child(contender, file)?)
}

/// Runs two processes of `contender` at once, and returns the seconds of the slower one: the worth of a second
/// processor on this machine, which may belong to another guest, or share its memory with others.
pub(crate) fn measure_two_at_once(contender: &str, file: &Path) -> anyhow::Result<f64> {
    run_child(TOUCH, file)?;
    let outputs = thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(|| run_child(contender, file)));
        runs.map(|run| run.join().unwrap_or_else(|_| bail!("{contender} broke off")))
    });
    let mut slower: f64 = 0.0;
    for output in outputs {
        slower = slower.max(outcome(contender, &output?)?.seconds);
    }
    Ok(slower)
}

fn run_child(contender: &str, file: &Path) -> anyhow::Result<Vec<u8>> {
    let program = std::env::current_exe().context("this program is a file")?;
    let output = Command::new(program)
        .args([ARGUMENT.as_ref(), contender.as_ref(), file.as_os_str()])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{contender} cannot be started"))?;
    if !output.status.success() {
        bail!("{contender} ended with {}", output.status);
    }
    Ok(output.stdout)
}

fn outcome(contender: &str, told: &[u8]) -> anyhow::Result<Outcome> {
    serde_json::from_slice(told).with_context(|| format!("{contender} answered oddly"))
}
