//! Rules about calendars, trips, stop times, blocks and frequencies.

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[];
