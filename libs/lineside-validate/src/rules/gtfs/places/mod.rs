//! Rules about stops, stations, ways within them, and transfers.

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[];
