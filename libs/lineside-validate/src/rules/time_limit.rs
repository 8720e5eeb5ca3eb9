//! A time limit for checks: they end when a callback says that the time is up.

use std::{cell::Cell, panic::resume_unwind};

use crate::cancel::CancelUnwind;

/// Records between two calls of the callback.
const RECORDS_PER_LOOK: u32 = 64;

/// The time limit of a run.
pub(super) struct TimeLimit<'a> {
    goes_on: &'a dyn Fn() -> bool,
    seen: Cell<u32>,
    is_over: Cell<bool>,
}

impl<'a> TimeLimit<'a> {
    pub(super) fn new(goes_on: &'a dyn Fn() -> bool) -> TimeLimit<'a> {
        TimeLimit { goes_on, seen: Cell::new(0), is_over: Cell::new(false) }
    }

    /// Returns true if the time ran out, so that something was left out.
    pub(super) fn was_exceeded(&self) -> bool {
        self.is_over.get()
    }

    /// Returns true if there is time for one more record.
    pub(super) fn has_time_left(&self) -> bool {
        let seen = self.seen.get();
        self.seen.set(seen.wrapping_add(1));
        if seen.is_multiple_of(RECORDS_PER_LOOK) && !(self.goes_on)() {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }

    /// Unwinds silently if there is no time for one more record.
    pub(super) fn unwind_if_over(&self) {
        if !self.has_time_left() {
            resume_unwind(Box::new(CancelUnwind));
        }
    }
}
