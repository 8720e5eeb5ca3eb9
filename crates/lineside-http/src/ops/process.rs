//! The resource usage of this process.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns the CPU time of all threads since the start of the process.
pub fn cpu_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok().map(Duration::from)
}

/// Returns the resident memory in bytes; `None` if the system has no /proc.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
