//! Rules about agencies, routes, what the feed says of itself, translations and fares.

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[];
