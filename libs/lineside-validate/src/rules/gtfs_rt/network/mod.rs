//! Rules that compare the feeds of a network.

mod pairs;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&pairs::RULE];
