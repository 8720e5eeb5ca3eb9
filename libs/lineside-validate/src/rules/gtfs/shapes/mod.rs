//! Rules about the lines on the map, and how fast vehicles would have to be.

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[];
