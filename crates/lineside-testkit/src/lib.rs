//! Helpers that the tests of several crates share. No program contains this crate.

mod schedule;

pub use schedule::load_test_timetable;
