//! Cancellation of rules: the caller sets a flag, and loops over rows check the flag every thousand rows.
//!
//! A cancelled rule ends by unwinding from any depth. Its findings are discarded, and unfinished joins are computed
//! again at the next use.

use std::{
    io::{self, Read},
    iter::FusedIterator,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A flag that cancels a validation run. All clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    #[cfg(test)]
    check_counts: Arc<asks::CancelCheckCounts>,
}

impl CancelToken {
    /// Cancels the run for good.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Returns true if the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        #[cfg(test)]
        self.count();
        self.flag.load(Ordering::Relaxed)
    }
}

/// Counts the checks of a token and cancels it at a given check, so that tests need no clock.
#[cfg(test)]
mod asks {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::CancelToken;

    #[derive(Debug, Default)]
    pub(super) struct CancelCheckCounts {
        n: AtomicU64,
        last: AtomicU64,
    }

    impl CancelToken {
        /// Returns a token that is cancelled at this check, counted from 1.
        pub(crate) fn cancelled_after_checks(checks: u64) -> CancelToken {
            let cancel = CancelToken::default();
            cancel.check_counts.last.store(checks, Ordering::Relaxed);
            cancel
        }

        /// Returns the number of checks so far.
        pub(crate) fn check_count(&self) -> u64 {
            self.check_counts.n.load(Ordering::Relaxed)
        }

        pub(super) fn count(&self) {
            let before = self.check_counts.n.fetch_add(1, Ordering::Relaxed);
            if before + 1 == self.check_counts.last.load(Ordering::Relaxed) {
                self.cancel();
            }
        }
    }
}

/// The panic payload of a cancelled rule. It is not a fault and is never reported as one.
#[derive(Debug)]
pub(crate) struct CancelPanicPayload;

/// Runs the work and returns its result, or `None` if the work was cancelled.
pub(crate) fn catch_cancel_unwind<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<CancelPanicPayload>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// The [`CancelToken`] of a feed's tables. It has an effect only while rules run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancelUnwindCheck(Option<Arc<UnwindCheckState>>);

#[derive(Debug)]
struct UnwindCheckState {
    cancel: CancelToken,
    is_detached: AtomicBool,
}

impl CancelUnwindCheck {
    pub(crate) fn new(cancel: &CancelToken) -> CancelUnwindCheck {
        CancelUnwindCheck(Some(Arc::new(UnwindCheckState {
            cancel: cancel.clone(),
            is_detached: AtomicBool::new(false),
        })))
    }

    /// Unwinds if the run was cancelled.
    #[inline]
    pub(crate) fn unwind_if_cancelled(&self) {
        if let Some(state) = &self.0
            && state.cancel.is_cancelled()
        {
            state.unwind_unless_detached();
        }
    }

    /// Ends the effect of the token once the rules have finished: later readers of the tables are not cancelled.
    pub(crate) fn disable_cancellation(&self) {
        if let Some(state) = &self.0 {
            state.is_detached.store(true, Ordering::Relaxed);
        }
    }
}

impl UnwindCheckState {
    #[cold]
    fn unwind_unless_detached(&self) {
        if !self.is_detached.load(Ordering::Relaxed) {
            // Unlike a panic, this prints nothing to standard error.
            resume_unwind(Box::new(CancelPanicPayload));
        }
    }
}

/// Rows between two checks of the flag: some microseconds, so the checks cost next to nothing.
const ROWS_PER_CHECK: u32 = 1_024;

/// An iterator over the row numbers of a table that unwinds once the run is cancelled.
#[derive(Clone, Debug)]
pub struct CancellableRowNumbers<'a> {
    rows: Range<u32>,
    cancel_check: &'a CancelUnwindCheck,
}

impl<'a> CancellableRowNumbers<'a> {
    pub(crate) fn new(n: u32, cancel_check: &'a CancelUnwindCheck) -> CancellableRowNumbers<'a> {
        CancellableRowNumbers { rows: 0..n, cancel_check }
    }

    #[inline]
    fn unwind_or_pass_row(&self, row: u32) -> u32 {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            self.cancel_check.unwind_if_cancelled();
        }
        row
    }
}

impl Iterator for CancellableRowNumbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.rows.next().map(|row| self.unwind_or_pass_row(row))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<u32> {
        self.rows.nth(n).map(|row| self.unwind_or_pass_row(row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl DoubleEndedIterator for CancellableRowNumbers<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<u32> {
        self.rows.next_back().map(|row| self.unwind_or_pass_row(row))
    }
}

impl ExactSizeIterator for CancellableRowNumbers<'_> {}
impl FusedIterator for CancellableRowNumbers<'_> {}

/// A file reader that fails once the run is cancelled.
pub(crate) struct CancellableReader<'a> {
    pub(crate) file: &'a mut dyn Read,
    pub(crate) cancel: &'a CancelToken,
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("the run was cancelled"));
        }
        self.file.read(buffer)
    }
}
