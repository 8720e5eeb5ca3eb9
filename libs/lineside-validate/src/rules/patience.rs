//! Looks that end when their time has run out: whoever waits is asked whether they go on.

use std::{cell::Cell, panic::resume_unwind};

use crate::stop::Stopped;

/// Records between two looks at the clock.
const RECORDS_PER_LOOK: u32 = 64;

/// How long something is looked at.
pub(super) struct Patience<'a> {
    goes_on: &'a dyn Fn() -> bool,
    seen: Cell<u32>,
    is_over: Cell<bool>,
}

impl<'a> Patience<'a> {
    pub(super) fn new(goes_on: &'a dyn Fn() -> bool) -> Patience<'a> {
        Patience { goes_on, seen: Cell::new(0), is_over: Cell::new(false) }
    }

    /// Whether something was left out.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Whether there is time for one more record.
    pub(super) fn lasts(&self) -> bool {
        let seen = self.seen.get();
        self.seen.set(seen.wrapping_add(1));
        if seen.is_multiple_of(RECORDS_PER_LOOK) && !(self.goes_on)() {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }

    /// Unwinds if there is no time for one more record, without a word.
    pub(super) fn ask(&self) {
        if !self.lasts() {
            resume_unwind(Box::new(Stopped));
        }
    }
}
