//! A time limit for checks: they end when a callback says that the time is up.

use std::{cell::Cell, panic::resume_unwind};

use crate::cancel::CancelPanicPayload;

/// Records between two calls of the callback.
const RECORDS_PER_CHECK: u32 = 64;

/// The time limit of a run.
pub(super) struct CallbackTimeLimit<'a> {
    should_continue: &'a dyn Fn() -> bool,
    seen: Cell<u32>,
    is_reached: Cell<bool>,
}

impl<'a> CallbackTimeLimit<'a> {
    pub(super) fn new(should_continue: &'a dyn Fn() -> bool) -> CallbackTimeLimit<'a> {
        CallbackTimeLimit { should_continue, seen: Cell::new(0), is_reached: Cell::new(false) }
    }

    /// Returns true if the time ran out, so that something was left out.
    pub(super) fn was_time_limit_reached(&self) -> bool {
        self.is_reached.get()
    }

    /// Returns true if there is time for one more record.
    pub(super) fn has_time_for_record(&self) -> bool {
        let seen = self.seen.get();
        self.seen.set(seen.wrapping_add(1));
        if seen.is_multiple_of(RECORDS_PER_CHECK) && !(self.should_continue)() {
            self.is_reached.set(true);
        }
        !self.is_reached.get()
    }

    /// Unwinds silently if there is no time for one more record.
    pub(super) fn unwind_if_time_is_up(&self) {
        if !self.has_time_for_record() {
            resume_unwind(Box::new(CancelPanicPayload));
        }
    }
}
