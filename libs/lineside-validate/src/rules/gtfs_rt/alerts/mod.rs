//! Rules about alerts.

mod selectors;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&selectors::RULE];
