//! Limits of the process: open file descriptors, and their division between connections and everything else; the size
//! of files.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// Descriptors reserved for the program itself: files, fetches, pollers, and connections that are being refused.
const RESERVE: u64 = 192;
/// Divisor of the limit for memory files of large bodies.
const MEMORY_FILES_DIVISOR: u64 = 16;
/// Largest number of memory files: enough for some hundred feeds in all codings.
const MEMORY_FILES_MAX: usize = 1_024;

/// Raises the limit of descriptors as far as the system allows, and returns it; `None` if it is unknown.
pub(crate) fn raise_descriptor_limit() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
        return Some(hard);
    }
    Some(soft)
}

/// Returns the number of large bodies that may lie in memory files.
pub(crate) fn max_memory_files(descriptors: Option<u64>) -> usize {
    let share = descriptors.map_or(0, |limit| limit / MEMORY_FILES_DIVISOR);
    usize::try_from(share).map_or(MEMORY_FILES_MAX, |share| share.min(MEMORY_FILES_MAX))
}

/// Returns the number of connections: `connections_max`, or fewer if the descriptors do not suffice.
pub(crate) fn limit_connections_to_descriptors(
    connections_max: usize,
    descriptors: Option<u64>,
) -> usize {
    let reserve = RESERVE + max_memory_files(descriptors) as u64;
    let possible = descriptors.map(|limit| limit.saturating_sub(reserve).max(limit / 2));
    let possible = possible.and_then(|limit| usize::try_from(limit).ok());
    possible.map_or(connections_max, |possible| connections_max.min(possible.max(1)))
}

/// Makes a write beyond the file size limit fail like one on a full disk. Without a handler SIGXFSZ would end the
/// process.
///
/// # Errors
/// Returns an error if the handler cannot be registered.
pub(crate) fn handle_file_size_signal() -> std::io::Result<()> {
    signal(SignalKind::from_raw(nix::libc::SIGXFSZ)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_limit_reserves_file_descriptors() {
        assert_eq!(limit_connections_to_descriptors(16_384, Some(20_000)), 16_384);
        assert_eq!(limit_connections_to_descriptors(16_384, Some(1_024)), 768);
        assert_eq!(limit_connections_to_descriptors(16_384, Some(100)), 50);
        assert_eq!(limit_connections_to_descriptors(16_384, None), 16_384);
        assert_eq!(
            [max_memory_files(None), max_memory_files(Some(1_024)), max_memory_files(Some(20_000))],
            [0, 64, 1_024]
        );
    }
}
