//! What the feeds of a network say beside each other.

mod pairs;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&pairs::RULE];
