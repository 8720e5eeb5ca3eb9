//! How many sockets and files the system lets us open, and what is left of that for connections.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// What the program needs for itself: files, fetches, its own pollers, and those that are told to go.
const RESERVE: u64 = 192;
/// Of the descriptors, one in so many is for large bodies,
const SEALED_SHARE: u64 = 16;
/// and no more of them than this: some hundred feeds in all codings.
const SEALED_MAX: usize = 1_024;

/// Raises the limit as far as the system lets us, and says what it is. None where it cannot be known.
pub(crate) fn raise_descriptor_limit() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
        return Some(hard);
    }
    Some(soft)
}

/// How many large bodies may lie in files in memory.
pub(crate) fn max_memfds(descriptors: Option<u64>) -> usize {
    let share = descriptors.map_or(0, |limit| limit / SEALED_SHARE);
    usize::try_from(share).map_or(SEALED_MAX, |share| share.min(SEALED_MAX))
}

/// How many connections there can be: as many as wanted, or as the descriptors allow.
pub(crate) fn max_connections(wanted: usize, descriptors: Option<u64>) -> usize {
    let reserve = RESERVE + max_memfds(descriptors) as u64;
    let possible = descriptors.map(|limit| limit.saturating_sub(reserve).max(limit / 2));
    let possible = possible.and_then(|limit| usize::try_from(limit).ok());
    possible.map_or(wanted, |possible| wanted.min(possible.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_everything_else() {
        assert_eq!(max_connections(16_384, Some(20_000)), 16_384);
        assert_eq!(max_connections(16_384, Some(1_024)), 768);
        assert_eq!(max_connections(16_384, Some(100)), 50);
        assert_eq!(max_connections(16_384, None), 16_384);
        assert_eq!(
            [max_memfds(None), max_memfds(Some(1_024)), max_memfds(Some(20_000))],
            [0, 64, 1_024]
        );
    }
}
