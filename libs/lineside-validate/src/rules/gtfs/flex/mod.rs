//! Rules about services on demand: zones, windows and booking.

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[];
