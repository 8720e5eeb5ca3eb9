//! Processes that a program started and that have left its process group, as `setsid` has it; of Linux, where `/proc` tells.
//!
//! They are known by the folder of the run, which no other run has: it is in the environment that they were given, or they
//! are at work in it; and by their parents, as long as those are there. One that has another environment, works elsewhere
//! and has outlived its parents is nobody's that can be told.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// How often it is looked for more: what is about to end may have started another.
const LOOKS_MAX: usize = 16;
/// Most processes of the machine that are looked at.
const PROCESSES_MAX: usize = 100_000;
/// Where the kernel tells of processes.
const PROCESSES: &str = "/proc";

/// Ends whoever is left of a run in this folder, and of `leader` if it still runs; may block.
pub(super) fn kill_orphans(folder: &Path, leader: Option<Pid>) {
    let mut ended = HashSet::new();
    for _ in 0..LOOKS_MAX {
        let found = find_orphans(folder, leader);
        let mut is_done = true;
        for process in found {
            is_done &= !ended.insert(process);
            // It may just have ended; and so soon its number is nobody else's.
            let _ = kill(process, Signal::SIGKILL);
        }
        if is_done {
            return;
        }
    }
}

/// The processes of a run, but not its leader.
fn find_orphans(folder: &Path, leader: Option<Pid>) -> Vec<Pid> {
    let mut parents = HashMap::new();
    let mut found: HashSet<Pid> = HashSet::new();
    let entries = fs::read_dir(PROCESSES).into_iter().flatten().flatten().take(PROCESSES_MAX);
    for entry in entries {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()).map(Pid::from_raw)
        else {
            continue;
        };
        let own = entry.path();
        let Some(parent) = parent_pid(&own) else { continue };
        parents.insert(process, parent);
        if belongs_to_folder(&own, folder) {
            found.insert(process);
        }
    }
    // Whose parent, or whose parent's parent, is one of them.
    let is_below = |process: Pid| {
        let mut at = process;
        (0..LOOKS_MAX).any(|_| match parents.get(&at) {
            Some(&parent) => {
                at = parent;
                Some(at) == leader || found.contains(&at)
            }
            None => false,
        })
    };
    let all =
        parents.keys().copied().filter(|process| found.contains(process) || is_below(*process));
    all.filter(|process| Some(*process) != leader).collect()
}

/// Whose child a process is; none of one that has ended.
fn parent_pid(own: &Path) -> Option<Pid> {
    let stat = fs::read_to_string(own.join("stat")).ok()?;
    // The name, in parentheses, may hold any of them.
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    let state = rest.next().filter(|state| !matches!(*state, "Z" | "X"));
    state.and(rest.next())?.parse().ok().map(Pid::from_raw)
}

/// Whether a process was given the folder as its own, or is at work in it.
fn belongs_to_folder(own: &Path, folder: &Path) -> bool {
    let works_there = || fs::read_link(own.join("cwd")).is_ok_and(|at| at.starts_with(folder));
    let was_given = || {
        let environment = fs::read(own.join("environ")).unwrap_or_default();
        let mut texts = environment.split(|&byte| byte == 0);
        texts.any(|text| {
            let value = text.strip_prefix(b"HOME=").or_else(|| text.strip_prefix(b"TMPDIR="));
            value.is_some_and(|value| OsStr::from_bytes(value) == folder.as_os_str())
        })
    };
    works_there() || was_given()
}
