//! A process and all that it started.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::process::Child;

/// A process group that ends when this is dropped, if not before.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Option<Pid>,
    has_ended: AtomicBool,
}

impl ProcessGroup {
    /// That of a process which was started as the first of its group.
    pub(super) fn for_child(child: &Child) -> ProcessGroup {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        ProcessGroup { leader, has_ended: AtomicBool::new(false) }
    }

    /// Its first process, while that is known to be there.
    pub(super) fn leader_pid(&self) -> Option<Pid> {
        self.leader.filter(|_| !self.has_ended.load(Ordering::Relaxed))
    }

    /// Ends all that is left of it, at once. Only the first call does: later the number may be another group's. While a
    /// process is left the number is taken, and right after the last has ended the system gives it to nobody.
    pub(super) fn kill_processes(&self) {
        if let Some(leader) = self.leader
            && !self.has_ended.swap(true, Ordering::Relaxed)
        {
            // None may be left.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_processes();
    }
}
