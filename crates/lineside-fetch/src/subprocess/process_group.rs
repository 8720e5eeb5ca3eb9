//! The process group of a program.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::process::Child;

/// A process group that is killed when dropped.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Option<Pid>,
    has_ended: AtomicBool,
}

impl ProcessGroup {
    /// Returns the group of a process that was started as its leader.
    pub(super) fn for_child(child: &Child) -> ProcessGroup {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        ProcessGroup { leader, has_ended: AtomicBool::new(false) }
    }

    /// Returns the first process, while it is known to exist.
    pub(super) fn leader_pid(&self) -> Option<Pid> {
        self.leader.filter(|_| !self.has_ended.load(Ordering::Relaxed))
    }

    /// Kills all remaining processes. Only the first call does: later the number may belong to another group. The
    /// number stays in use while a process remains, and the system does not reuse it right after.
    pub(super) fn kill_processes(&self) {
        if let Some(leader) = self.leader
            && !self.has_ended.swap(true, Ordering::Relaxed)
        {
            // There may be none left.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_processes();
    }
}
