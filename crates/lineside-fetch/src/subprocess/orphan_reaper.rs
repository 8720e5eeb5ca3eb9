//! Killing processes that a program started and that left its process group, for example by `setsid`; uses `/proc` of
//! Linux.
//!
//! They are recognised by the unique folder of the run, in their environment or as their working directory, and by
//! their ancestors while these exist. A process with another environment and working directory that has outlived its
//! parents cannot be recognised.

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

/// Maximum number of passes: a process that is ending may have started another one.
const PASSES_MAX: usize = 16;
/// Maximum number of processes of the machine that are examined.
const PROCESSES_MAX: usize = 100_000;
/// The kernel's process file system.
const PROCESSES: &str = "/proc";

/// Kills the remaining processes of a run in this folder, and descendants of `leader` if it still runs; may block.
pub(super) fn kill_orphans(folder: &Path, leader: Option<Pid>) {
    let mut ended = HashSet::new();
    for _ in 0..PASSES_MAX {
        let found = find_orphans(folder, leader);
        let mut is_done = true;
        for process in found {
            is_done &= !ended.insert(process);
            // The process may just have ended; its number is not reused so soon.
            let _ = kill(process, Signal::SIGKILL);
        }
        if is_done {
            return;
        }
    }
}

/// Returns the processes of a run without its leader.
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
        if is_process_of_run_folder(&own, folder) {
            found.insert(process);
        }
    }
    // Processes with one of them as an ancestor.
    let is_below = |process: Pid| {
        let mut at = process;
        (0..PASSES_MAX).any(|_| match parents.get(&at) {
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

/// Returns the parent of a process; `None` if the process has ended.
fn parent_pid(own: &Path) -> Option<Pid> {
    let stat = fs::read_to_string(own.join("stat")).ok()?;
    // The name in parentheses may contain any of these characters.
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    let state = rest.next().filter(|state| !matches!(*state, "Z" | "X"));
    state.and(rest.next())?.parse().ok().map(Pid::from_raw)
}

/// Returns true if a process has the folder in its environment or as its working directory.
fn is_process_of_run_folder(own: &Path, folder: &Path) -> bool {
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
