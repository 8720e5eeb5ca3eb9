//! Contenders that run in a process of their own, because a process has one peak of memory.
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

/// The one that only takes memory and gives it back.
const TOUCH: &str = "touch memory";
/// How much. More than any contender takes, as far as it can be.
const TOUCHED_BYTES: usize = 1 << 30;

/// One way of doing something with a file, in a process of its own.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Gives what it found with what it keeps in memory, so that letting go of that is not timed.
    pub(crate) run: fn(&Path) -> anyhow::Result<(Finding, Kept)>,
}

/// Everything of each suite that runs in a process of its own.
static CONTENDERS: &[&[Contender]] = &[
    #[cfg(feature = "formats")]
    crate::formats::CONTENDERS,
    #[cfg(feature = "ingest")]
    crate::ingest::CONTENDERS,
    #[cfg(feature = "validate")]
    crate::validate::CONTENDERS,
];

/// Whatever a contender keeps.
pub(crate) type Kept = Box<dyn Any>;

/// What a contender says of itself.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// Things that it read, to see that all contenders did the same work.
    pub(crate) n: u64,
    /// Bytes that it counts for what it keeps, where it can.
    pub(crate) kept_bytes: u64,
    /// Bytes of the part of those that `n` is about.
    pub(crate) n_bytes: u64,
}

/// One run of a contender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    /// What all its threads used of processors.
    pub(crate) cpu_seconds: f64,
    /// Most memory that was resident, without what the process had before it began.
    pub(crate) peak_bytes: f64,
    pub(crate) finding: Finding,
}

/// Seconds of processors that this process has used, or its children that have ended.
pub(crate) fn cpu_used(who: UsageWho) -> anyhow::Result<f64> {
    let usage = getrusage(who)?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The child's side.
pub(crate) fn run(contender: &str, file: &Path) -> anyhow::Result<()> {
    if contender == TOUCH {
        black_box(vec![1_u8; TOUCHED_BYTES]);
        return Ok(());
    }
    let contender = CONTENDERS
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

/// The parent's side: runs `contender` over `file`.
///
/// A virtual machine gives memory that nobody uses back to its host, and gets it again page by page, slowly or fast as
/// the host's other guests let it. So that this is not what is measured, another process takes memory and gives it
/// back right before: its pages are at hand then.
pub(crate) fn measure(contender: &str, file: &Path) -> anyhow::Result<Outcome> {
    run_child(TOUCH, file)?;
    outcome(contender, &run_child(contender, file)?)
}

/// Runs `contender` twice at once, and gives the seconds of the slower one: what a second processor is worth on this machine,
/// which may be one of another guest's, or share its memory with others.
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
