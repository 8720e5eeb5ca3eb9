//! The calling thread's current stage of work, set by the rooms and read by a profiler's signal handler.
//!
//! ```
//! use lineside_sync::stage::{ThreadWorkStage, set_stage_until_dropped, stage_of_this_thread};
//!
//! let publishing = set_stage_until_dropped(ThreadWorkStage::Publish);
//! assert_eq!(stage_of_this_thread(), ThreadWorkStage::Publish);
//! drop(publishing);
//! assert_eq!(stage_of_this_thread(), ThreadWorkStage::Other);
//! ```
//!
//! The stage is a thread-local byte. Setting it costs two stores and a load. A signal handler that has interrupted the
//! thread can read it soundly.

use std::cell::Cell;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::pin;

thread_local! {
    /// Lives as long as the thread and has no destructor, because a signal handler may read it at any time.
    static CURRENT_STAGE: Cell<u8> = const { Cell::new(0) };
}

/// A part of the server's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ThreadWorkStage {
    /// No stage was set.
    Other,
    /// Requests to a source.
    Fetch,
    /// Parsing of received bytes.
    Decode,
    /// Changes from a parsed message to a network's next state.
    Apply,
    /// Publication of a state to the logs of rooms.
    Publish,
    /// Delivery from the logs to sockets.
    Deliver,
    /// Processing of messages from clients with sessions.
    Receive,
    /// Work done on behalf of partitions: encoding states, checking tokens.
    Assist,
    /// HTTP connections: requests and their responses.
    Http,
    /// TLS handshakes.
    Handshake,
}

impl ThreadWorkStage {
    /// All stages, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Other,
        Self::Fetch,
        Self::Decode,
        Self::Apply,
        Self::Publish,
        Self::Deliver,
        Self::Receive,
        Self::Assist,
        Self::Http,
        Self::Handshake,
    ];

    /// Returns the stage's name, one word.
    pub const fn stage_name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Fetch => "fetch",
            Self::Decode => "decode",
            Self::Apply => "apply",
            Self::Publish => "publish",
            Self::Deliver => "deliver",
            Self::Receive => "receive",
            Self::Assist => "assist",
            Self::Http => "http",
            Self::Handshake => "handshake",
        }
    }

    /// Returns the stage with this number; [`Other`](Self::Other) if there is none.
    pub fn stage_from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Other)
    }
}

/// Returns the calling thread's stage.
#[inline]
pub fn stage_of_this_thread() -> ThreadWorkStage {
    ThreadWorkStage::stage_from_number(CURRENT_STAGE.get())
}

/// Sets the calling thread's stage until the guard is dropped, which restores the previous stage.
#[inline]
#[must_use = "the stage ends when this is dropped"]
pub fn set_stage_until_dropped(stage: ThreadWorkStage) -> ThreadStageGuard {
    ThreadStageGuard { previous: CURRENT_STAGE.replace(stage as u8), thread: PhantomData }
}

/// Runs `work` and sets `stage` for the polling thread during each poll; restores the previous stage between polls.
///
/// Cancel safety: that of `work`, which is dropped with this future.
pub async fn run_in_stage<F: Future>(stage: ThreadWorkStage, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let _entered = set_stage_until_dropped(stage);
        work.as_mut().poll(cx)
    })
    .await
}

/// A guard that restores the previous stage when it is dropped.
#[derive(Debug)]
pub struct ThreadStageGuard {
    previous: u8,
    /// The guard restores the stage of the thread that created it, so it must not be sent.
    thread: PhantomData<*const ()>,
}

impl Drop for ThreadStageGuard {
    fn drop(&mut self) {
        CURRENT_STAGE.set(self.previous);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn leaving_a_stage_restores_the_outer_stage_even_after_a_panic() {
        let outer = set_stage_until_dropped(ThreadWorkStage::Http);
        let fell = panic::catch_unwind(|| {
            let _inner = set_stage_until_dropped(ThreadWorkStage::Handshake);
            panic!("intended panic; the stage must end");
        });
        assert!(fell.is_err());
        assert_eq!(stage_of_this_thread(), ThreadWorkStage::Http);
        drop(outer);
        assert_eq!(stage_of_this_thread(), ThreadWorkStage::Other);
    }

    #[test]
    fn a_task_is_in_its_stage_only_while_polled() {
        let mut polls = 0;
        let mut work = pin!(run_in_stage(
            ThreadWorkStage::Fetch,
            poll_fn(|_| {
                assert_eq!(stage_of_this_thread(), ThreadWorkStage::Fetch);
                polls += 1;
                if polls == 2 { Poll::Ready(7) } else { Poll::Pending }
            })
        ));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(work.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(stage_of_this_thread(), ThreadWorkStage::Other);
        assert_eq!(work.as_mut().poll(&mut cx), Poll::Ready(7));
        assert_eq!(stage_of_this_thread(), ThreadWorkStage::Other);
    }

    #[test]
    fn stages_have_consecutive_numbers_and_unique_names() {
        for (number, stage) in ThreadWorkStage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, number);
            assert_eq!(ThreadWorkStage::stage_from_number(number as u8), stage);
            assert!(
                ThreadWorkStage::ALL
                    .iter()
                    .all(|it| *it == stage || it.stage_name() != stage.stage_name())
            );
        }
        assert_eq!(ThreadWorkStage::stage_from_number(u8::MAX), ThreadWorkStage::Other);
    }

    #[test]
    fn each_thread_has_its_own_stage() {
        let _entered = set_stage_until_dropped(ThreadWorkStage::Deliver);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(stage_of_this_thread(), ThreadWorkStage::Other));
        });
        assert_eq!(stage_of_this_thread(), ThreadWorkStage::Deliver);
    }
}
