//! Waiting in real time, for code that talks to sockets: timeouts of peers are not simulated. Code that follows the
//! data's time is given a `lineside_sync::Clock` instead.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use http::HeaderValue;
use lineside_validate::CancelToken;

/// Runs `work`; returns `None` if it takes longer than `limit`.
///
/// Cancel safety: `work` is dropped when the limit passes.
#[expect(clippy::disallowed_methods, reason = "a socket's timeout is in real time")]
pub(crate) async fn run_within<F: Future>(limit: Duration, work: F) -> Option<F::Output> {
    tokio::time::timeout(limit, work).await.ok()
}

/// Sleeps for this time.
#[expect(clippy::disallowed_methods, reason = "a socket's pause is in real time")]
pub(crate) async fn sleep_for(length: Duration) {
    tokio::time::sleep(length).await;
}

/// Returns the current time as an HTTP date.
#[expect(clippy::disallowed_methods, reason = "the Date header is in real time")]
pub(crate) fn current_http_date() -> HeaderValue {
    let now = httpdate::fmt_http_date(SystemTime::now());
    HeaderValue::try_from(now).expect("a date is a valid header value")
}

/// Runs `work` and returns its result; requests its cancellation with `stop` after `limit`.
pub(crate) fn cancel_after<T>(limit: Duration, stop: &CancelToken, work: impl FnOnce() -> T) -> T {
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

/// A measurement of real time, from its start on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a client's waiting time is real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_beyond_the_timeout_is_cancelled() {
        let stop = CancelToken::default();
        assert_eq!(cancel_after(Duration::from_secs(600), &stop, || 7), 7);
        assert!(!stop.is_cancelled());
        let until_stopped = || {
            while !stop.is_cancelled() {
                thread::yield_now();
            }
        };
        cancel_after(Duration::from_millis(1), &stop, until_stopped);
    }
}
