//! A look at data that somebody may stop: whoever waits for it says so through a flag, and the loops over rows look at that flag at
//! the next row of a thousand.
//!
//! A rule that is stopped ends by unwinding, from however deep it looks: it has nothing to give back, what it said so far is of no
//! use, and joins that were half made are made anew by whoever asks next.

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

/// Has a look stopped, by any of its clones.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    #[cfg(test)]
    asks: Arc<asks::Asks>,
}

impl CancelToken {
    /// Stops the look, for good.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        #[cfg(test)]
        self.count();
        self.flag.load(Ordering::Relaxed)
    }
}

/// Counts how often a look asks, and stops it at one of these times: so that tests need no clock.
#[cfg(test)]
mod asks {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::CancelToken;

    #[derive(Debug, Default)]
    pub(super) struct Asks {
        n: AtomicU64,
        last: AtomicU64,
    }

    impl CancelToken {
        /// Stops the look when it asks for this time, counted from 1.
        pub(crate) fn after(asks: u64) -> CancelToken {
            let stop = CancelToken::default();
            stop.asks.last.store(asks, Ordering::Relaxed);
            stop
        }

        /// How often it was asked.
        pub(crate) fn asked(&self) -> u64 {
            self.asks.n.load(Ordering::Relaxed)
        }

        pub(super) fn count(&self) {
            let before = self.asks.n.fetch_add(1, Ordering::Relaxed);
            if before + 1 == self.asks.last.load(Ordering::Relaxed) {
                self.cancel();
            }
        }
    }
}

/// With what a rule unwinds that is stopped. It is no fault, and nobody is told of it as of one.
#[derive(Debug)]
pub(crate) struct CancelUnwind;

/// What comes of work that unwinds if it is stopped; nothing then.
pub(crate) fn run_until_cancelled<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<CancelUnwind>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// A stop as tables know it, which holds as long as rules run over them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancelCheck(Option<Arc<CancelState>>);

#[derive(Debug)]
struct CancelState {
    stop: CancelToken,
    is_over: AtomicBool,
}

impl CancelCheck {
    pub(crate) fn new(stop: &CancelToken) -> CancelCheck {
        CancelCheck(Some(Arc::new(CancelState {
            stop: stop.clone(),
            is_over: AtomicBool::new(false),
        })))
    }

    /// Unwinds if the look was stopped.
    #[inline]
    pub(crate) fn unwind_if_cancelled(&self) {
        if let Some(held) = &self.0
            && held.stop.is_cancelled()
        {
            held.unwind_cancelled();
        }
    }

    /// Rules have ended: whoever asks the tables from now on is not stopped any more.
    pub(crate) fn detach_cancel(&self) {
        if let Some(held) = &self.0 {
            held.is_over.store(true, Ordering::Relaxed);
        }
    }
}

impl CancelState {
    #[cold]
    fn unwind_cancelled(&self) {
        if !self.is_over.load(Ordering::Relaxed) {
            // Unlike a panic it says nothing on standard error.
            resume_unwind(Box::new(CancelUnwind));
        }
    }
}

/// Rows between two looks at the flag: some microseconds, and a look costs nothing beside them.
const ROWS_PER_LOOK: u32 = 1_024;

/// The numbers of a table's rows.
#[derive(Clone, Debug)]
pub struct RowNumbers<'a> {
    rows: Range<u32>,
    brake: &'a CancelCheck,
}

impl<'a> RowNumbers<'a> {
    pub(crate) fn new(n: u32, brake: &'a CancelCheck) -> RowNumbers<'a> {
        RowNumbers { rows: 0..n, brake }
    }

    #[inline]
    fn check_row(&self, row: u32) -> u32 {
        if row.is_multiple_of(ROWS_PER_LOOK) {
            self.brake.unwind_if_cancelled();
        }
        row
    }
}

impl Iterator for RowNumbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.rows.next().map(|row| self.check_row(row))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<u32> {
        self.rows.nth(n).map(|row| self.check_row(row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl DoubleEndedIterator for RowNumbers<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<u32> {
        self.rows.next_back().map(|row| self.check_row(row))
    }
}

impl ExactSizeIterator for RowNumbers<'_> {}
impl FusedIterator for RowNumbers<'_> {}

/// A file that is read until the look is stopped.
pub(crate) struct CancellableReader<'a> {
    pub(crate) file: &'a mut dyn Read,
    pub(crate) stop: &'a CancelToken,
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the look was stopped"));
        }
        self.file.read(buffer)
    }
}
