//! What the system says that this process has used.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// CPU of all threads since the process began.
pub(super) fn cpu_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok().map(Duration::from)
}

/// Bytes of memory that are resident; `None` where the system has no /proc.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
