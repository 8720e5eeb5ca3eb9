//! A time limit for work on a thread.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use lineside_validate::CancelToken;

/// Runs `work` and returns its result; requests its cancellation with `stop` after `limit`.
pub fn run_with_cancel_after<T>(
    limit: Duration,
    stop: &CancelToken,
    work: impl FnOnce() -> T,
) -> T {
    let (ending, ended) = mpsc::sync_channel::<()>(1);
    thread::scope(|scope| {
        let wait = move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                stop.cancel();
            }
        };
        // If the watchdog thread cannot be spawned, there is no timeout.
        drop(thread::Builder::new().name("timeout".to_owned()).spawn_scoped(scope, wait));
        let done = work();
        drop(ending);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_beyond_the_timeout_is_cancelled() {
        let stop = CancelToken::default();
        assert_eq!(run_with_cancel_after(Duration::from_secs(600), &stop, || 7), 7);
        assert!(!stop.is_cancelled());
        let until_stopped = || {
            while !stop.is_cancelled() {
                thread::yield_now();
            }
        };
        run_with_cancel_after(Duration::from_millis(1), &stop, until_stopped);
    }
}
